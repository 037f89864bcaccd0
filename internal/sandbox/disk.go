package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	listed    = 1024 // names of a folder that are read at a time
	component = 16   // folders that are entered with one call: below any limit on a path
	block     = 512  // bytes that st_blocks counts in
)

// DiskUsage returns how many bytes the files and folders below root, and root itself,
// take on the disk. A file of several names counts once; a link is not followed;
// what has no name any more does not count, and what is moved meanwhile may not.
// The tree may be of any depth and size, and be changed: memory follows the number
// of folders not yet seen, and two descriptors at most are open beside root's.
//
// When it is measured in part only, because ctx is done or a folder cannot be
// read, that is an error, and the sum of the rest is returned too.
func DiskUsage(ctx context.Context, root string) (int64, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", root, err)
	}
	defer unix.Close(fd)
	m := measure{root: fd, seen: map[file]bool{}, left: []*folder{{}}}
	if _, err := m.count(fd, ""); err != nil {
		return 0, fmt.Errorf("measure %s: %w", root, err)
	}
	for len(m.left) > 0 {
		if ctx.Err() != nil {
			return m.total, fmt.Errorf("measure %s: %w", root, context.Cause(ctx))
		}
		next := m.left[len(m.left)-1]
		m.left = m.left[:len(m.left)-1]
		if err := m.enter(ctx, next); err != nil && m.problem == nil {
			m.problem = fmt.Errorf("measure %s: %w", root, err)
		}
	}
	return m.total, m.problem
}

// measure is a sum that grows.
type measure struct {
	root    int // descriptor
	total   int64
	seen    map[file]bool // those of several names
	left    []*folder     // to be entered
	problem error         // the first one
}

type file struct{ device, inode uint64 }

// folder is one below the root, by its names from there; the root has none.
type folder struct {
	above *folder
	name  string
}

// enter counts what is in a folder.
func (m *measure) enter(ctx context.Context, f *folder) error {
	fd, err := m.open(f)
	if vanished(err) {
		return nil
	}
	if err != nil {
		return err
	}
	dir := os.NewFile(uintptr(fd), f.name)
	defer dir.Close()
	for ctx.Err() == nil {
		names, err := dir.Readdirnames(listed)
		for _, name := range names {
			if err := m.add(fd, f, name); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || vanished(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (m *measure) add(fd int, in *folder, name string) error {
	isFolder, err := m.count(fd, name)
	if isFolder {
		m.left = append(m.left, &folder{above: in, name: name})
	}
	return err
}

// open opens a folder from the root down, a few names at a time. Links in place
// of folders are refused.
func (m *measure) open(f *folder) (int, error) {
	var names []string
	for ; f.above != nil; f = f.above {
		names = append(names, f.name)
	}
	at := m.root
	for {
		path, flags := ".", uint64(unix.O_RDONLY)
		if few := min(component, len(names)); few > 0 {
			path = reversed(names[len(names)-few:])
			names = names[:len(names)-few]
		}
		if len(names) > 0 {
			flags = unix.O_PATH
		}
		fd, err := unix.Openat2(at, path, &unix.OpenHow{
			Flags:   flags | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
		})
		if at != m.root {
			_ = unix.Close(at)
		}
		if err != nil || len(names) == 0 {
			return fd, err
		}
		at = fd
	}
}

// reversed joins names, the last of which is the uppermost.
func reversed(names []string) string {
	var path strings.Builder
	for _, name := range slices.Backward(names) {
		path.WriteString(name)
		path.WriteByte('/')
	}
	return path.String()
}

// count adds what a name in an open folder stands for, "" being the folder itself,
// and tells whether that is a folder.
func (m *measure) count(fd int, name string) (isFolder bool, err error) {
	var info unix.Stat_t
	err = unix.Fstatat(fd, name, &info, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	if vanished(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	isFolder = info.Mode&unix.S_IFMT == unix.S_IFDIR
	if !isFolder && info.Nlink > 1 {
		is := file{device: info.Dev, inode: info.Ino}
		if m.seen[is] {
			return false, nil
		}
		m.seen[is] = true
	}
	m.total += info.Blocks * block
	return isFolder, nil
}

// vanished tells of an error that it is about something that is no longer what
// and where it was.
func vanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
