package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Machine says what this machine can enforce for sandboxed processes of this user. The
// zero Machine can enforce resource limits only.
type Machine struct {
	LandlockVersion   int  // version of Landlock's interface; 0: no Landlock
	Seccomp           bool // system calls can be filtered
	MountNamespaces   bool // a process can have its own mounts
	ReadOnlyMounts    bool // in its own mounts, it can see all others as read-only (Linux 5.12)
	NetworkNamespaces bool // a process can have its own network
	HiddenProcesses   bool // in its own mounts, it can see its own processes only (root, Linux 5.8)
	PIDNamespaces     bool // [Plan.Start] can put a program into a PID namespace (not as root; Linux 5.9)
	PidsCgroups       bool // [NewPidsLimit] works
	MemoryCgroups     bool // [NewMemoryLimit] works
	IsRoot            bool // this user is root; RLIMIT_NPROC does not apply to root

	needsUserNamespace bool // the other namespaces can only be made in a user namespace
	capabilityCount    int  // how many capabilities this Linux has
	canDropBounding    bool // they can be dropped from the bounding set
}

// ProbeMachine finds out what this machine can enforce by trying it. launcher is the
// command that calls [Exec]; see [Plan.LauncherCommand]. It starts the launcher once,
// and a few more times if something does not work. A feature that fails is left out;
// that is no error.
func ProbeMachine(ctx context.Context, launcher []string) Machine {
	m := Machine{Seccomp: true, MountNamespaces: true, ReadOnlyMounts: true, NetworkNamespaces: true, IsRoot: os.Geteuid() == 0, HiddenProcesses: os.Geteuid() == 0}
	m.capabilityCount, m.canDropBounding = countCapabilities(), canDropBoundingSet()
	if version, err := ll.LandlockGetABIVersion(); err == nil {
		m.LandlockVersion = version
	}
	if limit, err := NewPidsLimit(1, ""); err == nil {
		m.PidsCgroups = limit.Remove() == nil
	}
	if limit, err := NewMemoryLimit(1<<30, ""); err == nil {
		m.MemoryCgroups = limit.Remove() == nil
	}
	if m.canLauncherApplyAllFeatures(ctx, launcher) {
		return m
	}
	return m.probeFeaturesSeparately(ctx, launcher)
}

// probeFeaturesSeparately returns the machine with those features that work when each
// is tried alone.
func (m Machine) probeFeaturesSeparately(ctx context.Context, launcher []string) Machine {
	none := m
	none.LandlockVersion, none.Seccomp, none.MountNamespaces, none.ReadOnlyMounts, none.NetworkNamespaces, none.HiddenProcesses = 0, false, false, false, false, false
	works := func(enable func(*Machine)) bool {
		alone := none
		enable(&alone)
		return alone.canLauncherApplyAllFeatures(ctx, launcher)
	}
	m.Seccomp = works(func(m *Machine) { m.Seccomp = true })
	if !works(func(n *Machine) { n.LandlockVersion = m.LandlockVersion }) {
		m.LandlockVersion = 0
	}
	for _, userNamespace := range []bool{false, true} {
		m.needsUserNamespace = userNamespace
		m.MountNamespaces = works(func(m *Machine) { m.MountNamespaces, m.needsUserNamespace = true, userNamespace })
		m.NetworkNamespaces = works(func(m *Machine) { m.NetworkNamespaces, m.needsUserNamespace = true, userNamespace })
		if m.MountNamespaces || m.NetworkNamespaces {
			break
		}
	}
	m.needsUserNamespace = m.needsUserNamespace && (m.MountNamespaces || m.NetworkNamespaces)
	m.ReadOnlyMounts = m.MountNamespaces && works(func(n *Machine) {
		n.MountNamespaces, n.ReadOnlyMounts, n.needsUserNamespace = true, true, m.needsUserNamespace
	})
	m.PIDNamespaces = m.MountNamespaces && m.needsUserNamespace && works(func(n *Machine) {
		n.MountNamespaces, n.PIDNamespaces, n.needsUserNamespace = true, true, true
	})
	m.HiddenProcesses = m.MountNamespaces && m.IsRoot && works(func(n *Machine) {
		n.MountNamespaces, n.HiddenProcesses, n.needsUserNamespace = true, true, m.needsUserNamespace
	})
	return m
}

// canLauncherApplyAllFeatures reports whether the launcher can apply a plan that uses every feature
// the machine is assumed to have.
func (m Machine) canLauncherApplyAllFeatures(ctx context.Context, launcher []string) bool {
	plan, err := m.Plan(Rules{Workdir: "/", Network: NetworkLoopback})
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, "")
	cmd.Args = nil
	namespace, err := plan.Start(cmd, launcher)
	if err != nil {
		return false
	}
	err = cmd.Wait()
	if namespace != nil {
		err = errors.Join(err, namespace.Remove())
	}
	return err == nil && (namespace != nil) == plan.PIDNamespace
}

// countCapabilities returns how many capabilities this Linux has, or 0 if /proc does
// not say.
func countCapabilities() int {
	text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return 0
	}
	last, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return last + 1
}

// canDropBoundingSet reports whether this process may drop capabilities from its
// bounding set, which requires CAP_SETPCAP.
func canDropBoundingSet() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	err := unix.Capget(&header, &has[0])
	return err == nil && has[0].Effective&(1<<unix.CAP_SETPCAP) != 0
}
