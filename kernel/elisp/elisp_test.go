package elisp_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess/subprocesstest"
	"assay/kernel/elisp"
)

func TestMain(m *testing.M) { subprocesstest.RunTestsOrRole(m, nil) }

func TestUnpackSources(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "kernel")
	files, err := elisp.UnpackSources(dir)
	require.NoError(t, err)
	require.Contains(t, files, filepath.Join(dir, "assay-kernel.el"))
	for _, file := range files {
		require.FileExists(t, file)
	}
	_, err = elisp.UnpackSources(dir)
	require.ErrorIs(t, err, fs.ErrExist)
}

func TestKernelArgs(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"--quick", "--batch", "--directory", "/dir", "--load", "assay-kernel", "--funcall", "assay-kernel-serve",
	}, elisp.KernelArgs("/dir"))
}

// The kernel's Lisp files compile without warnings, and checkdoc finds no fault in their
// documentation.
func TestKernelCompilesWithoutWarnings(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("emacs"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("emacs is not installed: the Emacs Lisp kernel is not compiled here (package emacs-nox)")
	}
	dir := t.TempDir()
	files, err := elisp.UnpackSources(dir)
	require.NoError(t, err)
	for name, args := range map[string][]string{
		"compiler": {"--eval", "(setq byte-compile-error-on-warn t)", "--funcall", "batch-byte-compile"},
		"checkdoc": {"--eval", `(progn
			(require 'checkdoc)
			(setq checkdoc-verb-check-experimental-flag nil) ; "runs" is not always a fault
			(setq checkdoc-create-error-function
			      (lambda (text &rest _) (message "%s: %s" (buffer-name) text) (setq assay-faults t) nil))
			(defvar assay-faults nil)
			(dolist (file command-line-args-left) (checkdoc-file file))
			(kill-emacs (if assay-faults 1 0)))`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "emacs", append(append(elisp.BatchArgs(dir), args...), files...)...)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
