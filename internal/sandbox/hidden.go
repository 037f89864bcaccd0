package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// allowReading adds rules by which a path can be read, except for hidden paths strictly below it:
// a folder that contains one can be listed, and each other thing in it can be read. Paths that do
// not exist, or that the user cannot look into, are skipped.
func (l *LandlockRules) allowReading(path string, hidden []string) error {
	if len(hidden) == 0 {
		return ignoreUnusable(l.allowPath(readAccess, path))
	}
	folder := ResolvePath(path)
	prefix := strings.TrimSuffix(folder, "/") + "/"
	var below []string // of thousands, mostly none
	for _, h := range hidden {
		if strings.HasPrefix(h, prefix) {
			below = append(below, h)
		}
	}
	if len(below) == 0 {
		return ignoreUnusable(l.allowPath(readAccess, path))
	}
	if err := ignoreUnusable(l.allowPath(ll.AccessFSReadDir, folder)); err != nil {
		return err
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ignoreUnusable(err)
	}
	for _, entry := range entries {
		child := filepath.Join(folder, entry.Name())
		if entry.Type()&fs.ModeSymlink != 0 || slices.Contains(below, child) {
			continue // a rule for a link would be one for what it points to
		}
		if err := l.allowReading(child, below); err != nil {
			return err
		}
	}
	return nil
}

// ignoreUnusable returns err, or nil if err says that a path does not exist or may not be looked at.
func ignoreUnusable(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// ResolvePath returns a path without symbolic links. Of a path that does not exist, it resolves the
// part that does.
func ResolvePath(path string) string {
	path = filepath.Clean(path)
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(ResolvePath(parent), filepath.Base(path))
}

// IsWithin reports whether a path is a folder or below it. Both must be as from [ResolvePath].
func IsWithin(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}
