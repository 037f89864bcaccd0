package subprocess

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// freezeTimeout is how long the processes of a cgroup may take to freeze. It takes
// microseconds, except for one that is in an uninterruptible wait.
const freezeTimeout = 2 * time.Second

// Freeze keeps the process, and everything that it has started, from running until thaw is called. It
// returns when they are frozen, or after 2 s. Without a cgroup only the process group is frozen. A
// frozen process can be killed and stopped. Calls must not overlap.
func (p *Process) Freeze() (thaw func()) {
	if p.cgroupDir == "" || setCgroupFrozen(p.cgroupDir, true) != nil {
		p.signalGroup(syscall.SIGSTOP)
		return func() { p.signalGroup(syscall.SIGCONT) }
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(freezeTimeout); !isCgroupFrozen(p.cgroupDir) && time.Now().Before(deadline); {
		<-ticker.C
	}
	return func() { _ = setCgroupFrozen(p.cgroupDir, false) } // it fails if the cgroup has been removed
}

func setCgroupFrozen(path string, isFrozen bool) error {
	state := "0"
	if isFrozen {
		state = "1"
	}
	return os.WriteFile(filepath.Join(path, "cgroup.freeze"), []byte(state), 0)
}

// isCgroupFrozen reports whether all processes in a cgroup are frozen. One that does not exist is.
func isCgroupFrozen(path string) bool {
	text, err := os.ReadFile(filepath.Join(path, "cgroup.events"))
	return err != nil || strings.Contains(string(text), "frozen 1")
}
