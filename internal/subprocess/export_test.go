package subprocess

// RemoveCgroupTree kills all processes in the cgroups below root and removes these
// cgroups, as the cleanup helper does.
func RemoveCgroupTree(root string) error { return removeCgroupTree(root) }

// CgroupDir returns the folder of the server's cgroup; empty if there is none.
func (s *Supervisor) CgroupDir() string { return s.cgroups.rootDir() }

// HelperPID returns the process id of the cleanup helper.
func (s *Supervisor) HelperPID() int {
	s.helperMu.Lock()
	defer s.helperMu.Unlock()
	return s.helper.Process.Pid
}

// RemoveTree and RemoveStubbornFolder export removeTree and removeStubbornFolder, which remove a folder
// with everything in it.
var (
	RemoveTree           = removeTree           //nolint:gochecknoglobals // an export for tests
	RemoveStubbornFolder = removeStubbornFolder //nolint:gochecknoglobals // as above
)
