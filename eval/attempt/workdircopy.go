package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"assay/eval/session"
	"assay/internal/sandbox"
)

// copyWorkdirForGraders copies the working folder for programs that grade, which are not confined,
// and returns the path of the copy, which the caller must remove with [session.RemoveWorkdir]. Nothing of the attempt can
// change the copy, and no link in it leads outside, except to the case's data files. A link to what code in the kernel may
// not read itself counts as tamper. The error is an [incompleteCopyError] if the agent has left what cannot be copied.
func (a *attempt) copyWorkdirForGraders(ctx context.Context) (dir string, err error) {
	dir, err = a.cfg.Supervisor.MkdirTemp(a.cfg.WorkdirRoot, "graded-")
	if err != nil {
		return "", fmt.Errorf("copy the working folder: %w", err)
	}
	if err := a.copyWorkdir(ctx, dir); err != nil {
		return "", errors.Join(err, session.RemoveWorkdir(a.cfg.Supervisor, dir))
	}
	return dir, nil
}

// copyWorkdir copies the working folder to the folder dir, which is empty, as copyWorkdirForGraders says.
// The kernel, and what it has started, must stand still: it could make files faster than they are copied.
func (a *attempt) copyWorkdir(ctx context.Context, dir string) error {
	c := workdirCopier{attempt: a, workdir: a.session.Workdir(), bytesLeft: math.MaxInt64}
	if a.limits.MaxDiskBytes > 0 {
		c.bytesLeft = 2*a.limits.MaxDiskBytes + a.dataFileBytes() // twice: an attempt that is ended by the limit has exceeded it
	}
	err := a.session.OpenWorkdir()
	if err == nil {
		err = c.copyTo(ctx, dir)
	}
	if err != nil {
		return fmt.Errorf("copy the working folder: %w", err)
	}
	return nil
}

// dataFileBytes returns the size of the case's data files.
func (a *attempt) dataFileBytes() (sum int64) {
	for _, data := range a.job.Case.Data {
		if info, err := os.Stat(data.Path); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// incompleteCopyError says what the agent has left in its working folder that a copy cannot have. What must not be there
// would seem to be absent, so nothing can be graded by such a copy.
type incompleteCopyError struct{ text string }

func (e incompleteCopyError) Error() string { return e.text }

// workdirCopier copies a working folder. Roots of package os keep it inside, also if a process that could not
// be made to stand still replaces something by a link meanwhile.
type workdirCopier struct {
	attempt   *attempt
	workdir   string
	from, to  *os.Root
	bytesLeft int64 // of what a copy may hold; the disk limit counts the same
}

// copiedEntryBytes is what a file, folder or link counts beside its size.
const copiedEntryBytes = 16 << 10

// maxCopiedDepth is how many folders may be inside each other in a copy. Each takes longer than the last.
const maxCopiedDepth = 100

// copyTo copies the folders, regular files and links of the working folder to dir. Pipes and sockets are left out, and
// what is removed meanwhile.
func (c *workdirCopier) copyTo(ctx context.Context, dir string) (err error) {
	if c.from, err = os.OpenRoot(c.workdir); err != nil {
		return err
	}
	defer c.from.Close()
	if c.to, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer c.to.Close()
	return fs.WalkDir(c.from.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return unreadableError(path, err)
		case path == ".":
			return nil
		}
		if err := c.count(copiedEntryBytes); err != nil {
			return err
		}
		switch {
		case entry.IsDir() && strings.Count(path, "/") >= maxCopiedDepth:
			return incompleteCopyError{fmt.Sprintf("more than %d folders are inside each other: %.60s…", maxCopiedDepth, path)}
		case entry.IsDir():
			c.makeReadable(path, entry, 0o500)
			return c.to.Mkdir(path, 0o700)
		case entry.Type()&fs.ModeSymlink != 0:
			return c.copyLink(path)
		case entry.Type().IsRegular():
			c.makeReadable(path, entry, 0o400)
			return c.copyFile(path)
		default:
			return nil // a pipe or a socket
		}
	})
}

// count counts what is about to be copied.
func (c *workdirCopier) count(bytes int64) error {
	if c.bytesLeft -= bytes; c.bytesLeft < 0 {
		return incompleteCopyError{"there is more than twice what --disk allows, where each file, folder and link counts 16 KiB beside what it holds"}
	}
	return nil
}

// makeReadable gives the owner of a file or folder, as which the server runs, the rights to read it. If that fails, so does
// the copy.
func (c *workdirCopier) makeReadable(path string, entry fs.DirEntry, rights fs.FileMode) {
	if info, err := entry.Info(); err == nil && info.Mode()&rights != rights {
		_ = c.from.Chmod(path, info.Mode().Perm()|rights)
	}
}

// unreadableError returns the error of a copy that lacks what could not be read because of err; nil if it does not exist any more.
func unreadableError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return incompleteCopyError{fmt.Sprintf("%.200s cannot be read: %v", path, err)}
}

// copyFile copies a regular file, with the right to execute it. It does nothing if it is no regular file any more.
func (c *workdirCopier) copyFile(path string) error {
	from, err := c.from.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe in its place must not block
	if err != nil {
		return unreadableError(path, err)
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	to, err := c.to.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600|info.Mode()&0o100)
	if err != nil {
		return err
	}
	err = c.copyData(from, to, info.Size())
	return errors.Join(err, to.Truncate(info.Size()), to.Close())
}

// copyData copies the first size bytes of a file without its holes: a file that is larger than what it holds must not be
// absent for graders.
func (c *workdirCopier) copyData(from, to *os.File, size int64) error {
	for begin, end := nextData(from, 0, size); begin < end; begin, end = nextData(from, end, size) {
		length := end - begin
		if err := c.count(length); err != nil {
			return err
		}
		_, fromErr := from.Seek(begin, io.SeekStart)
		_, toErr := to.Seek(begin, io.SeekStart)
		if err := errors.Join(fromErr, toErr); err != nil {
			return err
		}
		if _, err := io.Copy(to, io.LimitReader(from, length)); err != nil {
			return err
		}
	}
	return nil
}

// nextData returns where the next data of a file begins and ends, from an offset on; the same offset twice if only a hole
// follows, also because the file was cut. Where a file system does not say where holes are, all is data.
func nextData(file *os.File, from, size int64) (begin, end int64) {
	begin, err := file.Seek(from, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO), err == nil && begin >= size:
		return size, size
	case err != nil:
		return from, size
	}
	if end, err = file.Seek(begin, unix.SEEK_HOLE); err != nil {
		return begin, size
	}
	return begin, min(end, size)
}

// copyLink copies a symbolic link to a place in the working folder, as one to the same place in the
// copy, or to a data file of the case. It leaves out any other, and counts it if code in the kernel may
// not read where it leads.
func (c *workdirCopier) copyLink(path string) error {
	target, err := c.from.Readlink(path)
	if err != nil {
		return nil //nolint:nilerr // it is gone, or no link any more
	}
	folder := filepath.Join(c.workdir, filepath.Dir(path))
	target = linkTarget(folder, target)
	if rest, err := filepath.Rel(sandbox.ResolvePath(c.workdir), target); err == nil && filepath.IsLocal(rest) {
		target = filepath.Join(c.workdir, rest)
	}
	switch {
	case sandbox.IsWithin(target, c.workdir):
		// Without names between the dots the way up cannot lead through another link.
		relative, err := filepath.Rel(folder, target)
		if err != nil {
			return err
		}
		return c.to.Symlink(relative, path)
	case slices.Contains(c.attempt.linkedDataFiles(), target):
		return c.to.Symlink(target, path)
	case !c.attempt.mayKernelRead(target):
		c.attempt.forbiddenLinks++ // the watcher does not read the trace any more
		c.attempt.session.RecordForbidden("kernel", fmt.Sprintf("the link %s to %s", path, target))
	}
	return nil
}

// linkTarget returns the absolute path of where a link in a folder leads. If another link is on the way up ("x/..",
// where x is a link), it is the path without links.
func linkTarget(folder, text string) string {
	if !filepath.IsAbs(text) {
		text = folder + "/" + text
	}
	target := filepath.Clean(text)
	if real, err := filepath.EvalSymlinks(text); err == nil && real != sandbox.ResolvePath(target) {
		return real
	}
	return target
}

// mayKernelRead reports whether the sandbox lets code in the kernel read a path outside of the working
// folder. /proc counts as forbidden: what it has depends on who reads it.
func (a *attempt) mayKernelRead(path string) bool {
	cfg := a.cfg.Kernel
	if cfg.Sandbox == nil {
		return true
	}
	path = sandbox.ResolvePath(path)
	isBelow := func(folders []string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return sandbox.IsWithin(path, sandbox.ResolvePath(folder)) })
	}
	if isBelow([]string{"/proc"}) || isBelow(cfg.Sandbox.Rules.HiddenPaths) {
		return false
	}
	readable := slices.Concat(cfg.Sandbox.Rules.ReadPaths, cfg.Sandbox.Rules.WritePaths, cfg.ReadPaths)
	if cfg.Python != nil {
		readable = append(readable, cfg.Python.ReadPaths()...)
	}
	return isBelow(readable)
}
