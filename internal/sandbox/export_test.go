package sandbox

import (
	"os/exec"
	"time"
)

// ParseCgroups makes parseCgroups available to external tests.
func ParseCgroups(mounts, memberships string) (pidsV1, memoryV1, unified string) {
	found := parseCgroups(mounts, memberships)
	return found.v1["pids"], found.v1["memory"], found.unified
}

// NewUnifiedPidsLimit and NewUnifiedMemoryLimit make newUnifiedLimit available to external tests, for
// machines where the controllers have cgroup version 1.
func NewUnifiedPidsLimit(maxProcesses int64, ownDir, cgroupDir string) (*CgroupLimit, error) {
	return newUnifiedLimit(pidsController, maxProcesses, ownDir, cgroupDir)
}

// NewUnifiedMemoryLimit is described at NewUnifiedPidsLimit.
func NewUnifiedMemoryLimit(maxBytes int64, ownDir, cgroupDir string) (*CgroupLimit, error) {
	return newUnifiedLimit(memoryController, maxBytes, ownDir, cgroupDir)
}

// CgroupMemoryBytes returns the lowest limit of memory of the cgroup of version 1 in dirV1, or of that of version 2 in
// unified, and those above it.
func CgroupMemoryBytes(dirV1, unified string) int64 {
	return ownCgroupDirs{v1: map[string]string{"memory": dirV1}, unified: unified}.memoryBytes()
}

// StartWithin is p.Start with another time limit.
func StartWithin(timeout time.Duration, p Plan, cmd *exec.Cmd, launcher []string) (*PIDNamespace, error) {
	return p.startWithin(timeout, cmd, launcher)
}
