// Package servertest starts servers for tests, and processes that play kernels and
// agents: the test binary, started again.
package servertest

import (
	"context"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
	"assay/server"
)

// playArgument is the first argument of a test binary that plays a role of [RunTests].
const playArgument = "play"

// RunTests is the TestMain of a package whose test binary plays subprocesses. If the
// binary was started with [RoleCommand], RunTests calls play with the role and arguments
// given there and exits with the status that it returns. Otherwise it does what
// [subprocesstest.RunTestsOrRole] does without roles.
func RunTests(m *testing.M, play func(role string, args []string) int) {
	subprocesstest.RunTestsOrRole(m, map[string]subprocesstest.Role{
		playArgument: func(args []string) int { return play(args[0], args[1:]) },
	})
}

// RoleCommand returns the command that makes the test binary play a role; see [RunTests]. The
// file descriptor of the process's socket is appended to it as the last argument.
func RoleCommand(role string, args ...string) []string {
	return append([]string{os.Args[0], playArgument, role}, args...) //nolint:forbidigo // package for tests
}

// ConnectSocket returns the socket whose file descriptor is number, the last argument of a
// role.
func ConnectSocket(number string) (net.Conn, error) {
	fd, err := strconv.Atoi(number)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "server")
	defer file.Close()
	return net.FileConn(file)
}

// Harness is a running server.
type Harness struct {
	Supervisor *subprocess.Supervisor // for the processes of sessions
	Server     *server.Server
	URL        string // "ws://127.0.0.1:…"
	Stop       func() // ends the server, and waits for that; it may be called again
}

// StartServer runs a server on a free port of this machine until the test ends. A
// configuration without a token gets EvalSandbox.
func StartServer(t testing.TB, cfg server.Config) *Harness { //nolint:thelper // t is a T, B or F
	t.Helper()
	if cfg.Token == "" {
		cfg.EvalSandbox = true
	}
	supervisor, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}}) //nolint:forbidigo // package for tests
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, supervisor.Close()) })
	web, err := server.New(cfg)
	require.NoError(t, err)
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Run(ctx, ln) }()
	stop := sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return &Harness{Supervisor: supervisor, Server: web, URL: "ws://" + ln.Addr().String(), Stop: stop}
}
