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
	maxNamesPerRead   = 1024 // names of a folder that are read at a time
	maxPathComponents = 16   // folders opened by one call, which keeps the path below PATH_MAX
	statBlockBytes    = 512  // unit of st_blocks

	// minEntryBytes is what a file or folder counts at least, so that the number of empty
	// files is limited, too. A folder counts so much more for each maxPathComponents folders that it is
	// in, because opening it takes so much longer.
	minEntryBytes = 4 << 10
)

// DiskUsage returns how many bytes the files and folders below root, and root itself,
// occupy on the disk, and at least 4 KiB each; a folder counts 4 KiB more for each 16 folders that it is in. A file with several names counts once. Links are not followed.
// Deleted files that are still open do not count, and files moved during the count may
// be missed. The tree may have any depth and size and may change meanwhile: memory
// grows with the number of folders not yet visited, and at most three descriptors are
// open beside root's.
//
// If ctx ends or a folder cannot be read, it returns an error and the sum that it has
// counted.
func DiskUsage(ctx context.Context, root string) (int64, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("measure %s: %w", root, err)
	}
	defer unix.Close(fd)
	c := diskUsageCounter{rootFD: fd, linkedFiles: map[inodeID]bool{}, pending: []*pendingFolder{{}}}
	defer c.closeLast()
	if _, err := c.countEntry(fd, ""); err != nil {
		return 0, fmt.Errorf("measure %s: %w", root, err)
	}
	for len(c.pending) > 0 {
		if ctx.Err() != nil {
			return c.totalBytes, fmt.Errorf("measure %s: %w", root, context.Cause(ctx))
		}
		next := c.pending[len(c.pending)-1]
		c.pending = c.pending[:len(c.pending)-1]
		if err := c.countFolder(ctx, next); err != nil && c.firstError == nil {
			c.firstError = fmt.Errorf("measure %s: %w", root, err)
		}
	}
	return c.totalBytes, c.firstError
}

// diskUsageCounter is the state of one DiskUsage call: the bytes counted so far and the
// folders not yet visited.
type diskUsageCounter struct {
	rootFD      int
	totalBytes  int64
	linkedFiles map[inodeID]bool // counted files with more than one name
	pending     []*pendingFolder // not yet visited
	firstError  error

	last    *pendingFolder // visited last; nil before the first
	lastDir *os.File       // the same, open
}

// inodeID identifies a file by device and inode, independently of its names.
type inodeID struct{ device, inode uint64 }

// pendingFolder is a folder that is yet to be counted, by its parent and its name in
// it. The root has no parent.
type pendingFolder struct {
	parent *pendingFolder
	name   string
	depth  int // folders that it is in, below the root
}

// countFolder adds the sizes of all entries in a folder to the total, and its
// subfolders to pending. A folder that has disappeared is no error.
func (c *diskUsageCounter) countFolder(ctx context.Context, f *pendingFolder) error {
	fd, err := c.openFolder(f)
	if isFileGoneError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.closeLast()
	dir := os.NewFile(uintptr(fd), f.name)
	c.last, c.lastDir = f, dir
	c.totalBytes += int64(f.depth/maxPathComponents) * minEntryBytes
	for ctx.Err() == nil {
		names, err := dir.Readdirnames(maxNamesPerRead)
		for _, name := range names {
			isFolder, err := c.countEntry(fd, name)
			if isFolder {
				c.pending = append(c.pending, &pendingFolder{parent: f, name: name, depth: f.depth + 1})
			}
			if err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || isFileGoneError(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// closeLast closes the folder that was visited last, if it is open.
func (c *diskUsageCounter) closeLast() {
	if c.lastDir != nil {
		_ = c.lastDir.Close()
	}
	c.last, c.lastDir = nil, nil
}

// openFolder opens a pending folder, starting at its parent if that was visited last, otherwise at the root, and
// resolving at most
// maxPathComponents names per system call, since the path may be too long for one. It
// refuses symbolic links.
func (c *diskUsageCounter) openFolder(f *pendingFolder) (int, error) {
	var names []string // innermost first
	start := c.rootFD
	for ; f.parent != nil; f = f.parent {
		names = append(names, f.name)
		if f.parent == c.last {
			start = int(c.lastDir.Fd())
			break
		}
	}
	at := start
	for {
		path, flags := ".", uint64(unix.O_RDONLY)
		if count := min(maxPathComponents, len(names)); count > 0 {
			path = joinPathReversed(names[len(names)-count:])
			names = names[:len(names)-count]
		}
		if len(names) > 0 {
			flags = unix.O_PATH
		}
		fd, err := unix.Openat2(at, path, &unix.OpenHow{
			Flags:   flags | unix.O_DIRECTORY | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
		})
		if at != start {
			_ = unix.Close(at)
		}
		if err != nil || len(names) == 0 {
			return fd, err
		}
		at = fd
	}
}

// joinPathReversed joins names to a path, beginning with the last name.
func joinPathReversed(names []string) string {
	var path strings.Builder
	for _, name := range slices.Backward(names) {
		path.WriteString(name)
		path.WriteByte('/')
	}
	return path.String()
}

// countEntry adds the size on disk of an entry of an open folder, or of the folder
// itself if name is empty, to the total, and reports whether the entry is a folder. An
// entry that has disappeared counts 0.
func (c *diskUsageCounter) countEntry(fd int, name string) (isFolder bool, err error) {
	var info unix.Stat_t
	err = unix.Fstatat(fd, name, &info, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH)
	if isFileGoneError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	isFolder = info.Mode&unix.S_IFMT == unix.S_IFDIR
	if !isFolder && info.Nlink > 1 {
		id := inodeID{device: info.Dev, inode: info.Ino}
		if c.linkedFiles[id] {
			return false, nil
		}
		c.linkedFiles[id] = true
	}
	c.totalBytes += max(info.Blocks*statBlockBytes, minEntryBytes)
	return isFolder, nil
}

// isFileGoneError reports whether an error means that a file or folder was removed or
// replaced since its name was read.
func isFileGoneError(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
