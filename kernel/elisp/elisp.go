// Package elisp holds the Emacs Lisp kernel: Lisp files for Emacs 28 and up that
// run cells for whoever is at the other end of a socket. It is embedded here and
// unpacked to run; assay-kernel.el says where its reader begins.
package elisp

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

//go:embed *.el
var program embed.FS

// Unpack writes the kernel into dir, which it makes where it is missing, and
// returns the paths of its files: [KernelArgs] start it, and a byte compiler may leave
// what it makes of them beside them. Many kernels may run from one dir. A kernel
// in dir already is an error, [io/fs.ErrExist]. The caller removes dir.
func Unpack(dir string) (files []string, err error) {
	if err := os.CopyFS(dir, program); err != nil {
		return nil, fmt.Errorf("unpack the elisp kernel: %w", err)
	}
	files, err = filepath.Glob(filepath.Join(dir, "*.el"))
	return files, err
}

// KernelArgs returns the arguments with which Emacs runs the kernel in dir; the path
// of a Unix socket that somebody listens at is the last and is to be appended.
func KernelArgs(dir string) []string {
	return append(BatchArgs(dir), "--load", "assay-kernel", "--funcall", "assay-kernel-serve")
}

// BatchArgs returns the first arguments of an Emacs that finds the kernel in dir,
// has nothing of the user's, and runs what the arguments behind them say.
func BatchArgs(dir string) []string {
	return slices.Clone([]string{"--quick", "--batch", "--directory", dir})
}
