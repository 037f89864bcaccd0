package kernel_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/kernel"
)

// resolveEmacs returns the Emacs on PATH, with the kernel unpacked and compiled. If Emacs is
// not installed, the test is skipped; in CI it fails.
func resolveEmacs(t *testing.T) *kernel.Emacs {
	t.Helper()
	if _, err := exec.LookPath("emacs"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("emacs is not installed: the Emacs Lisp kernel is not tested here (package emacs-nox)")
	}
	e, err := kernel.ResolveEmacs(t.Context(), "", t.TempDir())
	require.NoError(t, err)
	return e
}

func TestResolveEmacs(t *testing.T) {
	t.Parallel()
	e := resolveEmacs(t)
	require.Regexp(t, `^\d+\.\d+`, e.Version)
	require.True(t, filepath.IsAbs(e.Executable))
	folder := e.KernelCommand()[slices.Index(e.KernelCommand(), "--directory")+1]
	sources, err := filepath.Glob(filepath.Join(folder, "*.el"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		require.FileExists(t, source+"c", "it is compiled")
	}
	require.Contains(t, e.ReadPaths(), folder)
	for _, path := range e.ReadPaths() {
		require.True(t, filepath.IsAbs(path), path)
	}
}

func TestResolveEmacsErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"missing":        {"", "the Emacs Lisp kernel needs Emacs 28 or newer (package emacs-nox): "},
		"old":            {"echo emacs 27.2 json", "is Emacs 27.2: the Emacs Lisp kernel needs 28 or newer with native JSON (package emacs-nox)"},
		"without JSON":   {"echo emacs 29.1 bare", "is Emacs 29.1: the Emacs Lisp kernel needs 28 or newer with native JSON (package emacs-nox)"},
		"no Emacs":       {"echo hello; echo trouble >&2; exit 3", "is no working Emacs: it printed \"hello\\n\" \"trouble\\n\"\nexit status 3"},
		"cannot compile": {"echo emacs 30.1 json; echo disk full >&2; exit 1", "compile the Emacs Lisp kernel with "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			emacs := filepath.Join(dir, "emacs")
			if c.script != "" {
				require.NoError(t, os.WriteFile(emacs, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700))
			}
			_, err := kernel.ResolveEmacs(t.Context(), emacs, dir)
			require.ErrorContains(t, err, c.want)
		})
	}
}
