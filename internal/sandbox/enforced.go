package sandbox

// Keys of [Machine.Enforceable]. The limits are among its keys only if the rules set
// them.
const (
	EnforcesRead         = "read"          // files outside the sandbox cannot be read
	EnforcesWrite        = "write"         // nor changed, created or removed
	EnforcesAttributes   = "attributes"    // nor given other modes, owners or times
	EnforcesNetwork      = "network"       // only the network of the rules can be reached
	EnforcesUnixSockets  = "unix_sockets"  // Unix sockets of programs outside cannot be connected to
	EnforcesSignals      = "signals"       // processes outside cannot be signalled, limited or slowed down
	EnforcesCapabilities = "capabilities"  // there are no capabilities, and none can be gained
	EnforcesEnvironment  = "environment"   // environment and memory of processes outside cannot be read
	EnforcesSharedMemory = "shared_memory" // no process outside shares its /dev/shm
	EnforcesProcessList  = "process_list"  // processes outside, and their command lines, cannot be seen
	EnforcesMemory       = "memory"        // Rules.MaxMemoryBytes holds
	EnforcesTotalMemory  = "total_memory"  // Rules.TotalMemoryBytes holds
	EnforcesProcesses    = "processes"     // Rules.MaxProcesses holds
	EnforcesOpenFiles    = "open_files"    // Rules.MaxOpenFiles holds
	EnforcesFileSize     = "file_size"     // Rules.MaxFileBytes holds
)

// Enforceable returns, for each enforcement key, whether this machine can enforce it
// for a process with these rules. It leaves out the keys of limits that the rules do
// not set.
func (m Machine) Enforceable(r Rules) map[string]bool {
	r.Network = r.EffectiveNetwork()
	m = m.withoutConflictingMounts(r)
	canMakeUnixSockets := r.Network != NetworkOff || r.AllowUnixSockets
	held := map[string]bool{
		EnforcesRead:         m.LandlockVersion >= 1,
		EnforcesWrite:        m.LandlockVersion >= 3, // older versions let a file be truncated
		EnforcesAttributes:   m.MountNamespaces && m.ReadOnlyMounts,
		EnforcesNetwork:      true,
		EnforcesUnixSockets:  !canMakeUnixSockets && m.Seccomp || m.LandlockVersion >= 9,
		EnforcesSignals:      m.LandlockVersion >= 6 && m.Seccomp,
		EnforcesCapabilities: true,
		EnforcesEnvironment:  m.LandlockVersion >= 1 || m.IsRoot && m.canDropBounding, // root without capabilities cannot look into root with them
		EnforcesSharedMemory: m.MountNamespaces,
		EnforcesProcessList:  m.MountNamespaces && (m.HiddenProcesses && m.LandlockVersion >= 1 || m.PIDNamespaces && m.needsUserNamespace),
	}
	switch r.Network {
	case NetworkOff:
		held[EnforcesNetwork] = m.HasPrivateNetwork(r) || r.ListenerPort == 0 && m.Seccomp
	case NetworkLoopback:
		held[EnforcesNetwork] = m.NetworkNamespaces
	default: // everything may be reached
	}
	limits := map[string]bool{
		EnforcesMemory: r.MaxMemoryBytes > 0, EnforcesOpenFiles: r.MaxOpenFiles > 0, EnforcesFileSize: r.MaxFileBytes > 0,
	}
	for name, isSet := range limits {
		if isSet {
			held[name] = true
		}
	}
	if r.MaxMemoryBytes > 0 {
		held[EnforcesTotalMemory] = m.MemoryCgroups
	}
	if r.MaxProcesses > 0 {
		held[EnforcesProcesses] = m.PidsCgroups || !m.IsRoot
	}
	return held
}

// enforcedByPlan is Enforceable without the limits that only a cgroup can enforce.
func (m Machine) enforcedByPlan(r Rules) map[string]bool {
	m.PidsCgroups, m.MemoryCgroups = false, false
	return m.Enforceable(r)
}

// DescribeUnenforced returns a sentence with the reason for each key that is false in a
// map as from [Machine.Enforceable].
func DescribeUnenforced(enforced map[string]bool) []string {
	reasons := []struct{ key, sentence string }{
		{EnforcesRead, "code can read every file that you can: this Linux has no Landlock (5.13 or newer has it, if it is switched on)"},
		{EnforcesWrite, "code can change files outside its sandbox: Linux is older than 6.2, or has no Landlock"},
		{EnforcesNetwork, "the network is open: there is no seccomp to close it, or no right to make namespaces"},
		{EnforcesUnixSockets, "code can talk to programs that listen on Unix sockets, such as Docker: Landlock is older than version 9; --network off prevents it"},
		{EnforcesSignals, "code can signal your other processes: Linux is older than 6.12, or has no Landlock or no seccomp"},
		{EnforcesEnvironment, "code can read the server's environment with its keys: this Linux has no Landlock"},
		{EnforcesAttributes, "code can change the modes and times of your files outside its sandbox: there is no right to make namespaces, or Linux is older than 5.12"},
		{EnforcesProcessList, "code can see which processes run, with their command lines: there is no right to make PID namespaces or, for root, Linux is older than 5.8 or has no Landlock"},
		{EnforcesSharedMemory, "sandboxes share /dev/shm: there is no right to make namespaces"},
		{EnforcesTotalMemory, "several processes can use all memory together: there is no memory cgroup that we may write"},
		{EnforcesProcesses, "the number of processes is not limited: there is no pids cgroup that we may write, and other limits do not bind root"},
	}
	var missing []string
	for _, reason := range reasons {
		if held, asked := enforced[reason.key]; asked && !held {
			missing = append(missing, reason.sentence)
		}
	}
	return missing
}
