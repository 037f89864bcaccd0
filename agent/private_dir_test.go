package agent_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// Roles of the test binary.
const (
	readyRole  = "agent"
	launchRole = "launch"
)

// runReadyAgent is an agent that says ready on the socket whose descriptor is its last argument, and then
// reads to its end. It exits with 4 unless ASSAY_AGENT_DIR names its private folder.
func runReadyAgent(args []string) int {
	fd, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return 100
	}
	socket, err := net.FileConn(os.NewFile(uintptr(fd), "socket"))
	if err != nil {
		return 101
	}
	if info, err := os.Stat(os.Getenv("ASSAY_AGENT_DIR")); err != nil || !info.IsDir() {
		return 4
	}
	conn := protocol.NewStream(socket, 0)
	if conn.Write([]byte(`{"type":"ready"}`)) != nil {
		return 5
	}
	_, _ = io.Copy(io.Discard, socket)
	return 0
}

// An agent's private folder is for its user alone, whether the agent is confined or not. The agent gets
// its path in a variable: no argument names the folder, or a socket in it, because every process of the
// machine can read arguments. Nobody listens on a Unix socket for the agent.
func TestPrivateFolderIsPrivate(t *testing.T) {
	t.Parallel()
	launcher := []string{os.Args[0], launchRole}
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: launcher})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	confined := &sandbox.Template{
		Machine: sandbox.ProbeMachine(t.Context(), launcher),
		Rules:   sandbox.Rules{ReadPaths: append(sandbox.SystemPaths(), filepath.Dir(os.Args[0]))},
	}
	seed := t.TempDir()
	require.NoError(t, os.Chmod(seed, 0o777))
	for name, template := range map[string]*sandbox.Template{"unconfined": nil, "confined": confined} {
		root := filepath.Join(sup.TempDir(), name)
		require.NoError(t, os.Mkdir(root, 0o777))
		dir := agent.PrivateDir(root, "s1")
		a, err := agent.Start(t.Context(), sup, agent.Config{
			Command: []string{os.Args[0], readyRole}, Workdir: t.TempDir(), Session: "s1", Environ: os.Environ(),
			PrivateRoot: root, HomeSeed: seed, Sandbox: template,
		})
		require.NoError(t, err, name)
		t.Cleanup(func() { require.NoError(t, a.Stop(context.Background())) })

		for _, folder := range []string{dir, filepath.Join(dir, "home"), filepath.Join(dir, "tmp")} {
			info, err := os.Stat(folder)
			require.NoError(t, err, name)
			require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "%s: %s", name, folder)
		}
		arguments, err := subprocesstest.CommandLine(a.PID())
		require.NoError(t, err)
		require.Equal(t, []string{os.Args[0], readyRole, "3"}, arguments, name)
		listening, err := subprocesstest.ListeningSockets(sup.TempDir(), a.PID())
		require.NoError(t, err)
		require.Empty(t, listening, name)
		require.NoDirExists(t, sup.SocketsDir(), name)
	}
}
