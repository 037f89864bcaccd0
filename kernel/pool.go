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

// parentEvery is the time between two starts of a parent: what kills one at once
// must not keep the machine busy.
const parentEvery = time.Second

// PoolConfig says what the kernels of a [Pool] have in common.
type PoolConfig struct {
	Python         *Python  // the interpreter, from [ResolvePython]; required
	MaxKernels     int      // kernels of the pool at a time; required
	PreloadModules []string // modules that are imported once, for all
	Environ        []string // the server's environment, of which they get a little
	Log            *slog.Logger

	// Ready is how long the imports may take; 0 is DefaultReadyTimeout.
	ReadyTimeout time.Duration
}

// Pool forks Python kernels from a process that has made the dear imports. Such
// a kernel is there in milliseconds, and else like any other: a process group,
// cgroup, folder and environment of its own, and never used twice.
//
// When all kernels of the pool are in use, or a fork fails, a kernel starts cold;
// that is counted. When the parent dies its kernels live on, and another parent
// takes its place. A Pool is safe for concurrent use. Whoever made it must Close
// it, after its kernels have been stopped.
type Pool struct {
	cfg    PoolConfig
	sup    *subprocess.Supervisor
	folder string        // the parent's own
	close  func()        // ends run
	ended  chan struct{} // closed when run has ended

	mu      sync.Mutex // guards what follows
	modules []string   // of Preload, those that may be held
	parent  *parent    // nil: there is none, and kernels start cold
	used    int        // of Size
	stats   PoolStats
}

// PoolStats is what a pool has done so far.
type PoolStats struct {
	ForkedKernels  int `json:"forked"`  // kernels that came from the pool
	ColdKernels    int `json:"cold"`    // kernels that did not, because all were in use or a fork failed
	ParentsStarted int `json:"parents"` // processes that were started to fork them; over 1: one has died
}

// NewPool starts the parent and waits for its imports. A module that cannot be
// imported is an error; one that must not be held is warned of and left out.
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
	p := &Pool{cfg: cfg, sup: sup, folder: folder, modules: cfg.PreloadModules, ended: make(chan struct{})}
	if err := p.breed(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	// The pool outlives the start that ctx is for.
	ctx, p.close = context.WithCancel(context.WithoutCancel(ctx))
	go p.run(ctx)
	return p, nil
}

// breed starts a parent of those modules that may be held.
func (p *Pool) breed(ctx context.Context) error {
	for {
		parent, said, err := p.startParent(ctx)
		if err != nil {
			return fmt.Errorf("start the pool: %w", err)
		}
		if len(said.Failed)+len(said.Refused) == 0 {
			p.mu.Lock()
			p.parent = parent
			p.stats.ParentsStarted++
			p.mu.Unlock()
			return nil
		}
		err = parent.stop(ctx)
		for _, module := range slices.Sorted(maps.Keys(said.Failed)) {
			err = errors.Join(err, fmt.Errorf("preload: %s cannot import %s: %s", p.cfg.Python.Executable, module, said.Failed[module]))
		}
		if err != nil {
			return err
		}
		p.leaveOut(said.Refused)
	}
}

func (p *Pool) leaveOut(refused map[string]string) {
	for _, module := range slices.Sorted(maps.Keys(refused)) {
		p.cfg.Log.Warn("a module is not preloaded: every kernel imports it itself", "module", module, "reason", refused[module])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modules = slices.DeleteFunc(slices.Clone(p.modules), func(module string) bool { return refused[module] != "" })
}

// run replaces a parent that has died, until ctx is done.
func (p *Pool) run(ctx context.Context) {
	defer close(p.ended)
	for {
		p.mu.Lock()
		parent := p.parent
		p.mu.Unlock()
		select {
		case <-parent.proc.Exited():
		case <-ctx.Done():
			return
		}
		p.cfg.Log.Warn("the pool's process has ended: another takes its place", "exit", parent.proc.Exit().String())
		p.mu.Lock()
		p.parent = nil
		p.mu.Unlock()
		err := parent.stop(ctx)
		select {
		case <-time.After(time.Until(parent.began.Add(parentEvery))):
		case <-ctx.Done():
			return
		}
		if err == nil {
			err = p.breed(ctx)
		}
		if err != nil {
			if ctx.Err() == nil {
				p.cfg.Log.Error("the pool is out of use: kernels start cold from now on", "error", err)
			}
			return
		}
	}
}

// Close ends the parent. Kernels of the pool that still run are killed.
func (p *Pool) Close(ctx context.Context) error {
	p.close()
	<-p.ended
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

// Stats tells what the pool has done so far.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// take reserves a kernel of the pool; nil: the kernel has to start cold. The
// pool may be nil, which is none.
func (p *Pool) take(cfg Config) *fork {
	if p == nil || cfg.Command != nil || cfg.Emacs != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.parent == nil || p.used >= p.cfg.MaxKernels {
		p.stats.ColdKernels++
		return nil
	}
	p.used++
	p.stats.ForkedKernels++
	f := &fork{parent: p.parent, folder: cfg.Workdir, environ: environment(cfg), read: p.folder}
	f.release = sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used--
	})
	return f
}

// fails notes that what was taken has not become a kernel, nor is to when ctx is
// done.
func (p *Pool) fails(ctx context.Context, f *fork, err error) {
	f.release()
	wanted := ctx.Err() == nil
	if wanted {
		p.cfg.Log.Warn("a fork of the pool failed: the kernel starts cold", "error", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.ForkedKernels--
	if wanted {
		p.stats.ColdKernels++
	}
}
