package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// listenOutsideSandbox listens outside the sandbox, on a TCP port and three Unix sockets, and
// returns their addresses as names for Python code of runPythonSnippets.
func listenOutsideSandbox(t *testing.T, mode launchMode) map[string]any {
	t.Helper()
	names := map[string]any{}
	listen := func(name, network, address string) net.Addr {
		listener, err := new(net.ListenConfig).Listen(t.Context(), network, address)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, listener.Close()) })
		names[name] = listener.Addr().String()
		return listener.Addr()
	}
	_, port, err := net.SplitHostPort(listen("TCP", "tcp4", "127.0.0.1:0").String())
	require.NoError(t, err)
	names["PORT"], err = strconv.Atoi(port)
	require.NoError(t, err)
	folder := mode.makeUserFolder(t)
	path, datagrams := filepath.Join(folder, "socket"), filepath.Join(folder, "datagrams")
	listen("PATH", "unix", path)
	require.NoError(t, os.Chmod(path, 0o666))
	listen("ABSTRACT", "unix", "@"+path)
	names["DATAGRAMS"] = datagrams
	packets, err := new(net.ListenConfig).ListenPacket(t.Context(), "unixgram", datagrams)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, packets.Close()) })
	require.NoError(t, os.Chmod(datagrams, 0o666))
	return names
}

// connectToAbstractSocketCode is Python code that connects to the abstract Unix socket. Go
// writes the socket's address with @, Linux with a zero byte.
const connectToAbstractSocketCode = `socket.socket(socket.AF_UNIX).connect("\0" + ABSTRACT[1:])`

// PK-15: with NetworkOff no address can be reached and no socket can be made.
func TestNetworkOff(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			rules.Network = sandbox.NetworkOff
			names := listenOutsideSandbox(t, mode)
			attempts := map[string]string{
				"connect":      `import socket; socket.create_connection(("127.0.0.1", PORT))`,
				"connect IPv6": `import socket; socket.socket(socket.AF_INET6).connect(("::1", PORT))`,
				"send":         `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", PORT))`,
				"bind":         `import socket; socket.socket().bind(("127.0.0.1", 0))`,
				"raw":          `import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)`,
				"packets":      `import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)`,
				"the machine":  `import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)`,
				"interfaces":   `import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)`,
				"multipath":    `import socket; socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)`,
				"a child": `
import subprocess, sys
code = "import socket; socket.socket()"
if b"PermissionError" in subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE).stderr: raise PermissionError`,
			}
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesNetwork, attempts, names)
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesUnixSockets, map[string]string{
				"path":          `import socket; socket.socket(socket.AF_UNIX).connect(PATH)`,
				"abstract":      `import socket; ` + connectToAbstractSocketCode,
				"datagram pair": `import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", DATAGRAMS)`,
				"raw pair":      `import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].connect(DATAGRAMS)`,
			}, names)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"socketpair": `import socket; a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"`,
				"of packets": `import socket; a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b"x"); assert b.recv(1) == b"x"`,
				"asyncio":    `import asyncio; asyncio.run(asyncio.sleep(0))`,
			}, nil)

			rules.AllowUnixSockets = true
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesNetwork, attempts, names)
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesUnixSockets, map[string]string{
				"path": `import socket; socket.socket(socket.AF_UNIX).connect(PATH)`,
			}, names)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"own socket": `import socket; s = socket.socket(socket.AF_UNIX); s.bind("own"); s.listen(); socket.socket(socket.AF_UNIX).connect("own")`,
			}, nil)
		})
	}
}

// PK-15: with NetworkLoopback a sandbox can connect only to its own listeners.
func TestNetworkLoopback(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := mode.newRules(t)
			rules.Network = sandbox.NetworkLoopback
			names := listenOutsideSandbox(t, mode)
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesNetwork, map[string]string{
				"connect": `
import socket
try: socket.create_connection(("127.0.0.1", PORT))
except ConnectionRefusedError as error: raise PermissionError(error)`,
				"far away": `
import socket
try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 53))
except OSError as error: raise PermissionError(error)`,
				"leave": `
import os
file = os.open(f"/proc/{SERVER}/ns/net", os.O_RDONLY)
syscall(NR["setns"], file, 0)`,
			}, names)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"itself": `
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    socket.create_connection(server.getsockname()).close()
with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
    socket.create_connection(server.getsockname()[:2]).close()`,
			}, nil)
		})
	}
}

func TestNetworkOn(t *testing.T) {
	t.Parallel()
	for name, mode := range launchModes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules, names := mode.newRules(t), listenOutsideSandbox(t, mode)
			mode.requireSnippetsSucceed(t, sandboxRequest{Rules: rules}, map[string]string{
				"connect": `import socket; socket.create_connection(("127.0.0.1", PORT))`,
				"send":    `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", PORT))`,
			}, names)
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesUnixSockets, map[string]string{
				"path": `import socket; socket.socket(socket.AF_UNIX).connect(PATH)`,
			}, names)
			mode.requireSnippetsFail(t, sandboxRequest{Rules: rules}, sandbox.EnforcesSignals, map[string]string{"abstract": `import socket; ` + connectToAbstractSocketCode}, names)
		})
	}
}
