package subprocess_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/subprocess"
)

// Folders nested far deeper than a path can be long, folders without any permission, links, pipes and many
// files are removed; what links lead to is not.
func TestRemoveTree(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Mkdir(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600))
	dir := filepath.Join(t.TempDir(), "tree")
	for _, remove := range []func(string) error{subprocess.RemoveTree, subprocess.RemoveStubbornFolder} {
		makeStubbornFolder(t, dir, outside)
		require.NoError(t, remove(dir))
		require.NoDirExists(t, dir)
		require.FileExists(t, filepath.Join(outside, "kept"))
	}
	require.NoError(t, subprocess.RemoveTree(dir), "it does not exist")
	file := filepath.Join(outside, "kept")
	require.NoError(t, subprocess.RemoveTree(file))
	require.NoFileExists(t, file)
}

// nestFolders makes folders inside each other below dir, with a file in each hundredth.
func nestFolders(t *testing.T, dir string, depth int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	for i := range depth {
		require.NoError(t, unix.Mkdirat(fd, "folder", 0o700))
		next, err := unix.Openat(fd, "folder", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(fd))
		fd = next
		if i%100 == 0 {
			file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
			require.NoError(t, err)
			require.NoError(t, unix.Close(file))
		}
	}
	require.NoError(t, unix.Close(fd))
}

// makeStubbornFolder makes a folder that is hard to remove, with a link to the folder outside.
func makeStubbornFolder(t *testing.T, dir, outside string) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	nestFolders(t, dir, 3_000)
	for i := range 2500 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "file-"+strings.Repeat("x", i%200)+string(rune('a'+i%26))+strings.Repeat("y", i/200)), nil, 0o400))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "\xff\n"), nil, 0o600))
	closed := filepath.Join(dir, "closed")
	require.NoError(t, os.MkdirAll(filepath.Join(closed, "in", "it"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(closed, "in"), 0))
	require.NoError(t, os.Chmod(closed, 0))
}
