package peers_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/peers"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

func TestMain(m *testing.M) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{"dial": dialAndWait, "daemon": startDaemon, "daemon and wait": startDaemonAndWait, "launch": subprocesstest.RunSandboxLauncher})
}

// dialAndWait connects to an address, given by network and address, and waits until the
// connection is closed. Further arguments are ignored.
func dialAndWait(args []string) int {
	conn, err := net.Dial(args[0], args[1])
	if err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, conn)
	return 0
}

// startDaemon starts dialAndWait with the same arguments in a new session, and exits.
func startDaemon(args []string) int {
	cmd := exec.Command(os.Args[0], append([]string{"dial"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() != nil {
		return 1
	}
	return 0
}

// startDaemonAndWait starts a process that is no descendant of this one any more and that plays
// dialAndWait. It then waits to be killed.
func startDaemonAndWait(args []string) int {
	if exec.Command(os.Args[0], append([]string{"daemon"}, args...)...).Run() != nil {
		return 1
	}
	select {}
}

// listen listens on a network, and returns the address to dial.
func listen(t *testing.T, network, address string) (net.Listener, string) {
	t.Helper()
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), network, address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() }) // an HTTP server may have closed it
	return ln, ln.Addr().String()
}

// acceptPeer accepts a connection and returns its peer.
func acceptPeer(t *testing.T, guard *peers.Guard, ln net.Listener) peers.Peer {
	t.Helper()
	conn, err := ln.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	peer, err := guard.PeerOf(conn)
	require.NoError(t, err)
	return peer
}

func always() bool { return true }
func never() bool  { return false }

type network struct{ network, address string }

// allNetworks returns what a server may listen on.
func allNetworks() []network {
	return []network{{"unix", ""}, {"tcp4", "127.0.0.1:0"}, {"tcp6", "[::1]:0"}, {"tcp", ":0"}}
}

// A process that the server starts is a child, whether it has a cgroup or not, and also over an
// IPv6 socket with an IPv4 address.
func TestPeerThatTheServerHasStartedIsAChild(t *testing.T) {
	t.Parallel()
	for _, n := range allNetworks() {
		ln, address := listen(t, n.network, n.address)
		for _, role := range []string{"dial", "daemon and wait"} {
			sup := newSupervisor(t)
			process, err := sup.Start(subprocess.Spec{Name: "child", Argv: []string{os.Args[0], role, n.network, address}, Dir: t.TempDir(), Env: os.Environ()})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, process.Stop(t.Context())) })
			if !process.Enforced()[subprocess.EnforcesCgroupKill] && role != "dial" {
				t.Log("NOT TESTED: this machine has no cgroups to find daemons by")
				continue
			}
			peer := acceptPeer(t, sup.Guard(), ln)
			require.Equal(t, peers.Child, peer.Relation, "%s %s %s", n.network, role, peer)
		}

		cmd := exec.CommandContext(t.Context(), os.Args[0], "dial", n.network, address)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Wait() })
		peer := acceptPeer(t, peers.ForServer(always), ln)
		require.Equal(t, peers.Child, peer.Relation, "%s without a cgroup: %s", n.network, peer)
		require.Equal(t, cmd.Process.Pid, peer.PID)
	}
}

// So is one that has left its parents, without a cgroup, if its sandbox has a PID namespace.
func TestPeerInPIDNamespaceIsAChild(t *testing.T) {
	t.Parallel()
	for _, n := range allNetworks() {
		ln, address := listen(t, n.network, n.address)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "daemon and wait", n.network, address)
		plan := sandbox.Plan{Namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWUSER, PIDNamespace: true}
		namespace, err := plan.Start(cmd, []string{os.Args[0], "launch"})
		require.NoError(t, err)
		if namespace == nil {
			require.Error(t, cmd.Wait())
			t.Skip("no PID namespace can be made here")
		}
		require.NoError(t, cmd.Wait())
		peer := acceptPeer(t, peers.ForServer(always), ln)
		require.Equal(t, peers.Child, peer.Relation, "%s %s", n.network, peer)
		namespace.Kill()
		_, err = syscall.Wait4(namespace.ProcessID, nil, 0, nil)
		require.NoError(t, err)
		require.NoError(t, namespace.Remove())
	}
}

func TestPeerThatNoServerHasStartedIsOutside(t *testing.T) {
	t.Parallel()
	withoutSearch := peers.ForServer(never)
	for _, n := range allNetworks() {
		ln, address := listen(t, n.network, n.address)
		for range 3 { // the third finds the cgroup that the second has found
			require.NoError(t, exec.CommandContext(t.Context(), os.Args[0], "daemon", n.network, address).Run())
		}
		peer := acceptPeer(t, peers.ForServer(always), ln)
		require.Equal(t, peers.Outside, peer.Relation, "%s %s", n.network, peer)
		for range 2 {
			require.Equal(t, peers.Outside, acceptPeer(t, withoutSearch, ln).Relation)
		}

		conn, err := net.Dial(n.network, address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.Equal(t, peers.Outside, acceptPeer(t, peers.ForServer(always), ln).Relation, "the server itself")
	}
}

// A child's own listener tells the processes that the child has started from those of others.
func TestPeerThatAChildHasStartedIsOwn(t *testing.T) {
	t.Parallel()
	ln, address := listen(t, "unix", "")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "dial", "unix", address)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	require.Equal(t, peers.Own, acceptPeer(t, peers.ForChild(), ln).Relation)
}

// Where sock_diag is not offered, /proc/net tells the same inode.
func TestProcNetAgreesWithSockDiag(t *testing.T) {
	t.Parallel()
	for _, n := range allNetworks()[1:] {
		ln, address := listen(t, n.network, n.address)
		conn, err := net.Dial(n.network, address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		accepted, err := ln.Accept()
		require.NoError(t, err)
		t.Cleanup(func() { _ = accepted.Close() })
		local, remote := unmapped(conn.LocalAddr()), unmapped(conn.RemoteAddr())
		asked, read, err := peers.InodesOf(local, remote)
		require.NoError(t, err)
		require.Equal(t, asked, read)
		require.NotZero(t, read)
		_, _, err = peers.InodesOf(remote, netip.AddrPortFrom(local.Addr(), 1))
		require.Error(t, err, "there is no such connection")
	}
}

func unmapped(addr net.Addr) netip.AddrPort {
	at := netip.MustParseAddrPort(addr.String())
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// A peer that has gone cannot be told from a child, and is an error.
func TestPeerThatHasGoneIsAnError(t *testing.T) {
	t.Parallel()
	for _, n := range allNetworks()[:2] {
		ln, address := listen(t, n.network, n.address)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "dial", n.network, address)
		require.NoError(t, cmd.Start())
		conn, err := ln.Accept()
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		_, err = peers.ForServer(always).PeerOf(conn)
		require.ErrorIs(t, err, peers.ErrGone, n.network)
		require.NoError(t, conn.Close())
	}
}

// An HTTP server behind a Listener answers only admitted peers.
func TestListenerRefusesPeers(t *testing.T) {
	t.Parallel()
	inner, address := listen(t, "tcp", "127.0.0.1:0")
	refused := make(chan peers.Peer, 1)
	ln := peers.ForServer(always).Listen(inner, func(p peers.Peer, _ error) { refused <- p })
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, strconv.Itoa(os.Getpid())) })}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ln) }()

	response, err := http.Get("http://" + address)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, strconv.Itoa(os.Getpid()), string(body))

	output, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read())", "http://"+address).CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, "RemoteDisconnected|Connection reset", string(output))
	require.Equal(t, peers.Child, (<-refused).Relation)

	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-done, http.ErrServerClosed)
}

func newSupervisor(t *testing.T) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}
