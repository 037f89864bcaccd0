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
var kernelSources embed.FS

// UnpackSources writes the files of the Emacs Lisp kernel into dir, which it makes if it is missing,
// and returns their paths. A byte compiler may write its output beside them, and many kernels
// may run from one dir. If a file already exists in dir, the error is [io/fs.ErrExist]. The
// caller removes dir.
func UnpackSources(dir string) (files []string, err error) {
	if err := os.CopyFS(dir, kernelSources); err != nil {
		return nil, fmt.Errorf("unpack the Emacs Lisp kernel: %w", err)
	}
	files, err = filepath.Glob(filepath.Join(dir, "*.el"))
	return files, err
}

// KernelCommand returns the command line that runs the Emacs Lisp kernel in dir with the Emacs at
// this path. The caller appends the path of a Unix socket on which the server listens. The
// command starts Emacs through a shell that ignores SIGPIPE, because Emacs in batch mode
// otherwise dies when it writes to a program that has ended.
func KernelCommand(emacs, dir string) []string {
	return append([]string{"/bin/sh", "-c", `trap "" PIPE; exec "$@"`, "sh", emacs}, KernelArgs(dir)...)
}

// KernelArgs returns the arguments for Emacs that run the Emacs Lisp kernel in dir. The caller
// appends the path of a Unix socket on which the server listens.
func KernelArgs(dir string) []string {
	return append(BatchArgs(dir), "--load", "assay-kernel", "--funcall", "assay-kernel-serve")
}

// BatchArgs returns the first arguments for an Emacs in batch mode that loads Lisp files from
// dir and ignores the user's configuration. The caller appends arguments that say what Emacs
// does; it exits after them.
func BatchArgs(dir string) []string {
	return []string{"--quick", "--batch", "--directory", dir}
}
