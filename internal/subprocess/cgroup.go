package subprocess

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/sandbox"
)

// cgroupRemoveTimeout is how long the last processes of killed cgroups may take to
// disappear, however many cgroups there are: 2 s.
const cgroupRemoveTimeout = 2 * time.Second

// cgroupTree makes one cgroup (version 2) per subprocess, all below one cgroup of the
// server, which it makes when the first subprocess needs it.
type cgroupTree struct {
	onRootMade func(root string) // called once, when the server's cgroup has been made

	mu   sync.Mutex
	root string // the server's cgroup; empty: it could not be made so far

	lastNumber atomic.Int64
}

// rootDir returns the folder of the server's cgroup, or "" if it could not be made.
func (c *cgroupTree) rootDir() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.root
}

// makeRootCgroup returns the folder of the server's cgroup and makes it if necessary.
// The error says why cgroup v2 cannot be used; a later call tries again.
func (c *cgroupTree) makeRootCgroup() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root != "" {
		return c.root, nil
	}
	own, err := sandbox.OwnCgroupDir()
	if err != nil {
		return "", err
	}
	root, err := os.MkdirTemp(own, "assay-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(root, "cgroup.kill")); err != nil {
		return "", errors.Join(errors.New("no cgroup.kill (Linux 5.14 or newer has it)"), os.Remove(root))
	}
	c.root = root
	c.onRootMade(root)
	return root, nil
}

// newCgroup makes a cgroup for one subprocess and opens its folder, for
// [syscall.SysProcAttr.CgroupFD].
func (c *cgroupTree) newCgroup() (*os.File, error) {
	root, err := c.makeRootCgroup()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, strconv.FormatInt(c.lastNumber.Add(1), 10))
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("make a cgroup: %w", err)
	}
	folder, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a cgroup: %w", err), os.Remove(path))
	}
	return folder, nil
}

// removeAll kills everything in the server's cgroup and removes it. It does nothing if
// there is no such cgroup.
func (c *cgroupTree) removeAll() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.root == "" {
		return nil
	}
	return removeCgroupTree(c.root)
}

// removeCgroupTree kills every process below a server's cgroup and removes the cgroup.
// All its cgroups share one deadline, 2 s, so that the cleanup helper ends soon too.
func removeCgroupTree(root string) error {
	deadline := time.Now().Add(cgroupRemoveTimeout)
	err := killCgroup(root)
	for _, path := range append(subfolders(root), root) {
		err = errors.Join(err, sandbox.RemoveCgroup(path, deadline))
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

// moveToCgroup moves a running process into a cgroup.
func moveToCgroup(path string, pid int) error {
	if err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		return fmt.Errorf("move into a cgroup: %w", err)
	}
	return nil
}

// killCgroup sends SIGKILL to every process in a cgroup and below it. A cgroup that
// does not exist is no error.
func killCgroup(path string) error {
	err := os.WriteFile(filepath.Join(path, "cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
