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

// parentAnswerTimeout is how long a pool's parent process may take to answer a request before
// it is killed.
const parentAnswerTimeout = 5 * time.Second

// poolParent is a pool's parent process, which forks the pool's kernels. It runs the Python
// package assay.pool.
type poolParent struct {
	proc      *subprocess.Process
	startedAt time.Time

	requestMu sync.Mutex // held from a request to its answer
}

// poolParentReadyMessage is the ready message of a pool's parent process. Its two maps have
// module names as keys and the reason as value.
type poolParentReadyMessage struct {
	Failed  map[string]string `json:"failed"`  // it cannot be imported
	Refused map[string]string `json:"refused"` // it must not be preloaded
}

// launchParentOnce starts one parent process and waits until it has imported all preloadable
// modules. It returns the parent and its ready message, which lists the modules that failed.
// If the process exits or is not ready within ReadyTimeout, it is stopped and an error
// returned.
func (p *Pool) launchParentOnce(ctx context.Context) (*poolParent, poolParentReadyMessage, error) {
	var ready poolParentReadyMessage
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

// stop ends the parent process as [subprocess.Process.Stop] does.
func (p *poolParent) stop(ctx context.Context) error { return p.proc.Stop(ctx) }

// poolParentAnswer is the answer of a pool's parent process to a fork or reap request.
type poolParentAnswer struct {
	Type   string             `json:"type"`
	PID    int                `json:"pid"`
	First  int                `json:"first"`  // the first process of the kernel's PID namespace; 0: it has none
	Status syscall.WaitStatus `json:"status"` // as waitpid returns it
	Error  string             `json:"error"`
}

// request sends a request and open files to the parent process and returns its answer. It
// fails if the answer's type is not wantType or the process exits. A parent that has not
// answered within parentAnswerTimeout is killed: if only its socket were closed, it would kill
// its kernels.
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

// poolForker is the [subprocess.Forker] that starts one kernel by asking a pool's parent process
// to fork.
type poolForker struct {
	parent       *poolParent
	workdir      string
	environ      []string
	poolFolder   string        // a sandboxed kernel must be able to read it: imports may have left files there
	sandbox      *sandbox.Plan // nil: the kernel is not confined
	releasePlace func()        // frees the kernel's place in the pool; only the first call has an effect
}

// Spawn makes the parent process fork a kernel with the given socket, stdout and stderr, and
// returns the kernel's process id and, if control is not nil, that of the first process of its PID
// namespace. It fails if the parent has died or refuses.
func (f *poolForker) Spawn(socket, stdout, stderr, control *os.File) (pid, first int, err error) {
	environ := map[string]string{}
	for _, entry := range f.environ {
		name, value, _ := strings.Cut(entry, "=")
		environ[name] = value
	}
	request := map[string]any{"type": "fork", "folder": f.workdir, "environ": environ, "fence": f.sandbox}
	files := []*os.File{socket, stdout, stderr}
	if control != nil {
		files = append(files, control)
	}
	answer, err := f.parent.request("forked", request, files...)
	return answer.PID, answer.First, err
}

// Reap makes the parent process wait for the kernel with this process id, which has ended, and
// returns its wait status. It frees the kernel's place in the pool, also on an error.
func (f *poolForker) Reap(pid int) (syscall.WaitStatus, error) {
	defer f.releasePlace()
	answer, err := f.parent.request("reaped", map[string]any{"type": "reap", "pid": pid})
	return answer.Status, err
}

// checkForkIsClean returns an error if the ready message of a forked kernel lists variables,
// threads, child processes or environment variables inherited from its parent, which a kernel
// started cold would not have. A nil origin is an error too.
func checkForkIsClean(origin *protocol.PoolOrigin) error {
	switch {
	case origin == nil:
		return errors.New("the forked kernel does not report what it inherited")
	case len(origin.Globals) > 0, origin.Threads != 1, origin.Children > 0, len(origin.Environ) > 0:
		return fmt.Errorf("the forked kernel inherited too much: %+v", *origin)
	}
	return nil
}
