// Package python contains the Python kernel: a program for Python 3.9 and newer that
// runs cells for the server at the other end of its socket. It uses only the standard
// library. It is embedded and unpacked to run. Start reading in assay/__init__.py.
package python

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed assay/*.py assay/*/*.py
var kernelSources embed.FS

// UnpackSources writes the files of the Python kernel into dir, which it makes if it is missing, and
// returns the path of the kernel's start file. The kernel runs as <python> -u <start file>
// <fd>, where fd is the descriptor of an inherited socket. Many kernels may run from one dir.
// The first one writes compiled modules beside the sources, if it can, which halves the start
// time of later ones. If a file already exists in dir, the error is [io/fs.ErrExist]. The
// caller removes dir.
func UnpackSources(dir string) (start string, err error) {
	if err := os.CopyFS(dir, kernelSources); err != nil {
		return "", fmt.Errorf("unpack the python kernel: %w", err)
	}
	return filepath.Join(dir, "assay", "__main__.py"), nil
}

// PoolParentStartFile returns the path of the file that starts the parent process of a kernel pool. dir
// must have been filled by Unpack. The parent runs as <python> -u <file> <module to
// preload>... <fd>.
func PoolParentStartFile(dir string) string {
	return filepath.Join(dir, "assay", "pool", "__main__.py")
}
