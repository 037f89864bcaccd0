package sandbox

// ParseCgroups makes parseCgroups available to external tests.
func ParseCgroups(mounts, memberships string) (pidsV1, unified string) {
	found := parseCgroups(mounts, memberships)
	return found.pidsV1, found.unified
}

// NewUnifiedPidsLimit makes newUnifiedPidsLimit available to external tests, for
// machines where the pids controller has cgroup version 1.
func NewUnifiedPidsLimit(maxProcesses int, ownDir, cgroupDir string) (*PidsLimit, error) {
	return newUnifiedPidsLimit(maxProcesses, ownDir, cgroupDir)
}
