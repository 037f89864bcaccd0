// Package elisp contains the Emacs Lisp kernel: Lisp files for Emacs 28 and newer that run
// cells for the server at the other end of a Unix socket. They are embedded and unpacked
// to run. Start reading in assay-kernel.el.
package elisp

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed *.el
var program embed.FS

// Unpack writes the kernel into dir, which it makes if it is missing, and returns the
// paths of its files. A byte compiler may write its output beside them, and many kernels
// may run from one dir. If dir already contains a kernel, the error is [io/fs.ErrExist].
// The caller removes dir.
func Unpack(dir string) (files []string, err error) {
	if err := os.CopyFS(dir, program); err != nil {
		return nil, fmt.Errorf("unpack the Emacs Lisp kernel: %w", err)
	}
	files, err = filepath.Glob(filepath.Join(dir, "*.el"))
	return files, err
}

// Command returns the command that runs the kernel in dir with the given Emacs. Append the
// path of a Unix socket on which the server listens. The command starts Emacs through a
// shell that ignores SIGPIPE, because otherwise Emacs in batch mode dies when it writes
// to a program that has ended.
func Command(emacs, dir string) []string {
	return append([]string{"/bin/sh", "-c", `trap "" PIPE; exec "$@"`, "sh", emacs}, KernelArgs(dir)...)
}

// KernelArgs returns the arguments with which Emacs runs the kernel in dir. Append the path
// of a Unix socket on which the server listens.
func KernelArgs(dir string) []string {
	return append(BatchArgs(dir), "--load", "assay-kernel", "--funcall", "assay-kernel-serve")
}

// BatchArgs returns the first arguments of an Emacs that finds the kernel in dir, ignores
// the user's configuration, does what the following arguments say, and exits.
func BatchArgs(dir string) []string {
	return []string{"--quick", "--batch", "--directory", dir}
}
