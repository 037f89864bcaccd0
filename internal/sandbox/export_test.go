package sandbox

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
