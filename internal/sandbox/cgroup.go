package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroupRemoveTimeout is how long the last processes of a killed cgroup may take to
// disappear: 2 s.
const cgroupRemoveTimeout = 2 * time.Second

// PidsLimit is a cgroup that limits the number of processes and threads in it. It is
// not safe for concurrent use.
type PidsLimit struct {
	dir     string
	ownsDir bool // by NewPidsLimit, so that Remove removes it
}

// NewPidsLimit makes a limit of maxProcesses (at least 1) processes and threads. Put a
// process under it with AddProcess before it runs untrusted code. cgroupDir is the
// cgroup (version 2) in which the process is alone, or empty. The limit is set in a new
// cgroup of version 1 if the pids controller has that version here, otherwise on
// cgroupDir or, if that is empty, on a new cgroup of version 2. It fails if no cgroup
// of either version can be written. The caller must call Remove.
func NewPidsLimit(maxProcesses int, cgroupDir string) (*PidsLimit, error) {
	if maxProcesses <= 0 {
		return nil, fmt.Errorf("limit processes: %d is no limit", maxProcesses)
	}
	own, err := findOwnCgroupDirs()
	if err != nil {
		return nil, fmt.Errorf("limit processes: %w", err)
	}
	if own.pidsV1 == "" {
		return newUnifiedPidsLimit(maxProcesses, own.unified, cgroupDir)
	}
	p, err := makePidsCgroup(own.pidsV1)
	if err != nil {
		return nil, err
	}
	if err := p.writeFile("pids.max", maxProcesses); err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	return p, nil
}

// newUnifiedPidsLimit sets a limit of processes on cgroupDir (version 2), or, if that
// is empty, on a new cgroup in ownDir, the cgroup of this process.
func newUnifiedPidsLimit(maxProcesses int, ownDir, cgroupDir string) (*PidsLimit, error) {
	if ownDir == "" {
		return nil, errors.New("limit processes: no cgroup with pids is mounted")
	}
	p := &PidsLimit{dir: cgroupDir}
	if cgroupDir == "" {
		var err error
		if p, err = makePidsCgroup(ownDir); err != nil {
			return nil, err
		}
	}
	err := enablePidsController(filepath.Dir(p.dir), ownDir)
	if err == nil {
		err = p.writeFile("pids.max", maxProcesses)
	}
	if err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	return p, nil
}

func makePidsCgroup(parent string) (*PidsLimit, error) {
	dir, err := os.MkdirTemp(parent, "assay-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, fmt.Errorf("limit processes: %w", err)
	}
	return &PidsLimit{dir: dir, ownsDir: true}, nil
}

// enablePidsController enables the pids controller, and so the file pids.max, for the
// cgroups below dir, and before that for its parents up to topDir. Unlike other
// controllers, pids may be enabled for a cgroup that has processes.
func enablePidsController(dir, topDir string) error {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	if !slices.Contains(strings.Fields(string(controllers)), "pids") {
		if dir == topDir || !strings.HasPrefix(dir, topDir) {
			return fmt.Errorf("limit processes: %s has no pids controller", dir)
		}
		if err := enablePidsController(filepath.Dir(dir), topDir); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+pids"), 0); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// Dir returns the folder of the cgroup that has the limit of processes.
func (p *PidsLimit) Dir() string { return p.dir }

// AddProcess puts a process, and everything that it starts later, under the limit. It
// fails if the cgroup cannot be written.
func (p *PidsLimit) AddProcess(pid int) error { return p.writeFile("cgroup.procs", pid) }

func (p *PidsLimit) writeFile(name string, value int) error {
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(strconv.Itoa(value)), 0); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// Remove removes the cgroup, if NewPidsLimit made it. Its processes must have been
// killed; it waits at most 2 s until the last one is gone, and fails after that.
func (p *PidsLimit) Remove() error {
	if !p.ownsDir {
		return nil
	}
	return RemoveCgroup(p.dir, time.Now().Add(cgroupRemoveTimeout))
}

// RemoveCgroup removes a cgroup of either version, which must have no cgroups below it.
// Its processes must have been killed: while the last ones are still ending it tries
// again every millisecond, since their end is not announced, and fails at the deadline.
// A cgroup that does not exist is no error.
func RemoveCgroup(dir string, deadline time.Time) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove a cgroup: %w", err)
		}
	}
}

// OwnCgroupDir returns the folder of the cgroup (version 2) that this process is in. It
// fails if no cgroup2 file system is mounted.
func OwnCgroupDir() (string, error) {
	own, err := findOwnCgroupDirs()
	if err == nil && own.unified == "" {
		err = errors.New("no cgroup2 is mounted")
	}
	return own.unified, err
}

// OwnCgroupDirs returns the folders of the cgroups that this process is in and in which [NewPidsLimit] and
// others make cgroups: of version 1, with the pids controller, and of version 2. It returns those that
// exist.
func OwnCgroupDirs() (dirs []string) {
	own, err := findOwnCgroupDirs()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc([]string{own.pidsV1, own.unified}, func(dir string) bool { return dir == "" })
}

// ownCgroupDirs holds the folders of the cgroups that this process is in. An empty
// folder means that it is in no cgroup of that kind.
type ownCgroupDirs struct {
	pidsV1  string // of version 1, with the pids controller
	unified string // of version 2
}

func findOwnCgroupDirs() (ownCgroupDirs, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ownCgroupDirs{}, err
	}
	memberships, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ownCgroupDirs{}, err
	}
	return parseCgroups(string(mounts), string(memberships)), nil
}

// parseCgroups finds this process's cgroup folders in the texts of /proc/self/mountinfo
// and /proc/self/cgroup.
func parseCgroups(mounts, memberships string) ownCgroupDirs {
	var found ownCgroupDirs
	for line := range strings.Lines(mounts) {
		// "36 35 0:31 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids"
		left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
		mount, fileSystem := strings.Fields(left), strings.Fields(right)
		if len(mount) < 5 || len(fileSystem) < 3 {
			continue
		}
		mountPoint, kind, options := mount[4], fileSystem[0], fileSystem[2]
		switch {
		case kind == "cgroup" && slices.Contains(strings.Split(options, ","), "pids"):
			found.pidsV1 = cgroupDirBelowMount(mountPoint, memberships, "pids")
		case kind == "cgroup2":
			found.unified = cgroupDirBelowMount(mountPoint, memberships, "")
		}
	}
	return found
}

// cgroupDirBelowMount returns the folder of this process's cgroup below a mount point.
// The cgroup's path is in the line "ID:CONTROLLERS:PATH" that lists the controller;
// version 2 has an empty controller. It returns "" if there is no such line.
func cgroupDirBelowMount(mountPoint, memberships, controller string) string {
	for line := range strings.Lines(memberships) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if slices.Contains(strings.Split(controllers, ","), controller) {
			return filepath.Join(mountPoint, path)
		}
	}
	return ""
}
