package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// parentAnswerTimeout is how long the pool's parent may take to answer a request.
const parentAnswerTimeout = 5 * time.Second

// poolParent is the process that forks a pool's kernels: the Python package assay.pool.
type poolParent struct {
	proc      *subprocess.Process
	startedAt time.Time

	requestMu sync.Mutex // held from a request to its answer
}

// poolParentReady is the ready message of the parent. Each map has the reason for a module.
type poolParentReady struct {
	Failed  map[string]string `json:"failed"`  // it cannot be imported
	Refused map[string]string `json:"refused"` // it must not be preloaded
}

// launchParent starts one parent process and waits until it has imported all preloadable
// modules.
func (p *Pool) launchParent(ctx context.Context) (*poolParent, poolParentReady, error) {
	var ready poolParentReady
	p.mu.Lock()
	modules := p.preloadable
	p.mu.Unlock()
	argv := append([]string{p.cfg.Python.Executable, "-u", p.cfg.Python.poolProgram}, modules...)
	env := kernelEnvironment(Config{Workdir: p.folder, Session: "pool", Environ: p.cfg.Environ})
	// Threads do not survive a fork. Kernels raise the number of threads of linear algebra
	// themselves.
	for _, name := range []string{"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"} {
		env = append(env, name+"=1")
	}
	proc, err := p.supervisor.Start(subprocess.Spec{Name: "pool", Argv: argv, Env: env, Dir: p.folder})
	if err != nil {
		return nil, ready, err
	}
	frame, err := proc.AwaitReady(ctx, p.cfg.ReadyTimeout)
	if err == nil {
		err = json.Unmarshal(frame, &ready)
	}
	if err != nil {
		return nil, ready, errors.Join(err, proc.Stop(ctx))
	}
	return &poolParent{proc: proc, startedAt: time.Now()}, ready, nil
}

func (p *poolParent) stop(ctx context.Context) error { return p.proc.Stop(ctx) }

// poolParentAnswer is the parent's answer to a request.
type poolParentAnswer struct {
	Type   string             `json:"type"`
	PID    int                `json:"pid"`
	Status syscall.WaitStatus `json:"status"` // as waitpid returns it
	Error  string             `json:"error"`
}

// request sends a request with open files and returns its answer, which must be of type
// wantType. A parent that does not answer in time is killed: if only its socket were
// closed, it would kill its kernels.
func (p *poolParent) request(wantType string, request map[string]any, files ...*os.File) (poolParentAnswer, error) {
	var answer poolParentAnswer
	body, err := protocol.Marshal(request)
	if err != nil {
		return answer, err
	}
	p.requestMu.Lock()
	defer p.requestMu.Unlock()
	timeout := time.AfterFunc(parentAnswerTimeout, p.proc.Kill)
	defer timeout.Stop()
	if err := p.proc.SendFiles(body, files...); err != nil {
		return answer, err
	}
	frame, err := p.proc.Read()
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(frame, &answer); err != nil {
		return answer, fmt.Errorf("decode the pool's answer: %w", err)
	}
	if answer.Type != wantType {
		return answer, fmt.Errorf("the pool answered %v with %q: %s", request["type"], answer.Type, answer.Error)
	}
	return answer, nil
}

// poolFork is the [subprocess.Forker] of one kernel of a pool.
type poolFork struct {
	parent       *poolParent
	workdir      string
	environ      []string
	poolFolder   string        // which the kernel must read: imports may have left files there
	sandbox      *sandbox.Plan // nil: none
	releasePlace func()        // frees its place in the pool; may be called again
}

// Spawn makes the parent fork a kernel with these files.
func (f *poolFork) Spawn(socket, stdout, stderr *os.File) (int, error) {
	environ := map[string]string{}
	for _, entry := range f.environ {
		name, value, _ := strings.Cut(entry, "=")
		environ[name] = value
	}
	request := map[string]any{"type": "fork", "folder": f.workdir, "environ": environ, "fence": f.sandbox}
	answer, err := f.parent.request("forked", request, socket, stdout, stderr)
	return answer.PID, err
}

// Reap makes the parent wait for the kernel, which has ended, and frees its place.
func (f *poolFork) Reap(pid int) (syscall.WaitStatus, error) {
	defer f.releasePlace()
	answer, err := f.parent.request("reaped", map[string]any{"type": "reap", "pid": pid})
	return answer.Status, err
}

// checkForkIsClean returns an error if a forked kernel reports that it shares something with
// its parent that a cold start would not have: variables, threads, children or
// environment.
func checkForkIsClean(origin *protocol.PoolOrigin) error {
	switch {
	case origin == nil:
		return errors.New("the forked kernel does not report what it inherited")
	case len(origin.Globals) > 0, origin.Threads != 1, origin.Children > 0, len(origin.Environ) > 0:
		return fmt.Errorf("the forked kernel inherited too much: %+v", *origin)
	}
	return nil
}
