// Package python holds the Python kernel: a program of standard-library modules,
// Python 3.9 and up, that runs cells for whoever is at the other end of its
// socket. It is embedded here and unpacked to run; assay/__init__.py says where
// its reader begins.
package python

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

//go:embed assay/*.py assay/*/*.py
var program embed.FS

// Unpack writes the kernel into dir, which it makes where it is missing, and
// returns the path of the file to run: <python> -u <start> <fd>, with fd the
// number of an inherited socketpair end. Many kernels may run from one dir; the
// first leaves its compiled modules beside the sources, unless it cannot write
// there, and halves the start of the next ones. A kernel in dir already is an
// error, [io/fs.ErrExist]. The caller removes dir.
func Unpack(dir string) (start string, err error) {
	if err := os.CopyFS(dir, program); err != nil {
		return "", fmt.Errorf("unpack the python kernel: %w", err)
	}
	return filepath.Join(dir, "assay", "__main__.py"), nil
}

// PoolStart returns the path of the file that starts the parent of warm kernels,
// in a dir that Unpack has filled: <python> -u <file> <module>... <fd>.
func PoolStart(dir string) string {
	return filepath.Join(dir, "assay", "pool", "__main__.py")
}
