//go:build bench

package bench_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
	"assay/kernel"
	"assay/kernel/elisp"
)

// measureElispKernel compares the Emacs Lisp kernel with Emacs alone. It returns no
// rows for the table of comparisons.
func (k *kernelHarness) measureElispKernel(t *testing.T) (comparisons, floors [][]string) {
	t.Helper()
	dir := t.TempDir()
	emacs, err := kernel.ResolveEmacs(t.Context(), "", dir)
	if err != nil {
		t.Logf("the Emacs Lisp kernel is not measured: %v", err)
		return nil, [][]string{{"Emacs Lisp kernel", "not measured", "", "", "", ""}}
	}
	command := append([]string{emacs.Executable}, elisp.KernelArgs(filepath.Join(dir, "elisp"))...)
	lasting, _ := k.startElispKernel(t, command)
	defer stopElispKernel(t, lasting)
	cells := newKernelConn(t, lasting)
	all := measureInTurns(10,
		measuredSystem{runRound: func() []time.Duration {
			return []time.Duration{timeCommand(t, emacs.Executable, "--quick", "--batch", "--eval", "nil")}
		}},
		measuredSystem{runRound: func() []time.Duration {
			one, took := k.startElispKernel(t, command)
			stopElispKernel(t, one)
			return []time.Duration{took}
		}},
		measuredSystem{runRound: repeatedCellRound(100, cells.timeToResult, "(+ 1 1)")},
	)
	return nil, [][]string{
		ratioRowWithAim("`emacs --quick --batch --eval nil`", "", all[0], all[0]),
		ratioRowWithAim("Emacs Lisp kernel, start to ready", "38 ms", all[1], all[0]),
		ratioRowWithAim("`(+ 1 1)` and back", "0.3 ms", all[2], all[2]),
	}
}

// startElispKernel starts an Emacs Lisp kernel and returns it with the time until it was
// ready.
func (k *kernelHarness) startElispKernel(t *testing.T, command []string) (*subprocess.Process, time.Duration) {
	t.Helper()
	workdir := t.TempDir()
	began := time.Now()
	one, err := k.supervisor.Start(subprocess.Spec{
		Name: "kernel", Argv: command, ConnectsBack: true, Dir: workdir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + workdir},
	})
	require.NoError(t, err)
	_, err = one.AwaitReady(t.Context(), kernel.DefaultReadyTimeout)
	require.NoError(t, err)
	return one, time.Since(began)
}

// stopElispKernel stops an Emacs Lisp kernel.
func stopElispKernel(t *testing.T, one *subprocess.Process) {
	t.Helper()
	require.NoError(t, one.Stop(context.Background()))
}
