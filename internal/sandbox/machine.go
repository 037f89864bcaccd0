package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Machine is what a machine can enforce for this process. The zero Machine can
// enforce limits and nothing else.
type Machine struct {
	LandlockVersion   int  // version of its interface; 0: there is none
	Seccomp           bool // system calls can be refused
	MountNamespaces   bool // a process can have mounts of its own
	NetworkNamespaces bool // a process can have a network of its own
	PidsCgroups       bool // [NewPidsLimit] works
	IsRoot            bool // we are root, whom RLIMIT_NPROC does not bind

	users        bool // only in a namespace of users of its own can it have the others
	capabilities int  // how many there are
	bounding     bool // they can be taken out of the bounding set
}

// ProbeMachine finds out what this machine can enforce, by trying it. door is the
// command that calls [Exec] with the arguments that follow it; see [Plan.Command].
// It takes the time of one start of it, or of a few where something is missing.
func ProbeMachine(ctx context.Context, door []string) Machine {
	m := Machine{Seccomp: true, MountNamespaces: true, NetworkNamespaces: true, IsRoot: os.Geteuid() == 0}
	m.capabilities, m.bounding = capabilities(), mayDrop()
	if version, err := ll.LandlockGetABIVersion(); err == nil {
		m.LandlockVersion = version
	}
	if pids, err := NewPidsLimit(1, ""); err == nil {
		m.PidsCgroups = pids.Remove() == nil
	}
	if m.holds(ctx, door) {
		return m
	}
	return m.less(ctx, door)
}

// less finds out what of the machine can be had, each for itself.
func (m Machine) less(ctx context.Context, door []string) Machine {
	none := m
	none.LandlockVersion, none.Seccomp, none.MountNamespaces, none.NetworkNamespaces = 0, false, false, false
	with := func(change func(*Machine)) bool {
		alone := none
		change(&alone)
		return alone.holds(ctx, door)
	}
	m.Seccomp = with(func(m *Machine) { m.Seccomp = true })
	if !with(func(n *Machine) { n.LandlockVersion = m.LandlockVersion }) {
		m.LandlockVersion = 0
	}
	for _, users := range []bool{false, true} {
		m.users = users
		m.MountNamespaces = with(func(m *Machine) { m.MountNamespaces, m.users = true, users })
		m.NetworkNamespaces = with(func(m *Machine) { m.NetworkNamespaces, m.users = true, users })
		if m.MountNamespaces || m.NetworkNamespaces {
			break
		}
	}
	m.users = m.users && (m.MountNamespaces || m.NetworkNamespaces)
	return m
}

// holds tells whether the door can carry out a plan that uses all that the
// machine has.
func (m Machine) holds(ctx context.Context, door []string) bool {
	plan, err := m.Plan(Rules{Workdir: "/", Network: NetworkLoopback})
	if err != nil {
		return false
	}
	argv, err := plan.LauncherCommand(door, nil)
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	plan.SetProcAttr(cmd.SysProcAttr)
	return cmd.Run() == nil
}

// capabilities is how many capabilities this kernel has.
func capabilities() int {
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

// mayDrop tells whether this process may take capabilities out of its bounding
// set, which takes one.
func mayDrop() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	err := unix.Capget(&header, &has[0])
	return err == nil && has[0].Effective&(1<<unix.CAP_SETPCAP) != 0
}
