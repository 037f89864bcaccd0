package subprocess

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"syscall"

	"assay/internal/sandbox"
)

// Keys of [Process.Enforced], beside those of package sandbox.
const (
	// EnforcesProcessGroup: every process left in its process group is killed when it ends.
	EnforcesProcessGroup = "process_group"
	// EnforcesCgroupKill: the same, also for a process that has left the group.
	EnforcesCgroupKill = "cgroup_kill"
	// EnforcesNamespaceKill: the same, where there is no such cgroup, for a process in a sandbox
	// that has a PID namespace. In one that has only a mount namespace, most processes are found by that, but one
	// that starts another and ends all the time can evade it.
	EnforcesNamespaceKill = "namespace_kill"
)

// Enforceable returns what this machine can probably enforce for subprocesses, with the
// keys EnforcesProcessGroup and EnforcesCgroupKill. It does not need a running
// subprocess; [Process.Enforced] returns what was in fact enforced for one.
func (s *Supervisor) Enforceable() map[string]bool {
	return map[string]bool{EnforcesProcessGroup: true, EnforcesCgroupKill: s.cgroups.rootDir() != ""}
}

// Enforced returns what was in fact enforced for this process: the keys
// EnforcesProcessGroup and EnforcesCgroupKill; if it runs in a sandbox and cgroups do not
// work, EnforcesNamespaceKill; if it runs in a sandbox, the keys of
// package sandbox, false for what its plan could not enforce on this machine; and
// sandbox.EnforcesProcesses and sandbox.EnforcesTotalMemory if the limits of [Spec] were set. It may be called at any
// time; a value changes from true to false if killing the cgroup turns out to fail. The
// caller may change the map.
func (p *Process) Enforced() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.enforced)
}

func (p *Process) setEnforced(key string, enforced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enforced[key] = enforced
}

// limitProcessCount puts the process under a cgroup's limit of processes. Programs that
// the process started in the milliseconds since its own start do not count. Where no
// cgroup can do this, RLIMIT_NPROC of the process's sandbox may limit it, except for
// root.
func (p *Process) limitProcessCount(maxProcesses int) {
	if maxProcesses <= 0 {
		return
	}
	limit, err := sandbox.NewPidsLimit(maxProcesses, p.cgroupDir)
	p.pidsLimit = limit
	p.applyLimit(sandbox.EnforcesProcesses, limit, err)
}

// applyLimit puts the process under a limit, unless err says why there is none, and records under
// key whether that worked. It logs a failure, unless the process has ended or its sandbox enforces the
// limit too.
func (p *Process) applyLimit(key string, limit *sandbox.CgroupLimit, err error) {
	if err == nil {
		p.supervisor.notifyCleanupHelper(noteLimitCgroup, limit.Dir())
		err = limit.AddProcess(p.PID())
	}
	switch {
	case err == nil:
		p.setEnforced(key, true)
	case errors.Is(err, syscall.ESRCH):
		p.setEnforced(key, false) // its exit is reported
	case !p.Enforced()[key]:
		p.supervisor.reportUnenforced(slog.LevelWarn, p.name, key, err)
	}
}

// reportUnenforced logs that a feature cannot be enforced for a subprocess, and why. It
// logs the same feature with the same error number only once.
func (s *Supervisor) reportUnenforced(level slog.Level, name, feature string, err error) {
	kind := feature + ": " + err.Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		kind = feature + ": " + errno.Error() // the paths in the text differ from time to time
	}
	s.loggedMu.Lock()
	known := s.loggedFailures[kind]
	s.loggedFailures[kind] = true
	s.loggedMu.Unlock()
	if known {
		return
	}
	consequence := "a process that leaves its process group outlives its session"
	switch feature {
	case sandbox.EnforcesProcesses:
		consequence = "the number of processes is not limited"
	case sandbox.EnforcesTotalMemory:
		consequence = "the memory of all processes together is not limited"
	}
	s.log.Log(context.Background(), level, "a subprocess runs with less enforced than asked for; later failures of this kind are not logged",
		"subprocess", name, "feature", feature, "consequence", consequence, "error", err)
}
