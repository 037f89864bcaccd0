// Package servertest starts servers for tests, and processes that play kernels and
// agents: the test binary, started again.
package servertest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/subprocess"
	"assay/server"
)

// Arguments of a test binary that plays a subprocess; see Main.
const (
	playArgument    = "play"
	cleanupArgument = "cleanup"
)

// RunTests is the TestMain of a package whose test binary plays subprocesses. If the
// binary was started with [RoleCommand], Main calls play with the role and arguments
// given there and exits with the status that it returns. Started with flags only, Main runs
// the tests and requires that no goroutine is left. Any other argument is an error: running
// the tests would start the binary again and again.
func RunTests(m *testing.M, play func(role string, args []string) int) {
	args := os.Args[1:]                           //nolint:forbidigo // package for tests
	if len(args) > 1 && args[0] == playArgument { // args[1] is the role
		os.Exit(play(args[1], args[2:])) //nolint:forbidigo // as above
	}
	if len(args) > 0 && args[0] == cleanupArgument {
		if err := subprocess.RunCleanupHelper(os.Stdin); err != nil { //nolint:forbidigo // as above
			os.Exit(1) //nolint:forbidigo // as above
		}
		os.Exit(0) //nolint:forbidigo // as above
	}
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		fmt.Fprintf(os.Stderr, "%s: unknown argument %q\n", os.Args[0], args[0]) //nolint:forbidigo // as above
		os.Exit(2)                                                               //nolint:forbidigo // as above
	}
	// Without this the race detector would delay the exit of each subprocess by 1 s.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
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
	supervisor, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], cleanupArgument}}) //nolint:forbidigo // package for tests
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
