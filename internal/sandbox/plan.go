package sandbox

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Plan is what a door has to do, in this order, for rules on a machine. Its JSON
// is what both doors read. The zero Plan only takes the capabilities and the way
// to new ones.
type Plan struct {
	// Namespaces are the process's own, flags of unshare(2). With the one of
	// users, which gives the right to the others, [Exec] has to be started in
	// them: see [Plan.Prepare].
	Namespaces    uint32  `json:"namespaces"`
	Mounts        []Mount `json:"mounts"` // made in the mount namespace, which tells nobody of them
	RaiseLoopback bool    `json:"loopback"`

	Landlock *LandlockRules `json:"landlock"`

	// Bounding is how many capabilities leave the bounding set. All others are
	// given up in any case.
	DroppedCapabilities int `json:"bounding"`

	// Filter is a seccomp program of 8 bytes an instruction; empty: none.
	SeccompFilter []byte   `json:"filter"`
	Rlimits       []Rlimit `json:"limits"`

	// Enforces is what [Machine.Enforceable] promises, as far as it is the plan that
	// keeps it: EnforcesProcesses is true only if a resource limit binds the user. A
	// process that runs behind the plan has all of it, since a step that fails is an
	// error.
	Enforces map[string]bool `json:"-"`
}

// Mount is a file system made for the fenced process.
type Mount struct {
	Type   string `json:"type"`
	Target string `json:"target"`
	Data   string `json:"data"`
}

// Rlimit is the most that a resource of setrlimit(2) may be raised to. A hard
// limit that is lower stays.
type Rlimit struct {
	Resource int    `json:"resource"`
	Value    uint64 `json:"value"`
}

// Plan decides how the rules are to be kept here, as far as they can be. It
// looks at the files that are named. The error is about the rules.
func (m Machine) Plan(r Rules) (Plan, error) {
	if err := r.validate(); err != nil {
		return Plan{}, err
	}
	m = m.under(r)
	p := Plan{Rlimits: m.limits(r), Enforces: m.enforcedByPlan(r)}
	if m.bounding {
		p.DroppedCapabilities = m.capabilities
	}
	if m.Seccomp {
		p.SeccompFilter = filter(r)
	}
	if m.MountNamespaces {
		p.Namespaces |= unix.CLONE_NEWNS
		p.Mounts = mounts(r)
	}
	if m.NetworkNamespaces && r.Network == NetworkLoopback {
		p.Namespaces |= unix.CLONE_NEWNET
		p.RaiseLoopback = true
	}
	if m.users && p.Namespaces != 0 {
		p.Namespaces |= unix.CLONE_NEWUSER
		p.DroppedCapabilities = m.capabilities
	}
	if m.LandlockVersion == 0 {
		return p, nil
	}
	rules, err := m.ruleset(r)
	p.Landlock = rules
	return p, err
}

// sharedMemory is where Linux keeps shared memory and semaphores that have names.
const sharedMemory = "/dev/shm"

// under is the machine without what these rules make impossible: nothing is
// mounted over what they name.
func (m Machine) under(r Rules) Machine {
	for _, path := range slices.Concat([]string{r.Workdir}, r.ReadPaths, r.WritePaths) {
		if strings.HasPrefix(filepath.Clean(path)+"/", sharedMemory+"/") {
			m.MountNamespaces = false
		}
	}
	return m
}

// mounts are shared memory and pseudo terminals of the process's own. The memory
// of one sandbox goes with its last process, and has the size of a process's.
func mounts(r Rules) []Mount {
	size := ""
	if r.MaxMemoryBytes > 0 {
		size = fmt.Sprintf(",size=%d", r.MaxMemoryBytes)
	}
	return []Mount{
		{Type: "tmpfs", Target: sharedMemory, Data: "mode=1777" + size},
		{Type: "devpts", Target: "/dev/pts", Data: "newinstance,ptmxmode=0666,mode=0620"},
	}
}

func (m Machine) limits(r Rules) []Rlimit {
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
		add(unix.RLIMIT_NPROC, int64(r.MaxProcesses)+m.others())
	}
	return all
}

// others is how many processes count against the limit beside the fenced ones:
// in a namespace of users none. Else all of the user's, of whom the system has
// at most as many as it has processes.
func (m Machine) others() int64 {
	var info unix.Sysinfo_t
	if m.users && m.MountNamespaces || unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Procs)
}

// SetProcAttr sets what a process that is to call [Exec] with this plan has to be
// started with. That is something only where the caller is not root.
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

// LauncherCommand returns the command that runs argv behind the fence: door, which calls
// [Exec], with the plan and argv.
func (p Plan) LauncherCommand(door, argv []string) ([]string, error) {
	plan, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append(append(append([]string{}, door...), string(plan), "--"), argv...), nil
}
