package subprocess

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// mountNamespace is the mount namespace of a sandbox. Whatever the sandbox's processes start is in it,
// too, and cannot leave it, because a sandbox has no capabilities. As long as it is open, Linux gives its
// name to no other namespace.
type mountNamespace struct {
	file *os.File
	name string // such as "mnt:[4026532319]"
}

// openSeparateNamespace opens the mount namespace of a process. It fails if that cannot be read, or is
// the one of this process. The caller must kill or close it.
func openSeparateNamespace(pid int) (*mountNamespace, error) {
	file, err := os.Open(namespacePath(strconv.Itoa(pid)))
	if err != nil {
		return nil, err
	}
	name, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(int(file.Fd()))))
	own, ownErr := os.Readlink(namespacePath("self"))
	if err = errors.Join(err, ownErr); err == nil && name == own {
		err = errors.New("the process has no mount namespace of its sandbox")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &mountNamespace{file, name}, nil
}

// emptyPasses is how often in a row no process may be found in a namespace before it counts as empty.
const emptyPasses = 3

// kill sends SIGKILL to the processes in the namespace until none is found in three passes, for at most 2 s, and closes
// it. A process that starts another and ends all the time can evade it.
func (n *mountNamespace) kill() {
	defer n.close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	empty := 0
	for deadline := time.Now().Add(cgroupRemoveTimeout); empty < emptyPasses && time.Now().Before(deadline); <-tick.C {
		pids := n.processes()
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended
		}
		if empty++; len(pids) > 0 {
			empty = 0
		}
	}
}

// processes returns the ids of the processes in the namespace.
func (n *mountNamespace) processes() (pids []int) {
	paths, _ := filepath.Glob(namespacePath("[0-9]*")) // the pattern is well formed
	for _, path := range paths {
		if name, err := os.Readlink(path); err != nil || name != n.name { // a process that has ended has none
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// close forgets the namespace.
func (n *mountNamespace) close() { _ = n.file.Close() }

// namespacePath returns the path of the link that names the mount namespace of a process.
func namespacePath(pid string) string { return filepath.Join("/proc", pid, "ns", "mnt") }
