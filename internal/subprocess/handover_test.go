package subprocess_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// First arguments that make the test binary play something.
const (
	stoppingLauncherArg = "launch and stop" // runStoppingLauncher
	dialArg             = "dial"            // dialAndAsk
)

// runStoppingLauncher applies a sandbox plan, which hands over its listener, and does not execute the command.
func runStoppingLauncher(args []string) int {
	if err := sandbox.Exec(args[0], nil, nil); err != nil {
		return 126
	}
	fmt.Println("stopped before the command")
	select {}
}

// dialAndAsk sends a byte to an address and returns "served" if one comes back, otherwise the error.
func dialAndAsk(address string) string {
	conn, err := net.DialTimeout("tcp", address, testWaitTimeout)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testWaitTimeout))
	if _, err := conn.Write([]byte("?")); err != nil {
		return err.Error()
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return err.Error()
	}
	return "served"
}

// awaitText returns what comes over a channel. It fails the test after testWaitTimeout.
func awaitText(t *testing.T, from <-chan string) string {
	t.Helper()
	select {
	case text := <-from:
		return text
	case <-time.After(testWaitTimeout):
		require.Fail(t, "nothing came")
		return ""
	}
}

// serveEcho answers each connection with the byte that it sends, until the listener is closed.
func serveEcho(t *testing.T, listener net.Listener) {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				asked := make([]byte, 1)
				if _, err := io.ReadFull(conn, asked); err == nil {
					_, _ = conn.Write(asked)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
}

// ask sends the process a message and returns its answer.
func ask(t *testing.T, p *subprocess.Process, message string) string {
	t.Helper()
	require.NoError(t, p.Write([]byte(message)))
	body, err := p.Read()
	require.NoError(t, err)
	return string(body)
}

// newSupervisorWithLauncher returns a supervisor whose launcher is this command. It is closed when the test ends.
func newSupervisorWithLauncher(t *testing.T, launcher ...string) *subprocess.Supervisor {
	t.Helper()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: launcher})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	return sup
}

// withListener returns a spec in a sandbox that is nothing but a private network with a listener.
func withListener(t *testing.T, spec subprocess.Spec) subprocess.Spec {
	t.Helper()
	spec.Sandbox = &sandbox.Plan{Namespaces: unix.CLONE_NEWNET, RaiseLoopback: true, Listener: &sandbox.Listener{Port: sandbox.PrivateListenerPort}}
	if os.Geteuid() != 0 {
		spec.Sandbox.Namespaces |= unix.CLONE_NEWUSER
	}
	if !sandbox.ProbeMachine(t.Context(), []string{os.Args[0], launcherArg}).NetworkNamespaces {
		t.Skip("no namespace can be made here")
	}
	return spec
}

// Each process reaches the listener of its sandbox, which has the same port in all, and no other process can. Once the
// listener is closed the port is free.
func TestListenersOfSandboxesAreSeparate(t *testing.T) {
	t.Parallel()
	sup := newSupervisorWithLauncher(t, os.Args[0], launcherArg)
	privateAddress := fmt.Sprintf("127.0.0.1:%d", sandbox.PrivateListenerPort)
	var all []*subprocess.Process
	var listeners []net.Listener
	for _, connectsBack := range []bool{false, true} {
		spec := withListener(t, specForRole("echo"))
		if connectsBack {
			spec = withListener(t, specConnectingBack("caller"))
		}
		p := startProcess(t, sup, spec)
		listener, err := p.AwaitListener(t.Context(), testWaitTimeout)
		require.NoError(t, err)
		require.Equal(t, privateAddress, listener.Addr().String())
		serveEcho(t, listener)
		_, err = p.AwaitReady(t.Context(), testWaitTimeout)
		require.NoError(t, err)
		all, listeners = append(all, p), append(listeners, listener)
	}
	for _, p := range all {
		require.Equal(t, `"served"`, ask(t, p, `"dial `+privateAddress+`"`))
		require.Equal(t, `"served"`, ask(t, p, `"have dialed `+privateAddress+`"`))
	}
	require.Contains(t, dialAndAsk(privateAddress), "connection refused", "it is in no other network")
	require.NoError(t, listeners[0].Close())
	// Reset: a process that is being started has a copy of the listener for a moment.
	require.Regexp(t, "connection refused|connection reset", ask(t, all[0], `"dial `+privateAddress+`"`))
	require.Equal(t, `"served"`, ask(t, all[1], `"dial `+privateAddress+`"`))
	_, err := all[0].AwaitListener(t.Context(), testWaitTimeout)
	require.Error(t, err, "it is handed over once")
}

// When the launcher fails or dies, or does not hand over a listener in time, AwaitListener says so.
func TestAwaitListenerErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		launcher string // a shell script
		timeout  time.Duration
		want     string
	}{
		"exits":               {"echo there is no network >&2; exit 126", testWaitTimeout, "agent exited with status 126; it printed last: there is no network"},
		"dies":                {"kill -9 $$", testWaitTimeout, "agent was killed by SIGKILL"},
		"is silent":           {"echo thinking; exec sleep 600", 50 * time.Millisecond, "the sandbox of the agent did not hand over its listener within 50ms"},
		"closes the socket":   {"exec 4>&-; exec sleep 600", testWaitTimeout, "the sandbox did not hand over its listener: read unix @->@: EOF"},
		"sends no descriptor": {"printf x >&4; exec sleep 600", testWaitTimeout, "the sandbox did not hand over its listener: a message without a descriptor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, newSupervisorWithLauncher(t, "sh", "-c", test.launcher), withListener(t, specForRole("echo")))
			_, err := p.AwaitListener(t.Context(), test.timeout)
			require.ErrorContains(t, err, test.want)
		})
	}
	p := startProcess(t, newSupervisorWithLauncher(t, "sh", "-c", "exec sleep 600"), withListener(t, specForRole("echo")))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	_, err := p.AwaitListener(ctx, testWaitTimeout)
	require.ErrorContains(t, err, "enough")
}

// A launcher that is killed before it executes the command, but has handed over the listener, is reported like any death.
func TestLauncherDiesAfterHandover(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisorWithLauncher(t, os.Args[0], stoppingLauncherArg), withListener(t, specForRole("echo")))
	listener, err := p.AwaitListener(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	p.Kill()
	_, err = p.AwaitReady(t.Context(), testWaitTimeout)
	require.ErrorContains(t, err, "agent was killed by SIGKILL")
	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, listener.Close())
}

func TestListenerNeedsLauncherAndPlan(t *testing.T) {
	t.Parallel()
	spec := withListener(t, specForRole("echo"))
	spec.Forker = &forkingParent{}
	_, err := newSupervisor(t).Start(spec)
	require.EqualError(t, err, "start agent: only the launcher of a command can hand over a listener, not a forked process")
	p := startProcess(t, newSupervisor(t), specForRole("echo"))
	_, err = p.AwaitListener(t.Context(), testWaitTimeout)
	require.EqualError(t, err, "the sandbox of the agent opens no listener")
}

// However a start ends, no descriptor is left.
func TestHandoverLeavesNoDescriptor(t *testing.T) { //nolint:paralleltest // counts the process's file descriptors
	starts := 200
	if testing.Short() {
		starts = 20
	}
	stopped := newSupervisorWithLauncher(t, os.Args[0], stoppingLauncherArg)
	failing := newSupervisorWithLauncher(t, "sh", "-c", "exit 126")
	empty := newSupervisorWithLauncher(t, "sh", "-c", "printf x >&4")
	missing := newSupervisorWithLauncher(t, "/no/such/launcher")
	ready := newSupervisorWithLauncher(t, os.Args[0], launcherArg)
	spec := withListener(t, subprocess.Spec{Name: "agent", Argv: []string{"sh", "-c", readyScript, "agent"}, Env: os.Environ()})
	ways := []func() error{
		func() error { return startAndReceive(t.Context(), ready, spec, true) },
		func() error { return startAndReceive(t.Context(), stopped, spec, false) },
		func() error { return expectError(startAndReceive(t.Context(), failing, spec, true)) },
		func() error { return expectError(startAndReceive(t.Context(), empty, spec, true)) },
		func() error { return expectError(startAndReceive(t.Context(), missing, spec, true)) },
		func() error { // it is stopped meanwhile
			p, err := ready.Start(spec)
			if err != nil {
				return err
			}
			return p.Stop(t.Context())
		},
	}
	before := countOpenFDs(t)
	errs := make(chan error, starts)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < starts; i += 8 {
				errs <- ways[i%len(ways)]()
			}
		})
	}
	all.Wait()
	for range starts {
		require.NoError(t, <-errs)
	}
	require.Equal(t, before, countOpenFDs(t))
}

// startAndReceive starts a process and receives its listener. It then stops the process, if isReady once it is ready.
func startAndReceive(ctx context.Context, sup *subprocess.Supervisor, spec subprocess.Spec, isReady bool) error {
	p, err := sup.Start(spec)
	if err != nil {
		return err
	}
	listener, err := p.AwaitListener(ctx, testWaitTimeout)
	if err == nil && isReady {
		_, err = p.AwaitReady(ctx, testWaitTimeout)
	}
	if err == nil {
		err = listener.Close()
	}
	return errors.Join(err, p.Stop(ctx))
}

func expectError(err error) error {
	if err == nil {
		return errors.New("want an error")
	}
	return nil
}

// A guarded listener of the server serves the process and what that has started, with and without cgroups. Another
// process of the supervisor is refused and reported to its owner; so is one that no server has started.
func TestGuardListenerServesOneProcess(t *testing.T) {
	t.Parallel()
	for name, sup := range map[string]*subprocess.Supervisor{"cgroups": newSupervisor(t), "no cgroups": newSupervisorWithoutCgroups(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
			require.NoError(t, err)
			dial, haveDialed := `"dial `+inner.Addr().String()+`"`, `"have dialed `+inner.Addr().String()+`"`
			tried := make(chan string, 10)
			other := specForRole("echo")
			other.Name, other.OnForbidden = "kernel", func(what string) { tried <- what }
			kernel, agent := startProcess(t, sup, other), startProcess(t, sup, specForRole("echo"))
			for _, p := range []*subprocess.Process{kernel, agent} {
				_, err := p.AwaitReady(t.Context(), testWaitTimeout)
				require.NoError(t, err)
			}
			serveEcho(t, agent.GuardListener(inner, "a connection to the agent"))

			require.Equal(t, `"served"`, ask(t, agent, dial))
			require.Equal(t, `"served"`, ask(t, agent, haveDialed))
			for _, message := range []string{dial, haveDialed} {
				require.NotContains(t, ask(t, kernel, message), "served")
				require.Equal(t, "a connection to the agent", awaitText(t, tried))
			}
			require.NotEqual(t, "served", dialAndAsk(inner.Addr().String()))
			require.Empty(t, tried)

			require.NoError(t, agent.Close(protocol.CloseNormal, ""))
			<-agent.Exited()
			require.NotContains(t, ask(t, kernel, dial), "served")
			require.Equal(t, "a connection to the agent", awaitText(t, tried))
		})
	}
}
