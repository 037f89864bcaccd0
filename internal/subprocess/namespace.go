package subprocess

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// separateNamespace returns the mount namespace of a process, such as "mnt:[4026532319]", if it is
// another one than that of this process, and can be read; otherwise "". Whatever the process starts is
// in that namespace, too, and cannot leave it, because a sandbox has no capabilities.
func separateNamespace(pid int) string {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink(namespacePath(strconv.Itoa(pid)))
	if err != nil || namespace == own {
		return ""
	}
	return namespace
}

// killNamespace sends SIGKILL to the processes in a mount namespace that separateNamespace has
// returned, until there are none, for at most 2 s. It does nothing if namespace is empty.
func killNamespace(namespace string) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(cgroupRemoveTimeout); namespace != "" && time.Now().Before(deadline); <-tick.C {
		paths, _ := filepath.Glob(namespacePath("[0-9]*")) // the pattern is well formed
		found := false
		for _, path := range paths {
			if of, err := os.Readlink(path); err != nil || of != namespace { // a process that has ended has none
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))); err == nil {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended
			}
		}
		if !found {
			return
		}
	}
}

// namespacePath returns the path of the link that names the mount namespace of a process.
func namespacePath(pid string) string { return filepath.Join("/proc", pid, "ns", "mnt") }
