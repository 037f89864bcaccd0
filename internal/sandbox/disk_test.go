package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// measureDiskUsage returns the disk usage of root in bytes.
func measureDiskUsage(t *testing.T, root string) int64 {
	t.Helper()
	total, err := sandbox.DiskUsage(t.Context(), root)
	require.NoError(t, err)
	return total
}

// measureDiskUsageGrowth returns by how many bytes the disk usage of root grows while do runs.
func measureDiskUsageGrowth(t *testing.T, root string, do func()) int64 {
	t.Helper()
	before := measureDiskUsage(t, root)
	do()
	return measureDiskUsage(t, root) - before
}

func TestDiskUsage(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, "a", "b", "file")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.Positive(t, measureDiskUsage(t, root))

	require.InDelta(t, 1<<20, measureDiskUsageGrowth(t, root, func() { require.NoError(t, os.WriteFile(file, make([]byte, 1<<20), 0o600)) }), 1<<14)
	require.Zero(t, measureDiskUsageGrowth(t, root, func() { require.NoError(t, os.Link(file, filepath.Join(root, "a", "another"))) }))
	require.InDelta(t, 0, measureDiskUsageGrowth(t, root, func() { require.NoError(t, os.Symlink("/usr", filepath.Join(root, "link"))) }), 1<<12)
	require.InDelta(t, 0, measureDiskUsageGrowth(t, root, func() { // a hole
		sparse, err := os.Create(filepath.Join(root, "sparse"))
		require.NoError(t, err)
		require.NoError(t, sparse.Truncate(1<<40))
		require.NoError(t, sparse.Close())
	}), 1<<12)
	require.InDelta(t, -1<<20, measureDiskUsageGrowth(t, root, func() {
		require.NoError(t, os.Remove(file))
		require.NoError(t, os.Remove(filepath.Join(root, "a", "another")))
	}), 1<<14)

	_, err := sandbox.DiskUsage(t.Context(), filepath.Join(root, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Folders whose path is longer than the system's longest path are counted too.
func TestDiskUsageOfDeepTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	name := strings.Repeat("d", 200)
	const depth = 1000
	at, err := unix.Open(root, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	for range depth {
		require.NoError(t, unix.Mkdirat(at, name, 0o755))
		below, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(at))
		at = below
	}
	fd, err := unix.Openat(at, "file", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), "file")
	_, err = file.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, errors.Join(file.Close(), unix.Close(at)))
	require.Greater(t, measureDiskUsage(t, root), int64(1<<20))
}

func TestDiskUsageOfWideFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 3000 {
		require.NoError(t, os.WriteFile(filepath.Join(root, fmt.Sprint(i)), []byte("x"), 0o600))
	}
	require.GreaterOrEqual(t, measureDiskUsage(t, root), int64(3000*4096))
}

func TestDiskUsageEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("measured for too long")
	cancel(late)
	_, err := sandbox.DiskUsage(ctx, t.TempDir())
	require.ErrorIs(t, err, late)
}

// Changes to the tree during the count are no error.
func TestDiskUsageOfChangingTree(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 100 {
			dir := filepath.Join(root, fmt.Sprint(i%7), "x", "y")
			_ = os.MkdirAll(dir, 0o755)
			_ = os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600)
			_ = os.RemoveAll(filepath.Join(root, fmt.Sprint((i+3)%7)))
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		measureDiskUsage(t, root)
	}
}

// A folder that cannot be read is an error, and all other folders are counted.
func TestDiskUsageOfUnreadableFolder(t *testing.T) {
	t.Parallel()
	mode := launchMode{uid: os.Getuid()}
	if mode.uid == 0 {
		mode.uid = nobodyUID // root reads every folder
	}
	hidden := filepath.Join(mode.makeUserFolder(t), "hidden")
	require.NoError(t, os.Mkdir(hidden, 0))
	cmd := exec.CommandContext(t.Context(), installedFilePath("sandbox.test"), "usage", filepath.Dir(hidden))
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0"}
	if mode.uid != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(mode.uid), Gid: uint32(mode.uid)}}
	}
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "true true\n", string(out), "the rest is counted, and there is an error")
	require.NoError(t, os.Chmod(hidden, 0o700))
}
