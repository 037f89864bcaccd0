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

// askDeadline is how long the pool's process may take to answer.
const askDeadline = 5 * time.Second

// parent is the process that forks: kernel/python/assay/pool/parent.py.
type parent struct {
	proc  *subprocess.Process
	began time.Time

	mu sync.Mutex // held from a request to its answer
}

// parentReady is the first thing that it says.
type parentReady struct {
	Failed  map[string]string `json:"failed"`  // module to why it cannot be imported
	Refused map[string]string `json:"refused"` // module to why it must not be held
}

func (p *Pool) startParent(ctx context.Context) (*parent, parentReady, error) {
	var said parentReady
	p.mu.Lock()
	modules := p.modules
	p.mu.Unlock()
	argv := append([]string{p.cfg.Python.Executable, "-u", p.cfg.Python.pool}, modules...)
	env := environment(Config{Workdir: p.folder, Session: "pool", Environ: p.cfg.Environ})
	// A fork has one thread: linear algebra gets its others there.
	for _, name := range []string{"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"} {
		env = append(env, name+"=1")
	}
	proc, err := p.sup.Start(subprocess.Spec{Name: "pool", Argv: argv, Env: env, Dir: p.folder})
	if err != nil {
		return nil, said, err
	}
	frame, err := proc.AwaitReady(ctx, p.cfg.ReadyTimeout)
	if err == nil {
		err = json.Unmarshal(frame, &said)
	}
	if err != nil {
		return nil, said, errors.Join(err, proc.Stop(ctx))
	}
	return &parent{proc: proc, began: time.Now()}, said, nil
}

func (p *parent) stop(ctx context.Context) error { return p.proc.Stop(ctx) }

// parentAnswer is what it says to a request.
type parentAnswer struct {
	Type   string             `json:"type"`
	PID    int                `json:"pid"`
	Status syscall.WaitStatus `json:"status"` // as of waitpid
	Error  string             `json:"error"`
}

// ask sends a request and returns its answer. A parent that does not answer in
// time is killed; if it only saw its socket end, it would kill its kernels.
func (p *parent) ask(want string, request map[string]any, files ...*os.File) (parentAnswer, error) {
	var answer parentAnswer
	body, err := protocol.Marshal(request)
	if err != nil {
		return answer, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	late := time.AfterFunc(askDeadline, p.proc.Kill)
	defer late.Stop()
	if err := p.proc.SendFiles(body, files...); err != nil {
		return answer, err
	}
	frame, err := p.proc.Read()
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(frame, &answer); err != nil {
		return answer, fmt.Errorf("the pool's answer: %w", err)
	}
	if answer.Type != want {
		return answer, fmt.Errorf("the pool's answer to %v: %s %s", request["type"], answer.Type, answer.Error)
	}
	return answer, nil
}

// fork is a kernel of the pool's: the [child.Origin] of its process.
type fork struct {
	parent  *parent
	folder  string
	environ []string
	read    string        // the pool's folder, with what its imports left there
	fence   *sandbox.Plan // nil: none
	release func()        // gives its place in the pool to another; may be called again
}

// Spawn makes the parent fork.
func (f *fork) Spawn(socket, stdout, stderr *os.File) (int, error) {
	environ := map[string]string{}
	for _, entry := range f.environ {
		name, value, _ := strings.Cut(entry, "=")
		environ[name] = value
	}
	request := map[string]any{"type": "fork", "folder": f.folder, "environ": environ, "fence": f.fence}
	answer, err := f.parent.ask("forked", request, socket, stdout, stderr)
	return answer.PID, err
}

// Reap makes the parent wait for the kernel, which has ended.
func (f *fork) Reap(pid int) (syscall.WaitStatus, error) {
	defer f.release()
	answer, err := f.parent.ask("reaped", map[string]any{"type": "reap", "pid": pid})
	return answer.Status, err
}

// clean refuses a fork that has something of its parent's which is another's.
func clean(origin *protocol.PoolOrigin) error {
	switch {
	case origin == nil:
		return errors.New("it does not say what it has of its parent")
	case len(origin.Globals) > 0, origin.Threads != 1, origin.Children > 0, len(origin.Environ) > 0:
		return fmt.Errorf("it is not clean: %+v", *origin)
	}
	return nil
}
