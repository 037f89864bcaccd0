package subprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"assay/internal/sandbox"
)

// emptied is how long killed cgroups, however many, may take until their last
// process is gone.
const emptied = 2 * time.Second

// cgroups makes one cgroup (version 2) for each child, below one of the
// server's. Its methods work on nil, which stands for: not to be had here.
type cgroups struct {
	root string
	next atomic.Int64
	off  atomic.Bool // starting in a cgroup was refused
}

// newCgroups makes the server's cgroup, or says why there is none.
func newCgroups() (*cgroups, error) {
	own, err := sandbox.OwnCgroupDir()
	if err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp(own, "assay-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.kill")); err != nil {
		return nil, errors.Join(errors.New("no cgroup.kill (Linux 5.14 has it)"), os.Remove(root))
	}
	return &cgroups{root: root}, nil
}

func (c *cgroups) usable() bool { return c != nil && !c.off.Load() }

// add makes a cgroup and opens its folder, for [syscall.SysProcAttr.CgroupFD].
func (c *cgroups) add() (*os.File, error) {
	path := filepath.Join(c.root, strconv.FormatInt(c.next.Add(1), 10))
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("make a cgroup: %w", err)
	}
	return os.Open(path)
}

// enterCgroup moves a process into a cgroup.
func enterCgroup(path string, pid int) error {
	return os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}

// remove kills everything below the server's cgroup and removes it. The time for
// that is one for all, so that the helper is gone soon too.
func (c *cgroups) remove() error {
	if c == nil {
		return nil
	}
	deadline := time.Now().Add(emptied)
	err := killCgroup(c.root)
	for _, path := range append(subfolders(c.root), c.root) {
		err = errors.Join(err, removeCgroupBy(path, deadline))
	}
	return err
}

func subfolders(path string) []string {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // removed meanwhile
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, filepath.Join(path, entry.Name()))
		}
	}
	return folders
}

func killCgroup(path string) error {
	err := os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeCgroup removes an emptied cgroup. What was killed a moment ago may
// still be on its way out, and the kernel tells of it in cgroup.events only by
// polling, so this tries again until the time is up.
func removeCgroup(path string) error { return removeCgroupBy(path, time.Now().Add(emptied)) }

func removeCgroupBy(path string, deadline time.Time) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		err := os.Remove(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove a cgroup: %w", err)
		}
	}
}
