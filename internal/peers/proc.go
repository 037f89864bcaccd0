package peers

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"assay/internal/sandbox"
)

// cgroupOfProcess returns the path of a process's cgroup (version 2), or "" if it is in none. It
// fails if there is no such process.
func cgroupOfProcess(pid int) (string, error) {
	text, err := os.ReadFile(filepath.Join(procFolder(pid), "cgroup"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(path, "\n"), nil
		}
	}
	return "", nil
}

// pathOfCgroup returns the path of the cgroup (version 2) with an id, which is the inode of its
// folder, or "" if it is 0 or not found.
func (g *Guard) pathOfCgroup(id uint64) string {
	if known, ok := g.cgroupPaths.Load(id); ok {
		path, _ := known.(string)
		return path
	}
	path := findCgroup(id)
	if path != "" {
		g.cgroupPaths.Store(id, path)
	}
	return path
}

// findCgroup searches the folders of all cgroups for the one with this id.
func findCgroup(id uint64) string {
	own, err := cgroupOfProcess(os.Getpid())
	if err != nil || id == 0 {
		return ""
	}
	folder, err := sandbox.OwnCgroupDir()
	if err != nil {
		return ""
	}
	mount := strings.TrimSuffix(folder, strings.TrimSuffix(own, "/"))
	found := ""
	_ = filepath.WalkDir(mount, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil //nolint:nilerr // a cgroup that is removed meanwhile is none of a running process
		}
		info, err := entry.Info()
		if stat, ok := statOf(info, err); ok && stat.Ino == id {
			found = "/" + strings.TrimPrefix(strings.TrimPrefix(path, mount), "/")
			return fs.SkipAll
		}
		return nil
	})
	return found
}

func statOf(info fs.FileInfo, err error) (*syscall.Stat_t, bool) {
	if err != nil {
		return nil, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return stat, ok
}

// relationByAncestors returns what a process is to this one, by the processes that started it.
// parent returns the id of a process's parent. The result is ErrGone if parent fails.
func (g *Guard) relationByAncestors(pid int, parent func(pid int) (int, error)) (Relation, error) {
	if pid == g.server {
		return Outside, nil
	}
	for at := pid; at > 1; {
		switch at {
		case g.server:
			return Child, nil
		case os.Getpid():
			return Own, nil
		}
		above, err := parent(at)
		if err != nil {
			return Outside, ErrGone
		}
		at = above
	}
	return Outside, nil
}

// parentOf returns the id of a process's parent; 0 if that is in another PID namespace.
func parentOf(pid int) (int, error) {
	text, err := os.ReadFile(filepath.Join(procFolder(pid), "stat"))
	if err != nil {
		return 0, err
	}
	// "17 (name) S 1 …": the name may contain anything, even parentheses.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, fmt.Errorf("a malformed stat of process %d", pid)
	}
	return strconv.Atoi(string(fields[1]))
}

// findOwnerAmongChildren returns the id of a process, started by the server directly or not, that
// has the socket with this inode open, or 0 if there is none. It fails with ErrGone for
// inode 0, a socket that its process has closed.
func (g *Guard) findOwnerAmongChildren(inode uint32) (int, error) {
	if inode == 0 {
		return 0, ErrGone
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	want := fmt.Sprintf("socket:[%d]", inode)
	parents := map[int]int{} // each process is read once, however many descend from it
	parent := func(pid int) (int, error) {
		if known, ok := parents[pid]; ok {
			return known, nil
		}
		read, err := parentOf(pid)
		if err == nil {
			parents[pid] = read
		}
		return read, err
	}
	for _, folder := range processes {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		relation, err := g.relationByAncestors(pid, parent)
		if err == nil && relation != Outside && hasOpen(folder, want) {
			return pid, nil
		}
	}
	return 0, nil
}

// hasOpen reports whether a process, by its folder in /proc, has a file of this name open.
func hasOpen(folder, name string) bool {
	descriptors, err := os.ReadDir(filepath.Join(folder, "fd"))
	if err != nil {
		return false // it has gone, or is another user's
	}
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(filepath.Join(folder, "fd", descriptor.Name())); err == nil && target == name {
			return true
		}
	}
	return false
}

func procFolder(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }
