package sandbox

import (
	"cmp"
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

// cgroupController says how a cgroup limits one thing that all processes in it use together.
type cgroupController struct {
	name   string // in the list of controllers of a cgroup
	limits string // in errors
	maxV1  string // file with the limit, in a cgroup of version 1
	maxV2  string // the same, of version 2
	peakV1 string // file with the most that was used, in a cgroup of version 1; "" if there is none
	peakV2 string // the same, of version 2
}

var (
	pidsController   = cgroupController{"pids", "processes", "pids.max", "pids.max", "", ""}                                                   //nolint:gochecknoglobals // constant
	memoryController = cgroupController{"memory", "memory", "memory.limit_in_bytes", "memory.max", "memory.max_usage_in_bytes", "memory.peak"} //nolint:gochecknoglobals // constant
)

// CgroupLimit is a cgroup that limits what all processes in it use together: their number, or their
// memory. It is not safe for concurrent use.
type CgroupLimit struct {
	controller cgroupController
	limit      int64
	dir        string
	ownsDir    bool   // made for this limit, so that Remove removes it
	oomFile    string // has a line "oom_kill N"; "" unless it limits memory
	peakFile   string // has the most bytes that were used; "" unless it limits memory
}

// NewPidsLimit makes a limit of maxProcesses (at least 1) processes and threads. Put a
// process under it with AddProcess before it runs untrusted code. cgroupDir is the
// cgroup (version 2) in which the process is alone, or empty. The limit is set in a new
// cgroup of version 1 if the pids controller has that version here, otherwise on
// cgroupDir or, if that is empty, on a new cgroup of version 2. It fails if no cgroup
// of either version can be written. The caller must call Remove.
func NewPidsLimit(maxProcesses int, cgroupDir string) (*CgroupLimit, error) {
	return newCgroupLimit(pidsController, int64(maxProcesses), "", cgroupDir)
}

// NewMemoryLimit makes a limit of maxBytes (at least 1) on the memory that all processes under it
// use together, with shared memory and files of tmpfs; cached files are dropped first. If they use
// more, Linux kills one of them, which OOMKills counts. It is otherwise like [NewPidsLimit]. With
// version 2 it also fails if this process's cgroup has other processes and is not the root.
func NewMemoryLimit(maxBytes int64, cgroupDir string) (*CgroupLimit, error) {
	return newCgroupLimit(memoryController, maxBytes, "", cgroupDir)
}

// NewMemoryLimitBelow is like [NewMemoryLimit], but what is used under the new limit is also used under l, a
// limit of memory, which must be removed after it. If cgroupDir is not empty, it is below the cgroup of l.
func (l *CgroupLimit) NewMemoryLimitBelow(maxBytes int64, cgroupDir string) (*CgroupLimit, error) {
	return newCgroupLimit(memoryController, maxBytes, l.dir, cgroupDir)
}

// newCgroupLimit makes a limit on cgroupDir, or on a new cgroup in parent; an empty parent stands for the cgroup of
// this process.
func newCgroupLimit(c cgroupController, limit int64, parent, cgroupDir string) (*CgroupLimit, error) {
	if limit <= 0 {
		return nil, fmt.Errorf("limit %s: %d is no limit", c.limits, limit)
	}
	own, err := findOwnCgroupDirs()
	if err != nil {
		return nil, fmt.Errorf("limit %s: %w", c.limits, err)
	}
	dirV1 := own.v1[c.name]
	if dirV1 == "" {
		return newUnifiedLimit(c, limit, cmp.Or(parent, own.unified), cgroupDir)
	}
	l, err := makeLimitCgroup(c, limit, cmp.Or(parent, dirV1))
	if err != nil {
		return nil, err
	}
	if c == memoryController {
		l.oomFile, l.peakFile = "memory.oom_control", c.peakV1
		// Before Linux 5.11, what is used in a cgroup below this one counts only with this setting. Writing it
		// fails where it cannot be changed any more.
		_ = l.writeFile("memory.use_hierarchy", 1)
	}
	if err := l.writeFile(c.maxV1, limit); err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	return l, nil
}

// newUnifiedLimit sets a limit on cgroupDir (version 2), or, if that is empty, on a new
// cgroup in ownDir, the cgroup of this process.
func newUnifiedLimit(c cgroupController, limit int64, ownDir, cgroupDir string) (*CgroupLimit, error) {
	if ownDir == "" {
		return nil, fmt.Errorf("limit %s: no cgroup with %s is mounted", c.limits, c.name)
	}
	l := &CgroupLimit{controller: c, limit: limit, dir: cgroupDir}
	if cgroupDir == "" {
		var err error
		if l, err = makeLimitCgroup(c, limit, ownDir); err != nil {
			return nil, err
		}
	}
	if c == memoryController {
		l.oomFile, l.peakFile = "memory.events", c.peakV2
	}
	err := c.enable(filepath.Dir(l.dir), ownDir)
	if err == nil {
		err = l.writeFile(c.maxV2, limit)
	}
	if err != nil {
		return nil, errors.Join(err, l.Remove())
	}
	return l, nil
}

func makeLimitCgroup(c cgroupController, limit int64, parent string) (*CgroupLimit, error) {
	dir, err := os.MkdirTemp(parent, "assay-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		return nil, fmt.Errorf("limit %s: %w", c.limits, err)
	}
	return &CgroupLimit{controller: c, limit: limit, dir: dir, ownsDir: true}, nil
}

// enable enables the controller, and so its files, for the cgroups (version 2) below dir, and before
// that for its parents up to topDir. Only pids may be enabled for a cgroup that has processes.
func (c cgroupController) enable(dir, topDir string) error {
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("limit %s: %w", c.limits, err)
	}
	if !slices.Contains(strings.Fields(string(controllers)), c.name) {
		if dir == topDir || !strings.HasPrefix(dir, topDir) {
			return fmt.Errorf("limit %s: %s has no %s controller", c.limits, dir, c.name)
		}
		if err := c.enable(filepath.Dir(dir), topDir); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c.name), 0); err != nil {
		return fmt.Errorf("limit %s: %w", c.limits, err)
	}
	return nil
}

// Dir returns the folder of the cgroup that has the limit.
func (l *CgroupLimit) Dir() string { return l.dir }

// AddProcess puts a process, and everything that it starts later, under the limit. It
// fails if the cgroup cannot be written.
func (l *CgroupLimit) AddProcess(pid int) error { return l.writeFile("cgroup.procs", int64(pid)) }

func (l *CgroupLimit) writeFile(name string, value int64) error {
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(strconv.FormatInt(value, 10)), 0); err != nil {
		return fmt.Errorf("limit %s: %w", l.controller.limits, err)
	}
	return nil
}

// OOMKills returns how many processes Linux has killed because of this limit of memory. It returns
// 0 if that cannot be read.
func (l *CgroupLimit) OOMKills() int {
	text, err := os.ReadFile(filepath.Join(l.dir, l.oomFile))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			kills, _ := strconv.Atoi(strings.TrimSpace(count)) // 0 if it is no number
			return kills
		}
	}
	return 0
}

// Max returns the limit: a number of processes, or bytes.
func (l *CgroupLimit) Max() int64 { return l.limit }

// PeakBytes returns the most memory that was used under this limit at any time, with cached files. It returns 0
// if that is not known, as on Linux before 5.19 with cgroups of version 2.
func (l *CgroupLimit) PeakBytes() int64 {
	text, _ := os.ReadFile(filepath.Join(l.dir, l.peakFile)) // an empty text is no number
	return parseNumber(string(text))
}

// parseNumber returns the number that a file of a cgroup holds, or 0 if there is none, such as in "max".
func parseNumber(text string) int64 {
	number, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// Remove removes the cgroup, if it was made for the limit. Its processes must have been
// killed; it waits at most 2 s until the last one is gone, and fails after that.
func (l *CgroupLimit) Remove() error {
	if !l.ownsDir {
		return nil
	}
	return RemoveCgroup(l.dir, time.Now().Add(cgroupRemoveTimeout))
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
// others make cgroups: of version 1, with the pids and the memory controller, and of version 2. It
// returns those that exist.
func OwnCgroupDirs() (dirs []string) {
	own, err := findOwnCgroupDirs()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc([]string{own.v1["pids"], own.v1["memory"], own.unified}, func(dir string) bool { return dir == "" })
}

// ownCgroupDirs holds the folders of the cgroups that this process is in. An empty
// folder means that it is in no cgroup of that kind.
type ownCgroupDirs struct {
	v1      map[string]string // of version 1, by controller: pids and memory
	unified string            // of version 2
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
	found := ownCgroupDirs{v1: map[string]string{}}
	for line := range strings.Lines(mounts) {
		// "36 35 0:31 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids"
		left, right, _ := strings.Cut(strings.TrimSpace(line), " - ")
		mount, fileSystem := strings.Fields(left), strings.Fields(right)
		if len(mount) < 5 || len(fileSystem) < 3 {
			continue
		}
		switch mountPoint, options := mount[4], strings.Split(fileSystem[2], ","); fileSystem[0] {
		case "cgroup":
			for _, c := range []cgroupController{pidsController, memoryController} {
				if slices.Contains(options, c.name) {
					found.v1[c.name] = cgroupDirBelowMount(mountPoint, memberships, c.name)
				}
			}
		case "cgroup2":
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
