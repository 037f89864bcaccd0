package sandbox

// ParseCgroups is parseCgroups.
func ParseCgroups(mounts, memberships string) (pidsV1, unified string) {
	found := parseCgroups(mounts, memberships)
	return found.pidsV1, found.unified
}

// NewUnifiedPidsLimit is newUnifiedPidsLimit, for machines where pids has version 1.
func NewUnifiedPidsLimit(maxProcesses int, ownDir, cgroupDir string) (*PidsLimit, error) {
	return newUnifiedPidsLimit(maxProcesses, ownDir, cgroupDir)
}
