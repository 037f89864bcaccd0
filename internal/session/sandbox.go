package session

import (
	"fmt"
	"os"
	"path/filepath"
)

// makeSandbox makes the folder in which the session's children work. Beside
// what Prepare puts there it has .assay, for what the kernel's libraries write
// on their own account.
func (s *Session) makeSandbox() error {
	dir, err := s.supervisor.MkdirTemp(s.cfg.SandboxRoot, "sandbox-")
	if err != nil {
		return fmt.Errorf("make the sandbox: %w", err)
	}
	s.sandbox = dir
	for _, name := range []string{"home", "tmp", "mpl"} {
		if err := os.MkdirAll(filepath.Join(dir, ".assay", name), 0o700); err != nil {
			return fmt.Errorf("make the sandbox: %w", err)
		}
	}
	if s.cfg.Prepare == nil {
		return nil
	}
	return s.cfg.Prepare(dir)
}

// Sandbox is the folder in which kernel and agent work; it goes with the
// session.
func (s *Session) Sandbox() string { return s.sandbox }

func (s *Session) removeSandbox() error {
	if s.sandbox == "" {
		return nil
	}
	// A cell may have taken the right to write from a folder of its own.
	_ = filepath.WalkDir(s.sandbox, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that is about to go
		}
		return nil
	})
	if err := s.supervisor.RemoveAll(s.sandbox); err != nil {
		return fmt.Errorf("remove the sandbox: %w", err)
	}
	return nil
}
