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
	Landlock int  // version of its interface; 0: there is none
	Seccomp  bool // system calls can be refused
	Mounts   bool // a process can have mounts of its own
	Networks bool // a process can have a network of its own
	Pids     bool // [NewPids] works
	Root     bool // we are root, whom RLIMIT_NPROC does not bind

	users        bool // only in a namespace of users of its own can it have the others
	capabilities int  // how many there are
	bounding     bool // they can be taken out of the bounding set
}

// Probe finds out what this machine can enforce, by trying it. door is the
// command that calls [Exec] with the arguments that follow it; see [Plan.Command].
// It takes the time of one start of it, or of a few where something is missing.
func Probe(ctx context.Context, door []string) Machine {
	m := Machine{Seccomp: true, Mounts: true, Networks: true, Root: os.Geteuid() == 0}
	m.capabilities, m.bounding = capabilities(), mayDrop()
	if version, err := ll.LandlockGetABIVersion(); err == nil {
		m.Landlock = version
	}
	if pids, err := NewPids(1, ""); err == nil {
		m.Pids = pids.Remove() == nil
	}
	if m.holds(ctx, door) {
		return m
	}
	return m.less(ctx, door)
}

// less finds out what of the machine can be had, each for itself.
func (m Machine) less(ctx context.Context, door []string) Machine {
	none := m
	none.Landlock, none.Seccomp, none.Mounts, none.Networks = 0, false, false, false
	with := func(change func(*Machine)) bool {
		alone := none
		change(&alone)
		return alone.holds(ctx, door)
	}
	m.Seccomp = with(func(m *Machine) { m.Seccomp = true })
	if !with(func(n *Machine) { n.Landlock = m.Landlock }) {
		m.Landlock = 0
	}
	for _, users := range []bool{false, true} {
		m.users = users
		m.Mounts = with(func(m *Machine) { m.Mounts, m.users = true, users })
		m.Networks = with(func(m *Machine) { m.Networks, m.users = true, users })
		if m.Mounts || m.Networks {
			break
		}
	}
	m.users = m.users && (m.Mounts || m.Networks)
	return m
}

// holds tells whether the door can carry out a plan that uses all that the
// machine has.
func (m Machine) holds(ctx context.Context, door []string) bool {
	plan, err := m.Plan(Rules{Root: "/", Network: NetworkLoopback})
	if err != nil {
		return false
	}
	argv, err := plan.Command(door, nil)
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	plan.Prepare(cmd.SysProcAttr)
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
