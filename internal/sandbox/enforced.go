package sandbox

// What a fence can hold, the keys of [Machine.Enforced].
const (
	HoldsRead         = "read"          // files outside cannot be read
	HoldsWrite        = "write"         // nor changed, made or removed
	HoldsAttributes   = "attributes"    // nor given other modes, owners or times
	HoldsNetwork      = "network"       // the network is as the rules say
	HoldsUnixSockets  = "unix_sockets"  // programs outside that listen on a Unix socket cannot be reached
	HoldsSignals      = "signals"       // processes outside cannot be signalled, limited or slowed down
	HoldsCapabilities = "capabilities"  // there are no capabilities, and no way to any
	HoldsEnvironment  = "environment"   // environment and memory of processes outside cannot be read
	HoldsSharedMemory = "shared_memory" // /dev/shm is the sandbox's own
	HoldsMemory       = "memory"        // the limits of the rules, as far as there are any
	HoldsProcesses    = "processes"
	HoldsOpenFiles    = "open_files"
	HoldsFileSize     = "file_size"
)

// Enforced tells which promises hold on this machine for a process behind these
// rules. A limit that the rules do not set is not among them.
func (m Machine) Enforced(r Rules) map[string]bool {
	m = m.under(r)
	reachable := r.Network != NetworkOff || r.UnixSockets
	held := map[string]bool{
		HoldsRead:         m.Landlock >= 1,
		HoldsWrite:        m.Landlock >= 3, // before, a file could be truncated
		HoldsAttributes:   false,           // nothing in Linux can
		HoldsNetwork:      true,
		HoldsUnixSockets:  !reachable && m.Seccomp || m.Landlock >= 9,
		HoldsSignals:      m.Landlock >= 6 && m.Seccomp,
		HoldsCapabilities: true,
		HoldsEnvironment:  m.Landlock >= 1 || m.Root && m.bounding, // root with capabilities is safe from root without
		HoldsSharedMemory: m.Mounts,
	}
	switch r.Network {
	case NetworkOff:
		held[HoldsNetwork] = m.Seccomp
	case NetworkLoopback:
		held[HoldsNetwork] = m.Networks
	default: // nothing was promised
	}
	limits := map[string]bool{
		HoldsMemory: r.Memory > 0, HoldsProcesses: r.Processes > 0,
		HoldsOpenFiles: r.OpenFiles > 0, HoldsFileSize: r.FileSize > 0,
	}
	for name, set := range limits {
		if set {
			held[name] = name != HoldsProcesses || m.Pids || !m.Root
		}
	}
	return held
}

// Missing says, for people, what of [Machine.Enforced] does not hold and why. What
// holds nowhere is not said.
func Missing(enforced map[string]bool) []string {
	reasons := []struct{ name, sentence string }{
		{HoldsRead, "code can read whatever you can: this kernel has no Landlock (Linux 5.13 or newer has, where it is switched on)"},
		{HoldsWrite, "code can change files outside its sandbox: Linux is older than 6.2, or has no Landlock"},
		{HoldsNetwork, "the network is open: there is no seccomp to close it, or no right to make namespaces"},
		{HoldsUnixSockets, "code can talk to programs that listen on Unix sockets, as Docker does: Landlock is older than version 9; --network off prevents it"},
		{HoldsSignals, "code can signal your other processes: Linux is older than 6.12, or has no Landlock or no seccomp"},
		{HoldsEnvironment, "code can read the server's environment, keys included: this kernel has no Landlock"},
		{HoldsSharedMemory, "sandboxes share /dev/shm: there is no right to make namespaces"},
		{HoldsProcesses, "the number of processes is not limited: there is no pids cgroup that we may write, and root is exempt from other limits"},
	}
	var missing []string
	for _, reason := range reasons {
		if held, asked := enforced[reason.name]; asked && !held {
			missing = append(missing, reason.sentence)
		}
	}
	return missing
}
