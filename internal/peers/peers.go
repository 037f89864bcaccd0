// Package peers tells which process is at the other end of a connection within this machine, and
// refuses connections of processes that an Assay server has started itself.
//
// A kernel runs code that the agent wrote. If that code could connect to the server, it could
// read the verdicts of other attempts, act for them, or attach itself as a console. A token does
// not help: it can be read where the server's user can read it. So each listener of Assay is
// guarded by a [Guard].
//
// The kernel of the operating system knows who connects: a Unix socket has the process id of
// its peer (SO_PEERCRED), and a TCP socket on this machine the cgroup in which it was made
// (sock_diag). A child of a server is recognised by its cgroup, whose path has a component
// assay-PID-…, or, where no cgroups can be made, by its ancestors. A process that has detached itself
// from its parents becomes a child of the first process of its sandbox's PID namespace, which the server has
// started; where there is none, it is not recognised.
package peers

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
)

// ErrGone is the error for a peer that has closed its socket or has ended, so that nobody is left to
// answer.
var ErrGone = errors.New("the peer has gone")

// Relation says what a peer is to this process. A larger one is nearer to being refused.
type Relation int

const (
	// Outside is a process that no Assay server has started, on this machine or another.
	Outside Relation = iota

	// Own is this process, or one that it has started, if it is itself a child of an Assay
	// server: an agent and its commands.
	Own

	// Child is a process that an Assay server has started, other than Own.
	Child
)

// Peer is the process at the other end of a connection.
type Peer struct {
	Relation Relation
	PID      int    // process id; 0 if it is not known
	Cgroup   string // path of its cgroup (version 2), such as "/assay-17-x/3"; empty if it is not known
}

// String describes a peer for a log.
func (p Peer) String() string {
	text := "a process"
	if p.PID != 0 {
		text = fmt.Sprintf("process %d", p.PID)
	}
	if p.Cgroup != "" {
		text += " in the cgroup " + p.Cgroup
	}
	return text
}

// IsWithin reports whether the peer is in the cgroup with this folder, or is the process with this
// id or one that it has started. An empty folder stands for no cgroup.
func (p Peer) IsWithin(cgroupDir string, pid int) bool {
	if child := childCgroup(p.Cgroup); child != "" {
		return strings.HasSuffix(cgroupDir, child)
	}
	for at := p.PID; at > 1; {
		if at == pid {
			return true
		}
		parent, err := parentOf(at)
		if err != nil {
			return false
		}
		at = parent
	}
	return false
}

// Guard finds the peers of connections that this process has accepted. It is safe for concurrent
// use.
type Guard struct {
	server         int         // process id of the Assay server whose children are recognised by their ancestors
	hasUncontained func() bool // whether this server has started a child without a cgroup

	// cgroupPaths holds the path (string) of each cgroup (version 2) of a peer by its id (uint64).
	// The system gives no id twice and renames no cgroup.
	cgroupPaths sync.Map
}

// ForServer returns the Guard of a process that starts kernels and agents. hasUncontained reports
// whether one of them was started without a cgroup. Until then, the owner of a TCP socket whose
// cgroup is known is not searched among all processes of the machine, which takes milliseconds.
func ForServer(hasUncontained func() bool) *Guard {
	return &Guard{server: os.Getpid(), hasUncontained: hasUncontained}
}

// ForChild returns the Guard of a process that such a server has started.
func ForChild() *Guard {
	return &Guard{server: os.Getppid(), hasUncontained: func() bool { return true }}
}

// PeerOf returns the peer of a TCP or Unix connection. It fails with ErrGone, and with another error
// if the peer, on this machine, cannot be found; such a connection should be refused.
func (g *Guard) PeerOf(conn net.Conn) (Peer, error) {
	switch conn := conn.(type) {
	case *net.UnixConn:
		pid, err := unixPeerPID(conn)
		if err != nil {
			return Peer{}, err
		}
		return g.peerOfProcess(pid)
	case *net.TCPConn:
		return g.peerOfTCP(conn)
	default:
		return Peer{}, fmt.Errorf("find the peer of a %T: want a TCP or a Unix connection", conn)
	}
}

// peerOfProcess returns the peer that is the process with this id.
func (g *Guard) peerOfProcess(pid int) (Peer, error) {
	if pid == 0 {
		return Peer{}, errors.New("the peer is in a PID namespace that this process cannot see")
	}
	cgroup, err := cgroupOfProcess(pid)
	if err != nil {
		return Peer{}, ErrGone
	}
	return g.withRelation(Peer{PID: pid, Cgroup: cgroup})
}

// peerOfTCP returns the peer of a TCP connection. A peer on another machine is Outside.
func (g *Guard) peerOfTCP(conn *net.TCPConn) (Peer, error) {
	local, remote := addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr())
	isHere, err := isAddressOfMachine(remote.Addr())
	if err != nil || !isHere {
		return Peer{}, err
	}
	socket, err := findTCPSocket(remote, local)
	if err != nil {
		return Peer{}, fmt.Errorf("find the peer %s: %w", remote, err)
	}
	p := Peer{Cgroup: g.pathOfCgroup(socket.cgroupID)}
	if p.Cgroup == "" || g.hasUncontained() && relationByCgroup(p.Cgroup) != Child {
		if p.PID, err = g.findOwnerAmongChildren(socket.inode); err != nil {
			return Peer{}, err
		}
	}
	return g.withRelation(p)
}

// withRelation returns a peer with its Relation, according to its cgroup and, unless its PID is 0,
// its ancestors.
func (g *Guard) withRelation(p Peer) (Peer, error) {
	p.Relation = relationByCgroup(p.Cgroup)
	if p.Relation == Child || p.PID == 0 {
		return p, nil
	}
	byAncestors, err := g.relationByAncestors(p.PID, parentOf)
	if err != nil {
		return Peer{}, err
	}
	p.Relation = max(p.Relation, byAncestors)
	return p, nil
}

// relationByCgroup returns what a process in a cgroup is to this process. The result is Outside
// also if the process is a child that has no separate cgroup.
func relationByCgroup(path string) Relation {
	child := childCgroup(path)
	if child == "" {
		return Outside
	}
	if own, err := cgroupOfProcess(os.Getpid()); err == nil && childCgroup(own) == child {
		return Own
	}
	return Child
}

// childCgroup returns the part of a cgroup's path that ends with the cgroup of one child of an
// Assay server, such as "/user/assay-17-4/3" of "/user/assay-17-4/3/below", or "" if the cgroup
// is not of a child. For a server within a child of another one it is that of the inner child.
func childCgroup(path string) string {
	components := strings.Split(path, "/")
	for i := len(components) - 2; i >= 0; i-- {
		if isServerCgroupName(components[i]) {
			return strings.Join(components[:i+2], "/")
		}
	}
	return ""
}

// isServerCgroupName reports whether a folder has a name that Assay gives to the cgroup of a
// server, which has one cgroup for each child in it: "assay-", the server's process id, "-" and a
// random number.
func isServerCgroupName(name string) bool {
	rest, ok := strings.CutPrefix(name, "assay-")
	pid, random, isComplete := strings.Cut(rest, "-")
	return ok && isComplete && isNumber(pid) && isNumber(random)
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// addrPort returns the address of a TCP connection. IPv4 addresses that are written as IPv6 are
// returned as IPv4.
func addrPort(addr net.Addr) netip.AddrPort {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}

// isAddressOfMachine reports whether an IP address belongs to this machine's network namespace,
// so that a connection from it comes from a process here.
func isAddressOfMachine(ip netip.Addr) (bool, error) {
	if ip.IsLoopback() {
		return true, nil
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	for _, addr := range own {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil && prefix.Addr().Unmap() == ip {
			return true, nil
		}
	}
	return false, nil
}
