package sandbox

// FindCgroups is how the kernel's tables of cgroups are read.
func FindCgroups(mounts, member string) (pids, unified string) {
	found := findCgroups(mounts, member)
	return found.pids, found.unified
}

// LimitUnified is for a limit of version 2, which a test cannot expect to have.
func LimitUnified(limit int, ours, group string) (*PidsLimit, error) {
	return limitUnified(limit, ours, group)
}
