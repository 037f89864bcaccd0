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
// returns when they are frozen, or after 2 s. Without a cgroup of version 2 they are stopped by signals: by the first
// process of its PID namespace, or else the process group, and those that its namespace or its limits show. A
// frozen process can be killed and stopped. Signals also make processes continue that had been stopped before. Calls
// must not overlap.
func (p *Process) Freeze() (thaw func()) {
	if p.cgroupDir == "" || setCgroupFrozen(p.cgroupDir, true) != nil {
		return p.freezeWithoutCgroup()
	}
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(freezeTimeout); !isCgroupFrozen(p.cgroupDir) && time.Now().Before(deadline); {
		<-ticker.C
	}
	return func() { _ = setCgroupFrozen(p.cgroupDir, false) } // it fails if the cgroup has been removed
}

// freezeWithoutCgroup does the work of Freeze without a cgroup.
func (p *Process) freezeWithoutCgroup() (thaw func()) {
	if p.pidNamespace == nil {
		return p.freezeBySignals()
	}
	continueAll := func() { _ = p.pidNamespace.SetFrozen(false) } // it fails if the namespace has been removed
	if p.pidNamespace.SetFrozen(true) == nil {
		return continueAll
	}
	thawBySignals := p.freezeBySignals()
	return func() {
		thawBySignals()
		continueAll() // the first process may stop all of them only now
	}
}

// freezeBySignals does the work of Freeze without a cgroup and a PID namespace. Processes that start others meanwhile are
// looked for again until there are no new ones.
func (p *Process) freezeBySignals() (thaw func()) {
	p.signalGroup(syscall.SIGSTOP)
	stopped := map[int]bool{}
	for deadline := time.Now().Add(freezeTimeout); time.Now().Before(deadline); {
		before := len(stopped)
		for _, pid := range p.visibleProcesses() {
			stopped[pid] = stopped[pid] || syscall.Kill(pid, syscall.SIGSTOP) == nil
		}
		if len(stopped) == before {
			break
		}
	}
	return func() {
		for _, pid := range p.visibleProcesses() {
			_ = syscall.Kill(pid, syscall.SIGCONT) // fails if it has ended
		}
		p.signalGroup(syscall.SIGCONT)
	}
}

// visibleProcesses returns the ids of the processes in the namespace and under the limits of the process.
func (p *Process) visibleProcesses() (pids []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.namespace != nil {
		pids = p.namespace.processes()
	}
	for _, limit := range p.cgroupLimits() {
		pids = append(pids, processesIn(limit.Dir())...)
	}
	return pids
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
