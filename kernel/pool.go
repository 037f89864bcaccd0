package kernel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/internal/subprocess"
)

// parentStartInterval is the shortest time between two starts of a pool's parent process, so
// that a parent that dies at once is not restarted in a busy loop.
const parentStartInterval = time.Second

// PoolConfig configures a [Pool]: the interpreter and environment of its kernels, and how many
// of them may run at a time.
type PoolConfig struct {
	Python         *Python      // the interpreter, from [ResolvePython]; required
	MaxKernels     int          // how many kernels of the pool there may be at a time; required
	PreloadModules []string     // modules that the parent imports once, for all kernels
	Environ        []string     // the server's environment, of which kernels get a few variables
	Log            *slog.Logger // nil discards

	// ReadyTimeout is how long the imports may take. 0: DefaultReadyTimeout.
	ReadyTimeout time.Duration
}

// Pool forks Python kernels from a parent process that has already made slow imports. A forked
// kernel starts in milliseconds. Otherwise it is like any other kernel: it has its own process
// group, cgroup, folder and environment, and is never reused.
//
// If MaxKernels of the pool's kernels run already, or a fork fails, a kernel is started cold,
// as a new process; Stats counts these. If the parent process dies, its kernels go on running
// and another parent is started. A Pool is safe for concurrent use. Call Close after its
// kernels have been stopped. A nil *Pool forks no kernels.
type Pool struct {
	cfg            PoolConfig
	supervisor     *subprocess.Supervisor
	folder         string        // working folder of the parent
	cancelReplacer func()        // ends replaceParents
	replacerEnded  chan struct{} // closed when replaceParents has returned

	mu           sync.Mutex
	preloadable  []string    // those of cfg.PreloadModules that may be preloaded
	parent       *poolParent // nil: kernels start cold
	kernelsInUse int         // how many kernels of the pool run now
	stats        PoolStats
}

// PoolStats counts the kernels and parent processes that a pool has started.
type PoolStats struct {
	ForkedKernels  int `json:"forked"`  // kernels that came from the pool
	ColdKernels    int `json:"cold"`    // kernels that did not: all places were taken or a fork failed
	ParentsStarted int `json:"parents"` // parent processes started; more than 1: one has died
}

// NewPool starts a pool's parent process and waits until it has imported cfg.PreloadModules.
// It fails if a module cannot be imported, or the imports take longer than cfg.ReadyTimeout. A
// module is left out, with a warning in the log, if importing it in advance would make kernels
// share state.
func NewPool(ctx context.Context, sup *subprocess.Supervisor, cfg PoolConfig) (*Pool, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.ReadyTimeout <= 0 {
		cfg.ReadyTimeout = DefaultReadyTimeout
	}
	folder, err := os.MkdirTemp(sup.TempDir(), "pool-")
	if err != nil {
		return nil, fmt.Errorf("make the pool's folder: %w", err)
	}
	for _, name := range []string{"home", "tmp", "mpl"} {
		if err := os.MkdirAll(filepath.Join(folder, ".assay", name), 0o700); err != nil {
			return nil, fmt.Errorf("make the pool's folder: %w", err)
		}
	}
	p := &Pool{cfg: cfg, supervisor: sup, folder: folder, preloadable: cfg.PreloadModules, replacerEnded: make(chan struct{})}
	if err := p.startParent(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	// ctx is for the start only; the pool outlives it.
	ctx, p.cancelReplacer = context.WithCancel(context.WithoutCancel(ctx))
	go p.replaceParents(ctx)
	return p, nil
}

// startParent starts a parent process that has imported all preloadable modules. If the parent
// refuses modules, they are excluded and another parent is started. It fails if a module
// cannot be imported.
func (p *Pool) startParent(ctx context.Context) error {
	for {
		parent, ready, err := p.launchParentOnce(ctx)
		if err != nil {
			return fmt.Errorf("start the pool: %w", err)
		}
		if len(ready.Failed)+len(ready.Refused) == 0 {
			p.mu.Lock()
			p.parent = parent
			p.stats.ParentsStarted++
			p.mu.Unlock()
			return nil
		}
		err = parent.stop(ctx)
		for _, module := range slices.Sorted(maps.Keys(ready.Failed)) {
			err = errors.Join(err, fmt.Errorf("preload: %s cannot import %s: %s", p.cfg.Python.Executable, module, ready.Failed[module]))
		}
		if err != nil {
			return err
		}
		p.excludeModules(ready.Refused)
	}
}

// excludeModules removes modules from preloadable and logs a warning for each, with the reason
// why it was refused. refused has the reasons by module name.
func (p *Pool) excludeModules(refused map[string]string) {
	for _, module := range slices.Sorted(maps.Keys(refused)) {
		p.cfg.Log.Warn("a module is not preloaded: every kernel imports it itself", "module", module, "reason", refused[module])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.preloadable = slices.DeleteFunc(slices.Clone(p.preloadable), func(module string) bool { return refused[module] != "" })
}

// replaceParents starts another parent process whenever one has exited, until ctx ends or a
// start fails.
func (p *Pool) replaceParents(ctx context.Context) {
	defer close(p.replacerEnded)
	for {
		p.mu.Lock()
		parent := p.parent
		p.mu.Unlock()
		select {
		case <-parent.proc.Exited():
		case <-ctx.Done():
			return
		}
		p.cfg.Log.Warn("the pool's parent process has died: another is started", "exit", parent.proc.ExitState().String())
		p.mu.Lock()
		p.parent = nil
		p.mu.Unlock()
		err := parent.stop(ctx)
		select {
		case <-time.After(time.Until(parent.startedAt.Add(parentStartInterval))):
		case <-ctx.Done():
			return
		}
		if err == nil {
			err = p.startParent(ctx)
		}
		if err != nil {
			if ctx.Err() == nil {
				p.cfg.Log.Error("the pool's parent process cannot be started again: kernels start cold from now on", "error", err)
			}
			return
		}
	}
}

// Close stops the pool's parent process, which kills those kernels of the pool that still run,
// and removes the pool's folder.
func (p *Pool) Close(ctx context.Context) error {
	p.cancelReplacer()
	<-p.replacerEnded
	p.mu.Lock()
	parent := p.parent
	p.parent = nil
	p.mu.Unlock()
	var err error
	if parent != nil {
		err = parent.stop(ctx)
	}
	return errors.Join(err, os.RemoveAll(p.folder))
}

// Stats returns how many kernels were forked and started cold, and how many parent processes
// were started.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// reserveFork takes a place in the pool and returns the fork with which to start one kernel.
// It returns nil if the kernel must be started cold: p is nil, cfg is not for a Python kernel,
// MaxKernels kernels run already, or no parent process is ready.
func (p *Pool) reserveFork(cfg Config) *poolForker {
	if p == nil || cfg.Command != nil || cfg.Emacs != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parent == nil || p.kernelsInUse >= p.cfg.MaxKernels {
		p.stats.ColdKernels++
		return nil
	}
	p.kernelsInUse++
	p.stats.ForkedKernels++
	f := &poolForker{parent: p.parent, workdir: cfg.Workdir, environ: kernelEnvironment(cfg), poolFolder: p.folder}
	f.releasePlace = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.kernelsInUse--
	})
	return f
}

// recordForkFailure frees the place of a fork that has not become a kernel. Unless ctx was
// cancelled it logs err and counts the kernel that starts cold instead.
func (p *Pool) recordForkFailure(ctx context.Context, f *poolForker, err error) {
	f.releasePlace()
	isCancelled := ctx.Err() != nil
	if !isCancelled {
		p.cfg.Log.Warn("a fork of the pool failed: the kernel starts cold", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.ForkedKernels--
	if !isCancelled {
		p.stats.ColdKernels++
	}
}
