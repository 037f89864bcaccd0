package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/internal/subprocess"
)

// NewWorkdir makes a new folder below root in which a kernel can work, and returns its path.
// The folder has .assay/home, .assay/tmp and .assay/mpl for files that the kernel's libraries
// write; prepare, which may be nil, adds more. If anything fails the folder is removed again.
// The caller removes it with [RemoveWorkdir].
func NewWorkdir(sup *subprocess.Supervisor, root string, prepare func(workdir string) error) (string, error) {
	dir, err := sup.MkdirTemp(root, "sandbox-")
	if err != nil {
		return "", fmt.Errorf("make the working folder: %w", err)
	}
	for _, name := range []string{"home", "tmp", "mpl"} {
		if err := os.MkdirAll(filepath.Join(dir, ".assay", name), 0o700); err != nil {
			return "", errors.Join(fmt.Errorf("make the working folder: %w", err), RemoveWorkdir(sup, dir))
		}
	}
	if prepare != nil {
		if err := prepare(dir); err != nil {
			return "", errors.Join(err, RemoveWorkdir(sup, dir))
		}
	}
	return dir, nil
}

// RemoveWorkdir removes a working folder that [NewWorkdir] made, with everything in it. It fails if
// something cannot be removed.
func RemoveWorkdir(sup *subprocess.Supervisor, dir string) error {
	if err := sup.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the working folder: %w", err)
	}
	return nil
}

// Workdir returns the path of the working folder of kernel and agent. End removes it.
func (s *Session) Workdir() string { return s.workdir }

// removeWorkdir removes the session's working folder, if it was made. It fails if something in
// it cannot be removed.
func (s *Session) removeWorkdir() error {
	if s.workdir == "" {
		return nil
	}
	return RemoveWorkdir(s.supervisor, s.workdir)
}
