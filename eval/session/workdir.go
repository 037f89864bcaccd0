package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/subprocess"
)

// NewWorkdir makes a folder below root in which a kernel can work. Beside what
// prepare, if it is not nil, puts there it has .assay, for what the kernel's
// libraries write on their own account. The caller removes it, by
// [RemoveWorkdir]; when making it fails nothing is left.
func NewWorkdir(sup *subprocess.Supervisor, root string, prepare func(sandbox string) error) (string, error) {
	dir, err := sup.MkdirTemp(root, "sandbox-")
	if err != nil {
		return "", fmt.Errorf("make the sandbox: %w", err)
	}
	for _, name := range []string{"home", "tmp", "mpl"} {
		if err := os.MkdirAll(filepath.Join(dir, ".assay", name), 0o700); err != nil {
			return "", errors.Join(fmt.Errorf("make the sandbox: %w", err), RemoveWorkdir(sup, dir))
		}
	}
	if prepare != nil {
		if err := prepare(dir); err != nil {
			return "", errors.Join(err, RemoveWorkdir(sup, dir))
		}
	}
	return dir, nil
}

// RemoveWorkdir removes a folder that [NewWorkdir] made, with all that is in it.
func RemoveWorkdir(sup *subprocess.Supervisor, dir string) error {
	// A cell may have taken the right to write from a folder of its own.
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that is about to go
		}
		return nil
	})
	if err := sup.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the sandbox: %w", err)
	}
	return nil
}

// Workdir is the folder in which kernel and agent work; it goes with the
// session.
func (s *Session) Workdir() string { return s.workdir }

func (s *Session) removeWorkdir() error {
	if s.workdir == "" {
		return nil
	}
	return RemoveWorkdir(s.supervisor, s.workdir)
}
