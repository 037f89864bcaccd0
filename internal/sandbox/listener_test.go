package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/sandbox"
)

// newSocketpair returns the two ends of a socketpair: one of the server, and one for a launcher.
func newSocketpair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "server")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, nil, err
	}
	socket, _ := conn.(*net.UnixConn) // as every socket of this family is
	return socket, os.NewFile(uintptr(fds[1]), "launcher"), nil
}

// handOver prepares that the launcher of a plan hands over the plan's listener, if it has one. It returns what the launcher must
// inherit, and a function that must be called after the launcher was started: it serves "hello" over HTTP on the
// listener, until end is called.
func handOver(plan *sandbox.Plan) (launcherEnd []*os.File, serve func() (end func() error, err error), err error) {
	if plan.Listener == nil {
		return nil, func() (func() error, error) { return func() error { return nil }, nil }, nil
	}
	conn, theirs, err := newSocketpair()
	if err != nil {
		return nil, nil, err
	}
	plan.Listener.Socket = 3
	return []*os.File{theirs}, func() (func() error, error) {
		_ = theirs.Close()
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(sandboxRequestTimeout)); err != nil {
			return nil, err
		}
		listener, err := sandbox.ReceiveListener(conn)
		if err != nil {
			return func() error { return nil }, nil // the launcher's own error says why
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		})}
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(listener) })
		return func() error {
			defer serving.Wait()
			return server.Close()
		}, nil
	}, nil
}

// A sandbox with NetworkOff and a listener reaches this, and nothing outside. Without namespaces the next test says
// what it reaches.
func TestPrivateListener(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		if mode.python {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode.skipWithoutNetworkNamespaces(t)
			rules := mode.newRules(t)
			rules.Network, rules.ListenerPort = sandbox.NetworkOff, sandbox.PrivateListenerPort
			names, datagrams := listenOutsideSandbox(t, mode), listenForDatagrams(t)
			names["URL"], names["UDP"] = fmt.Sprintf("http://127.0.0.1:%d", sandbox.PrivateListenerPort), portOf(t, datagrams.LocalAddr())
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"the listener": `import urllib.request; assert urllib.request.urlopen(URL).read() == b"hello"`,
				"itself": `
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()`,
				"socketpair": `import socket; a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"`,
				"no descriptor": `
open_now = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")]
assert not [name for name in open_now if name.startswith("socket:")], open_now`,
			}, names)
			reached := map[string]string{
				"another port": `
import socket
try: socket.create_connection(("127.0.0.1", PORT))
except ConnectionRefusedError as error: raise PermissionError(error)`,
				"far away": `
import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 53))
except OSError as error: raise PermissionError(error)`,
				"a datagram": `
import socket
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect(("127.0.0.1", UDP))
sender.send(b"x")
try: sender.recv(1)
except ConnectionRefusedError as error: raise PermissionError(error)`,
				"a datagram pair":      `import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", DATAGRAMS)`,
				"a Unix socket":        `import socket; socket.socket(socket.AF_UNIX).connect(PATH)`,
				"an abstract socket":   `import socket; ` + connectToAbstractSocketCode,
				"a socket of the host": `import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)`,
			}
			outcomes, enforced := mode.runPythonSnippets(t, sandboxRequest{Rules: rules}, reached, names)
			require.True(t, enforced[sandbox.EnforcesNetwork])
			require.True(t, enforced[sandbox.EnforcesUnixSockets])
			for what, outcome := range outcomes {
				require.True(t, isAccessRefused(outcome), "%s: %s", what, outcome)
			}
			require.NoError(t, datagrams.SetReadDeadline(time.Now()))
			_, err := datagrams.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)

			rules.AllowUnixSockets = true
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"own socket": `import socket; s = socket.socket(socket.AF_UNIX); s.bind("own"); s.listen(); socket.socket(socket.AF_UNIX).connect("own")`,
			}, names)
		})
	}
}

// skipWithoutNetworkNamespaces skips the test if the mode's user can make no network namespace here.
func (mode launchMode) skipWithoutNetworkNamespaces(t *testing.T) {
	t.Helper()
	rules := mode.newRules(t)
	rules.Network = sandbox.NetworkLoopback
	if answer := mode.runCommand(t, sandboxRequest{Rules: rules, Argv: []string{"true"}}); !answer.Enforced[sandbox.EnforcesNetwork] {
		t.Skip("no network namespace can be made here")
	}
}

// portOf returns the port of an address.
func portOf(t *testing.T, address net.Addr) uint16 {
	t.Helper()
	parsed, err := netip.ParseAddrPort(address.String())
	require.NoError(t, err)
	return parsed.Port()
}

func listenForDatagrams(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// Where no network namespace can be made, NetworkOff with a listener leaves one TCP port and nothing else, by seccomp and
// Landlock 4. Since that is the port of every machine, it does not count as enforced.
func TestListenerWithoutNetworkNamespaces(t *testing.T) {
	t.Parallel()
	machine := sandbox.ProbeMachine(t.Context(), []string{installedFilePath("sandbox.test"), "launch"})
	if machine.LandlockVersion < 4 || !machine.Seccomp {
		t.Skip("this machine cannot close ports")
	}
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			names := listenOutsideSandbox(t, mode)
			opened, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, opened.Close()) })
			rules.Network, rules.ListenerPort = sandbox.NetworkOff, portOf(t, opened.Addr())
			names["OPENED"] = rules.ListenerPort
			request := sandboxRequest{Rules: rules, SharesNetwork: true}
			mode.requireSnippetsSucceed(t, request, map[string]string{
				"the listener": `import socket; socket.create_connection(("127.0.0.1", OPENED))`,
				"a message":    `import socket; s = socket.create_connection(("127.0.0.1", OPENED)); assert s.sendmsg([b"x"]) == 1 and s.send(b"x") == 1`,
				"socketpair":   `import socket; a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"`,
			}, names)
			reached := map[string]string{
				"another port":  `import socket; socket.create_connection(("127.0.0.1", PORT))`,
				"fast open":     `import socket; socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", PORT))`,
				"fast open too": `import socket; socket.socket().sendmsg([b"x"], [], 0x20000000, ("127.0.0.1", PORT))`,
				"many messages": `import socket; syscall(NR["sendmmsg"], socket.socket().fileno(), 0, 0, 0x20000000)`,
				"multipath":     `import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).connect(("127.0.0.1", PORT))`,
				"datagram":      `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)`,
				"raw":           `import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)`,
				"packets":       `import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)`,
				"IPv6":          `import socket; socket.socket(socket.AF_INET6)`,
				"interfaces":    `import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)`,
				"bind":          `import socket; socket.socket().bind(("127.0.0.1", 0))`,
				"listen":        `import socket; socket.socket().listen()`,
				"a Unix socket": `import socket; socket.socket(socket.AF_UNIX).connect(PATH)`,
			}
			requireRefused := func() {
				outcomes, enforced := mode.runPythonSnippets(t, request, reached, names)
				require.False(t, enforced[sandbox.EnforcesNetwork])
				require.True(t, enforced[sandbox.EnforcesUnixSockets] || request.Rules.AllowUnixSockets)
				for what, outcome := range outcomes {
					require.True(t, isAccessRefused(outcome), "%s: %s", what, outcome)
				}
			}
			requireRefused()

			request.Rules.AllowUnixSockets = true
			delete(reached, "listen") // a Unix socket must
			delete(reached, "a Unix socket")
			requireRefused()
			mode.requireSnippetsSucceed(t, request, map[string]string{
				"own socket": `import socket; s = socket.socket(socket.AF_UNIX); s.bind("own"); s.listen(); socket.socket(socket.AF_UNIX).connect("own")`,
			}, names)
		})
	}
}

// Only a launcher that executes a program can hand over a listener: kernels of the pool never have one.
func TestPythonLauncherRefusesListener(t *testing.T) {
	t.Parallel()
	mode := launchMode{uid: os.Getuid(), python: true}
	mode.skipWithoutNetworkNamespaces(t)
	rules := mode.newRules(t)
	rules.Network, rules.ListenerPort = sandbox.NetworkLoopback, sandbox.PrivateListenerPort
	answer := mode.runCommand(t, sandboxRequest{Rules: rules, Argv: []string{"true"}})
	require.Equal(t, "exit status 1", answer.ExitStatus)
	require.Contains(t, answer.Stderr, "a forked process cannot hand over a listener")
}

// The launcher hands over its listener before it executes the program, which inherits neither of the two sockets.
func TestProgramInheritsNoListener(t *testing.T) {
	t.Parallel()
	launcher := []string{installedFilePath("sandbox.test"), "launch"}
	rules := launchMode{uid: os.Getuid()}.newRules(t)
	rules.Network, rules.ListenerPort = sandbox.NetworkLoopback, sandbox.PrivateListenerPort
	plan, err := sandbox.ProbeMachine(t.Context(), launcher).Plan(rules)
	require.NoError(t, err)
	if plan.Listener == nil {
		t.Skip("no network namespace can be made here")
	}
	launcherEnd, serve, err := handOver(&plan)
	require.NoError(t, err)
	bare := []string{"ls", "-l", "/proc/self/fd"}
	argv, err := plan.LauncherCommand(launcher, bare)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.ExtraFiles, cmd.SysProcAttr = rules.Workdir, launcherEnd, &syscall.SysProcAttr{}
	plan.SetProcAttr(cmd.SysProcAttr)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	end, err := serve()
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), out.String())
	require.NoError(t, end())
	expected, err := exec.CommandContext(t.Context(), bare[0], bare[1:]...).Output() // a shell may have left some open
	require.NoError(t, err)
	require.Equal(t, strings.Count(string(expected), "\n"), strings.Count(out.String(), "\n"), out.String())
	require.Equal(t, strings.Count(string(expected), "socket:"), strings.Count(out.String(), "socket:"), out.String())
}

// A launcher that cannot open or hand over the listener does not run the command.
func TestListenerErrors(t *testing.T) {
	t.Parallel()
	occupied, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, occupied.Close()) })
	port := portOf(t, occupied.Addr())
	for want, listener := range map[string]sandbox.Listener{
		"hand over the listener: bad file descriptor":                             {Port: 0, Socket: 99},
		"hand over the listener: socket operation on non-socket":                  {Port: 0, Socket: 0},
		fmt.Sprintf("bind the listener to port %d: address already in use", port): {Port: port, Socket: 99},
	} {
		plan, err := json.Marshal(sandbox.Plan{Listener: &listener})
		require.NoError(t, err)
		out, errs, status := runLauncher(t, string(plan), "echo", "ran")
		require.Equal(t, 126, status)
		require.Empty(t, out)
		require.Equal(t, "sandbox: "+want+"\n", errs)
	}
}

// Whatever comes instead of a listener is an error.
func TestReceiveListenerErrors(t *testing.T) {
	t.Parallel()
	send := func(rights []byte) func(*os.File) error {
		return func(f *os.File) error { return unix.Sendmsg(int(f.Fd()), []byte{0}, rights, nil, 0) }
	}
	for want, act := range map[string]func(*os.File) error{
		"EOF":                            (*os.File).Close,
		"a message without a descriptor": send(nil),
		"adopt a listener: ":             send(unix.UnixRights(0)),
	} {
		ours, theirs, err := newSocketpair()
		require.NoError(t, err)
		require.NoError(t, act(theirs))
		require.NoError(t, ours.SetDeadline(time.Now().Add(sandboxRequestTimeout)))
		_, err = sandbox.ReceiveListener(ours)
		require.ErrorContains(t, err, want)
		require.NoError(t, ours.SetDeadline(time.Now()))
		if want != "EOF" {
			_, err = sandbox.ReceiveListener(ours)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		}
		require.NoError(t, ours.Close())
		_ = theirs.Close()
	}
}
