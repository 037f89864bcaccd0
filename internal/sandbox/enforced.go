package sandbox

// What a fence can hold, the keys of [Machine.Enforced].
const (
	EnforcesRead         = "read"          // files outside cannot be read
	EnforcesWrite        = "write"         // nor changed, made or removed
	EnforcesAttributes   = "attributes"    // nor given other modes, owners or times
	EnforcesNetwork      = "network"       // the network is as the rules say
	EnforcesUnixSockets  = "unix_sockets"  // programs outside that listen on a Unix socket cannot be reached
	EnforcesSignals      = "signals"       // processes outside cannot be signalled, limited or slowed down
	EnforcesCapabilities = "capabilities"  // there are no capabilities, and no way to any
	EnforcesEnvironment  = "environment"   // environment and memory of processes outside cannot be read
	EnforcesSharedMemory = "shared_memory" // /dev/shm is the sandbox's own
	EnforcesMemory       = "memory"        // the limits of the rules, as far as there are any
	EnforcesProcesses    = "processes"
	EnforcesOpenFiles    = "open_files"
	EnforcesFileSize     = "file_size"
)

// Enforceable tells which promises hold on this machine for a process behind these
// rules. A limit that the rules do not set is not among them.
func (m Machine) Enforceable(r Rules) map[string]bool {
	m = m.under(r)
	reachable := r.Network != NetworkOff || r.AllowUnixSockets
	held := map[string]bool{
		EnforcesRead:         m.LandlockVersion >= 1,
		EnforcesWrite:        m.LandlockVersion >= 3, // before, a file could be truncated
		EnforcesAttributes:   false,                  // nothing in Linux can
		EnforcesNetwork:      true,
		EnforcesUnixSockets:  !reachable && m.Seccomp || m.LandlockVersion >= 9,
		EnforcesSignals:      m.LandlockVersion >= 6 && m.Seccomp,
		EnforcesCapabilities: true,
		EnforcesEnvironment:  m.LandlockVersion >= 1 || m.IsRoot && m.bounding, // root with capabilities is safe from root without
		EnforcesSharedMemory: m.MountNamespaces,
	}
	switch r.Network {
	case NetworkOff:
		held[EnforcesNetwork] = m.Seccomp
	case NetworkLoopback:
		held[EnforcesNetwork] = m.NetworkNamespaces
	default: // nothing was promised
	}
	limits := map[string]bool{
		EnforcesMemory: r.MaxMemoryBytes > 0, EnforcesProcesses: r.MaxProcesses > 0,
		EnforcesOpenFiles: r.MaxOpenFiles > 0, EnforcesFileSize: r.MaxFileBytes > 0,
	}
	for name, set := range limits {
		if set {
			held[name] = name != EnforcesProcesses || m.PidsCgroups || !m.IsRoot
		}
	}
	return held
}

// enforcedByPlan is Enforceable without what only a cgroup enforces.
func (m Machine) enforcedByPlan(r Rules) map[string]bool {
	m.PidsCgroups = false
	return m.Enforceable(r)
}

// DescribeMissing says, for people, what of [Machine.Enforced] does not hold and why. What
// holds nowhere is not said.
func DescribeMissing(enforced map[string]bool) []string {
	reasons := []struct{ name, sentence string }{
		{EnforcesRead, "code can read whatever you can: this kernel has no Landlock (Linux 5.13 or newer has, where it is switched on)"},
		{EnforcesWrite, "code can change files outside its sandbox: Linux is older than 6.2, or has no Landlock"},
		{EnforcesNetwork, "the network is open: there is no seccomp to close it, or no right to make namespaces"},
		{EnforcesUnixSockets, "code can talk to programs that listen on Unix sockets, as Docker does: Landlock is older than version 9; --network off prevents it"},
		{EnforcesSignals, "code can signal your other processes: Linux is older than 6.12, or has no Landlock or no seccomp"},
		{EnforcesEnvironment, "code can read the server's environment, keys included: this kernel has no Landlock"},
		{EnforcesSharedMemory, "sandboxes share /dev/shm: there is no right to make namespaces"},
		{EnforcesProcesses, "the number of processes is not limited: there is no pids cgroup that we may write, and root is exempt from other limits"},
	}
	var missing []string
	for _, reason := range reasons {
		if held, asked := enforced[reason.name]; asked && !held {
			missing = append(missing, reason.sentence)
		}
	}
	return missing
}
