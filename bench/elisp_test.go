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

// measureElisp measures the Emacs Lisp kernel above Emacs alone.
func (k *kit) measureElisp(t *testing.T) (beside, floors [][]string) {
	t.Helper()
	dir := t.TempDir()
	emacs, err := kernel.ResolveEmacs(t.Context(), "", dir)
	if err != nil {
		t.Logf("the Emacs Lisp kernel is not measured: %v", err)
		return nil, [][]string{{"Emacs Lisp kernel", "not measured", "", "", "", ""}}
	}
	command := append([]string{emacs.Executable}, elisp.KernelArgs(filepath.Join(dir, "elisp"))...)
	lasting, _ := k.startElisp(t, command)
	defer stopElisp(t, lasting)
	cells := newCells(t, lasting)
	all := inTurns(10,
		contestant{turn: func() []time.Duration {
			return []time.Duration{wallOf(t, emacs.Executable, "--quick", "--batch", "--eval", "nil")}
		}},
		contestant{turn: func() []time.Duration {
			one, took := k.startElisp(t, command)
			stopElisp(t, one)
			return []time.Duration{took}
		}},
		contestant{turn: turns(100, cells.run, "(+ 1 1)")},
	)
	return nil, [][]string{
		above("`emacs --quick --batch --eval nil`", "", all[0], all[0]),
		above("Emacs Lisp kernel, start to ready", "38 ms", all[1], all[0]),
		above("`(+ 1 1)` and back", "0.3 ms", all[2], all[2]),
	}
}

// startElisp starts an Emacs Lisp kernel, and takes the time until it is ready.
func (k *kit) startElisp(t *testing.T, command []string) (*subprocess.Process, time.Duration) {
	t.Helper()
	sandbox := t.TempDir()
	began := time.Now()
	one, err := k.supervisor.Start(subprocess.Spec{
		Name: "kernel", Argv: command, ConnectsBack: true, Dir: sandbox, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + sandbox},
	})
	require.NoError(t, err)
	_, err = one.AwaitReady(t.Context(), kernel.DefaultReadyTimeout)
	require.NoError(t, err)
	return one, time.Since(began)
}

func stopElisp(t *testing.T, one *subprocess.Process) {
	t.Helper()
	require.NoError(t, one.Stop(context.Background()))
}
