package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Plan lists the steps of a launcher, in the order of its fields, that enforce sandbox
// rules on a machine. Both launchers read it as JSON, so the Python kernel's sandbox
// module must know the same field names. The zero Plan only drops all capabilities and
// the ways to gain new ones.
type Plan struct {
	// Namespaces are flags of unshare(2). If a user namespace is among them, which gives
	// the right to make the others, the process that calls [Exec] must be started in
	// them: see [Plan.SetProcAttr].
	Namespaces    uint32   `json:"namespaces"`
	WritablePaths []string `json:"writable"` // if there are some, everything else is read-only in the mount namespace
	Mounts        []Mount  `json:"mounts"`   // made in the mount namespace
	RaiseLoopback bool     `json:"loopback"` // bring up the loopback interface of the network namespace

	Listener *Listener `json:"listener"` // opened in the network namespace; nil: none. Only [Exec] can do that

	// PIDNamespace says that [Plan.Start] puts the program into a PID namespace, with a /proc that shows only its
	// processes. Other ways of starting a program do not.
	PIDNamespace bool `json:"-"`

	// PIDControl is set by [Plan.Start] for a PID namespace: the launcher's descriptor of the control socket. The next
	// one is that of the report. 0: no PID namespace.
	PIDControl int `json:"pid_control"`

	Landlock *LandlockRules `json:"landlock"` // nil: no Landlock

	// DroppedCapabilities is how many capabilities, counted from number 0, are dropped
	// from the bounding set. From the other sets all are dropped in any case.
	DroppedCapabilities int `json:"bounding"`

	// SeccompFilter is a seccomp program of 8 bytes for each instruction. Empty: none.
	SeccompFilter []byte   `json:"filter"`
	Rlimits       []Rlimit `json:"limits"`

	// Enforces is what [Machine.Enforceable] promises, without what only a cgroup can
	// enforce. All of it holds for a process that has been started with the plan.
	Enforces map[string]bool `json:"-"`
}

// Mount is a file system that is mounted for one sandbox only.
type Mount struct {
	Source   string   `json:"source"` // file that appears at Target; empty: a new file system of Type
	Type     string   `json:"type"`
	Target   string   `json:"target"`
	Options  string   `json:"data"`
	ReadOnly bool     `json:"read_only"`
	Kept     []string `json:"kept"` // paths below Target that appear in the new file system
}

// Rlimit is a resource of setrlimit(2) and its new soft and hard limit. A hard limit
// that is already lower stays.
type Rlimit struct {
	Resource int    `json:"resource"`
	Value    uint64 `json:"value"`
}

// Plan decides how this machine enforces the rules, leaving out what it cannot enforce.
// It looks up the files that the rules name. It returns an error for a path that is not
// absolute, a Workdir that does not exist, an unknown network or a negative limit.
func (m Machine) Plan(r Rules) (Plan, error) {
	if err := r.validate(); err != nil {
		return Plan{}, err
	}
	r.Network = r.EffectiveNetwork()
	m = m.withoutConflictingMounts(r)
	p := Plan{Rlimits: m.rlimits(r), Enforces: m.enforcedByPlan(r)}
	if m.canDropBounding {
		p.DroppedCapabilities = m.capabilityCount
	}
	if m.Seccomp {
		p.SeccompFilter = buildSeccompFilter(r, m.HasPrivateNetwork(r))
	}
	if m.MountNamespaces {
		p.Namespaces |= unix.CLONE_NEWNS
		p.Mounts = m.newPrivateMounts(r)
	}
	if m.MountNamespaces && m.ReadOnlyMounts {
		p.WritablePaths = append(slices.DeleteFunc(slices.Clone(r.WritePaths), isMissing), r.Workdir)
	}
	if m.HasPrivateNetwork(r) {
		p.Namespaces |= unix.CLONE_NEWNET
		p.RaiseLoopback = true
		if r.ListenerPort != 0 {
			p.Listener = &Listener{Port: r.ListenerPort}
		}
	}
	p.PIDNamespace = m.PIDNamespaces && m.MountNamespaces && m.needsUserNamespace
	if m.needsUserNamespace && p.Namespaces != 0 {
		p.Namespaces |= unix.CLONE_NEWUSER
		p.DroppedCapabilities = m.capabilityCount
	}
	if m.LandlockVersion == 0 {
		return p, nil
	}
	rules, err := m.landlockRules(r)
	p.Landlock = rules
	return p, err
}

// HasPrivateNetwork reports whether a sandbox with these rules gets a network in which only its processes are.
func (m Machine) HasPrivateNetwork(r Rules) bool {
	network := r.EffectiveNetwork()
	return m.NetworkNamespaces && (network == NetworkLoopback || network == NetworkOff && r.ListenerPort != 0)
}

// sharedMemoryDir is the folder in which Linux keeps named shared memory and
// semaphores.
const sharedMemoryDir = "/dev/shm"

// withoutConflictingMounts returns the machine, without MountNamespaces if a path of
// the rules is in the shared memory folder: the sandbox's own mount would hide that
// path.
func (m Machine) withoutConflictingMounts(r Rules) Machine {
	for _, path := range slices.Concat([]string{r.Workdir}, r.ReadPaths, r.WritePaths) {
		if strings.HasPrefix(filepath.Clean(path)+"/", sharedMemoryDir+"/") {
			m.MountNamespaces = false
		}
	}
	return m
}

// isMissing reports whether nothing is at a path, or it cannot be looked at.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}

// isFolder reports whether a path is a folder other than the root, under which all is that a program needs.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && filepath.Clean(path) != "/"
}

// newPrivateMounts returns mounts that give a sandbox shared memory and pseudo
// terminals that no other process sees and, if HiddenProcesses, a list of processes that has only
// those that the sandbox's may trace, which are its own. The shared memory is freed with the
// sandbox's last process, and may be as large as MaxMemoryBytes of the rules. Files that show what the
// whole machine does are empty. In SharedFolders of the rules there is only what the rules name.
func (m Machine) newPrivateMounts(r Rules) []Mount {
	size := ""
	if r.MaxMemoryBytes > 0 {
		size = fmt.Sprintf(",size=%d", r.MaxMemoryBytes)
	}
	var mounts []Mount
	for _, folder := range slices.SortedFunc(slices.Values(r.SharedFolders), func(a, b string) int { return len(a) - len(b) }) {
		isHidden := slices.ContainsFunc(mounts, func(m Mount) bool { return IsWithin(folder, m.Target) })
		if kept, isAll := r.pathsBelow(folder); !isHidden && !isAll && isFolder(folder) {
			mounts = append(mounts, Mount{Type: "tmpfs", Target: folder, Options: "mode=0711,size=64k", ReadOnly: true, Kept: kept})
		}
	}
	mounts = append(mounts,
		Mount{Type: "tmpfs", Target: sharedMemoryDir, Options: "mode=1777" + size},
		Mount{Type: "devpts", Target: "/dev/pts", Options: "newinstance,ptmxmode=0666,mode=0620"},
	)
	if m.HiddenProcesses {
		mounts = append(mounts, Mount{Type: "proc", Target: "/proc", Options: hiddenProcOptions, ReadOnly: true})
	}
	for _, name := range machineWideFiles() {
		if path := filepath.Join("/proc", name); !isMissing(path) {
			mounts = append(mounts, Mount{Source: os.DevNull, Target: path})
		}
	}
	return mounts
}

// How a /proc of a sandbox is mounted that shows only processes that it may trace.
const (
	hiddenProcOptions = "hidepid=ptraceable"
	hiddenProcFlags   = readOnlyFileFlags | unix.MS_NOSUID
	readOnlyFileFlags = unix.MS_RDONLY | unix.MS_NODEV | unix.MS_NOEXEC
)

// pathsBelow returns the existing paths of the rules that are below a folder; isAll is true if the folder itself is one.
func (r Rules) pathsBelow(folder string) (paths []string, isAll bool) {
	for _, path := range slices.Concat([]string{r.Workdir}, r.ReadPaths, r.WritePaths, r.VisiblePaths) {
		switch {
		case filepath.Clean(path) == filepath.Clean(folder):
			return nil, true
		case IsWithin(path, folder) && !isMissing(path):
			paths = append(paths, path)
		}
	}
	slices.Sort(paths) // folders before what is in them
	return slices.Compact(paths), false
}

// machineWideFiles returns the names of files in /proc that show what other processes do: of each file, lock,
// timer, key or page of memory, or in numbers that code can change at will. Programs in a sandbox could pass data to each other by them.
func machineWideFiles() []string {
	return []string{
		"allocinfo", "buddyinfo", "diskstats", "interrupts", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats",
		"locks", "pagetypeinfo", "sched_debug", "schedstat", "slabinfo", "softirqs", "timer_list", "vmallocinfo", "vmstat", "zoneinfo",
	}
}

func (m Machine) rlimits(r Rules) []Rlimit {
	var all []Rlimit
	add := func(resource int, value int64) {
		if value > 0 {
			all = append(all, Rlimit{Resource: resource, Value: uint64(value)})
		}
	}
	add(unix.RLIMIT_DATA, r.MaxMemoryBytes)
	add(unix.RLIMIT_NOFILE, int64(r.MaxOpenFiles))
	add(unix.RLIMIT_FSIZE, r.MaxFileBytes)
	if r.MaxProcesses > 0 && !m.IsRoot {
		add(unix.RLIMIT_NPROC, int64(r.MaxProcesses)+m.countOtherProcesses())
	}
	return all
}

// countOtherProcesses returns how many processes outside the sandbox count against its
// RLIMIT_NPROC: the first process of a PID namespace in a user namespace; without one, all of the user's, estimated as
// all processes of the system.
func (m Machine) countOtherProcesses() int64 {
	var info unix.Sysinfo_t
	if m.PIDNamespaces && m.needsUserNamespace && m.MountNamespaces {
		return 1
	}
	if m.needsUserNamespace && m.MountNamespaces || unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Procs)
}

// SetProcAttr sets the attributes that a process which calls [Exec] with this plan must
// be started with: a user namespace and its rights, if the plan needs one. It changes
// nothing if the caller is root.
func (p Plan) SetProcAttr(attr *syscall.SysProcAttr) {
	if p.Namespaces&unix.CLONE_NEWUSER == 0 {
		return
	}
	attr.Cloneflags |= uintptr(p.Namespaces)
	uid, gid := syscall.Geteuid(), syscall.Getegid()
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
}

// LauncherCommand returns the command that runs argv in the sandbox: the launcher, which
// is a command that calls [Exec], followed by the plan as JSON, "--" and argv.
func (p Plan) LauncherCommand(launcher, argv []string) ([]string, error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return slices.Concat(launcher, []string{string(plan), "--"}, argv), nil
}
