package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"assay/kernel"
)

// poolFlags are the flags of the pool of warm kernels.
type poolFlags struct {
	maxKernels     int // 0 starts no pool
	preloadModules []string
}

func (f *poolFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.maxKernels, "pool", 0, "maximum `number` of Python kernels at a time that are forked from a warm process; 0 starts every kernel cold")
	flags.StringSliceVar(&f.preloadModules, "preload", nil, "with --pool: `modules` that the warm process imports, such as numpy,pandas")
}

// check rejects flags that are invalid with that value of --kernel.
func (f *poolFlags) check(kernelName string) error {
	switch {
	case f.maxKernels < 0:
		return fmt.Errorf("--pool %d: want a number of kernels; 0 is no pool", f.maxKernels)
	case f.maxKernels == 0 && len(f.preloadModules) > 0:
		return errors.New("--preload names modules for the pool to import: give --pool too")
	case f.maxKernels > 0 && kernelName != kernelPython:
		return fmt.Errorf("--pool is for Python kernels, not for --kernel %s", kernelName)
	}
	return nil
}

// startPool starts the pool if the flags ask for one.
func (h *kernelAndAgentHost) startPool(ctx context.Context) (err error) {
	if f := h.flags.pool; f.maxKernels > 0 {
		h.pool, err = kernel.NewPool(ctx, h.supervisor, kernel.PoolConfig{
			Python: h.kernel.python, MaxKernels: f.maxKernels, PreloadModules: f.preloadModules, Environ: h.p.environ, Log: h.p.newLogger(), ReadyTimeout: h.flags.readyTimeout,
		})
	}
	return err
}

// closePool stops the pool if there is one.
func (h *kernelAndAgentHost) closePool() error {
	if h.pool == nil {
		return nil
	}
	return h.pool.Close(context.Background())
}
