package subprocess

// RemoveCgroupTree kills all processes in the cgroups below root and removes these
// cgroups, as the cleanup helper does.
func RemoveCgroupTree(root string) error { return removeCgroupTree(root) }

// CgroupDir returns the folder of the server's cgroup; empty if there is none.
func (s *Supervisor) CgroupDir() string { return s.cgroups.root }
