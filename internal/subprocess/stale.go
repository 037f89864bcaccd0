package subprocess

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// lockName is the name of the file in a server's temporary folder that is locked as long as the server
// lives. It has this name only once it is locked.
const lockName = "server.lock"

// staleNamePrefix begins the names of servers' temporary folders and, before the process id, of their
// cgroups.
const staleNamePrefix = "assay-"

// lockFolder locks a new temporary folder for this process. The lock ends when the file is closed, which
// it also is when the process ends.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "new-"+lockName), os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the temporary folder: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock the temporary folder: %w", err), file.Close())
	}
	return file, nil
}

// RemoveStale removes what servers of this user have left that were killed together with their cleanup
// helpers: temporary folders in root, such as [os.TempDir], and cgroups beside that of this process.
// With kill it also kills the processes in these cgroups; without it, cgroups with processes stay. It
// returns the paths of what it has removed.
func RemoveStale(root string, kill bool) (removed []string, err error) {
	for _, dir := range staleFolders(root) {
		if removeErr := removeTree(dir); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		removed = append(removed, dir)
	}
	deadline := time.Now().Add(staleCgroupTimeout)
	for _, dir := range staleCgroups() {
		switch removeErr := removeStaleCgroup(dir, kill, deadline); {
		case removeErr == nil:
			removed = append(removed, dir)
		case kill:
			err = errors.Join(err, removeErr)
		}
	}
	return removed, err
}

// staleFolders returns the temporary folders in root of this user's servers that have died.
func staleFolders(root string) (stale []string) {
	folders, _ := filepath.Glob(filepath.Join(root, staleNamePrefix+"*", lockName)) // root has no pattern in it, or nothing is found
	for _, path := range folders {
		dir := filepath.Dir(path)
		var stat unix.Stat_t
		if unix.Lstat(dir, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR && int(stat.Uid) == os.Geteuid() && isUnlocked(path) {
			stale = append(stale, dir)
		}
	}
	return stale
}

// isUnlocked reports whether no process has locked a file.
func isUnlocked(path string) bool {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
}

// staleCgroups returns the cgroups of servers whose process does not exist any more.
func staleCgroups() (stale []string) {
	for _, parent := range sandbox.OwnCgroupDirs() {
		for _, path := range subfolders(parent) {
			rest, isOurs := strings.CutPrefix(filepath.Base(path), staleNamePrefix)
			text, _, hasEnd := strings.Cut(rest, "-")
			pid, err := strconv.Atoi(text)
			if isOurs && hasEnd && err == nil && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
				stale = append(stale, path)
			}
		}
	}
	return stale
}

// staleCgroupTimeout is how long all stale cgroups together may take to become empty: their processes may
// have been killed just now.
const staleCgroupTimeout = 200 * time.Millisecond

// removeStaleCgroup removes a cgroup, of either version, and those below it. With kill it first kills
// the processes in them; without it, it gives up at the deadline if there are any.
func removeStaleCgroup(root string, kill bool, deadline time.Time) error {
	if kill {
		deadline = time.Now().Add(cgroupRemoveTimeout)
	}
	var err error
	for _, path := range append(subfolders(root), root) {
		if kill {
			killProcessesIn(path)
		}
		err = errors.Join(err, sandbox.RemoveCgroup(path, deadline))
	}
	return err
}

// killProcessesIn sends SIGKILL to the processes in a cgroup.
func killProcessesIn(cgroup string) {
	if file, err := os.OpenFile(filepath.Join(cgroup, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
		_, err = file.WriteString("1")
		if errors.Join(err, file.Close()) == nil {
			return
		}
	}
	for _, pid := range processesIn(cgroup) { // version 1 has no cgroup.kill
		_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended
	}
}

// processesIn returns the ids of the processes in a cgroup.
func processesIn(cgroup string) (pids []int) {
	text, _ := os.ReadFile(filepath.Join(cgroup, "cgroup.procs")) // a cgroup that has been removed has none
	for line := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}
