package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"assay/kernel"
)

// poolFlags are those of the pool of warm kernels.
type poolFlags struct {
	size    int
	preload []string
}

func (f *poolFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.size, "pool", 0, "maximum `number` of Python kernels at a time that are forked from a warm process; 0 starts every kernel cold")
	flags.StringSliceVar(&f.preload, "preload", nil, "with --pool: `modules` that the warm process imports, such as numpy,pandas")
}

func (f *poolFlags) check(language string) error {
	switch {
	case f.size < 0:
		return fmt.Errorf("--pool %d: want a number of kernels; 0 is no pool", f.size)
	case f.size == 0 && len(f.preload) > 0:
		return errors.New("--preload says what the pool imports: give --pool too")
	case f.size > 0 && language != kernelPython:
		return fmt.Errorf("--pool is for Python kernels, not for --kernel %s", language)
	}
	return nil
}

// fill starts the pool, if one is wanted.
func (h *host) fill(ctx context.Context) (err error) {
	if f := h.flags.pool; f.size > 0 {
		h.pool, err = kernel.NewPool(ctx, h.supervisor, kernel.PoolConfig{
			Python: h.kernels.python, MaxKernels: f.size, PreloadModules: f.preload, Environ: h.p.environ, Log: h.p.log(), ReadyTimeout: h.flags.ready,
		})
	}
	return err
}

// drain ends the pool.
func (h *host) drain() error {
	if h.pool == nil {
		return nil
	}
	return h.pool.Close(context.Background())
}
