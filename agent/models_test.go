package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// Whatever its network, an agent and what it starts reach their models, and not those of another agent. With no
// network they reach nothing else.
func TestAgentReachesItsModels(t *testing.T) {
	t.Parallel()
	machine := sandbox.ProbeMachine(t.Context(), launcherCommand())
	if machine.LandlockVersion < 4 || !machine.Seccomp || !machine.NetworkNamespaces {
		t.Skip("this machine cannot close the network")
	}
	for name, test := range map[string]struct {
		template *sandbox.Template
		isClosed bool // nothing but the models can be reached
		isHeld   bool // and that is enforced
	}{
		"unconfined":                      {nil, false, false},
		"on":                              {newTemplate(machine, sandbox.NetworkOn), false, true},
		"loopback":                        {newTemplate(machine, sandbox.NetworkLoopback), false, true},
		"off":                             {newTemplate(machine, sandbox.NetworkOff), true, true},
		"loopback, not enforced":          {newTemplate(sharedNetwork(machine), sandbox.NetworkLoopback), false, false},
		"off, without network namespaces": {newTemplate(sharedNetwork(machine), sandbox.NetworkOff), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup := newSupervisor(t)
			tried := make(chan string, 10)
			c := newCaller(t, sup, test.template, func(what string) { tried <- what })
			require.Equal(t, "hello /v1", c.mustAsk(t, "get", c.url))
			require.Equal(t, "hello /v1", c.mustAsk(t, "have", c.url))
			require.Empty(t, c.mustAsk(t, "env", "MODEL_KEY"))
			require.Equal(t, test.isHeld, c.Enforced()[sandbox.EnforcesNetwork])

			other := newCaller(t, sup, newTemplate(sharedNetwork(machine), sandbox.NetworkOn), nil)
			require.Contains(t, c.mustAsk(t, "get", other.url), "error: ")
			isReported := !test.isClosed && name != "loopback" // it connects and is refused
			if isReported {
				require.Equal(t, "a connection to another agent's models", await(t, tried))
			}
			require.Empty(t, tried)
			for network, address := range hostAddresses(t) {
				if test.isClosed {
					require.Contains(t, c.mustAsk(t, network, address), "error: ", network)
				} else if name == "on" || name == "unconfined" && network != "unix" {
					require.Equal(t, "reached", c.mustAsk(t, network, address), network)
				}
			}
		})
	}
}

// A kernel that has the network and knows the address of an agent's models is refused there, which is reported to its
// session, and so is a process that no server has started. Models in a private network do not exist for others.
func TestOthersDoNotReachModels(t *testing.T) {
	t.Parallel()
	machine := sandbox.ProbeMachine(t.Context(), launcherCommand())
	sup := newSupervisor(t)
	for name, template := range map[string]*sandbox.Template{"unconfined": nil, "private": newTemplate(machine, sandbox.NetworkOff)} {
		tried := make(chan string, 10)
		c := newCaller(t, sup, template, func(string) { t.Error("the agent has tried nothing") })
		kernel := &caller{Agent: &agent.Agent{}}
		var err error
		kernel.Process, err = sup.Start(subprocess.Spec{
			Name: "kernel", Argv: []string{os.Args[0], callerRole}, Env: os.Environ(), Dir: t.TempDir(), OnForbidden: func(what string) { tried <- what },
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, kernel.Process.Stop(context.Background())) })
		_, err = kernel.AwaitReady(t.Context(), testTimeout)
		require.NoError(t, err)
		for _, verb := range []string{"get", "have"} {
			require.Contains(t, kernel.mustAsk(t, verb, c.url), "error: ", name)
		}
		require.Contains(t, callOut("get", c.url), "error: ", name)
		if template.WithListener(1).HasPrivateNetwork() {
			require.Empty(t, tried)
			continue
		}
		for range 2 {
			require.Equal(t, "a connection to another agent's models", await(t, tried))
		}
	}
}

// recordingServer is a ModelServer that records the address of each agent and when Serve returns.
type recordingServer struct {
	helloServer
	addresses chan string
	ended     chan struct{}
}

func (s recordingServer) Environ(environ []string, address string) []string {
	s.addresses <- address
	return s.helloServer.Environ(environ, address)
}

func (s recordingServer) Serve(listener net.Listener) {
	s.helloServer.Serve(listener)
	s.ended <- struct{}{}
}

// requireClosed fails the test if something listens at an address. A process that is just being started may have a copy
// of a listener, so that a connection is made and reset.
func requireClosed(t *testing.T, address string) {
	t.Helper()
	require.Regexp(t, "refused|reset|broken pipe|EOF", callOut("tcp", address))
}

// Stop ends the serving, and the address is free again. The same ModelServer serves the next agent. After a failed
// start nothing listens either.
func TestStopEndsServing(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	machine := sandbox.ProbeMachine(t.Context(), launcherCommand())
	for name, template := range map[string]*sandbox.Template{"unconfined": nil, "confined": newTemplate(machine, sandbox.NetworkOff)} {
		server := recordingServer{addresses: make(chan string, 10), ended: make(chan struct{}, 10)}
		for range 2 {
			c, err := startCaller(t.Context(), sup, t.TempDir(), template, server, nil)
			require.NoError(t, err, name)
			require.Equal(t, "hello /v1", c.mustAsk(t, "get", c.url), name)
			for range 2 {
				require.NoError(t, c.Stop(t.Context()), name)
				requireClosed(t, await(t, server.addresses))
				server.addresses <- "127.0.0.1:1"
			}
			await(t, server.addresses)
			require.Len(t, server.ended, 1, name)
			await(t, server.ended)
		}

		_, err := agent.Start(t.Context(), sup, agent.Config{Command: []string{"false"}, Workdir: t.TempDir(), Sandbox: template, ModelServer: server})
		require.ErrorContains(t, err, "agent exited with status 1", name)
		requireClosed(t, await(t, server.addresses))
		_, err = agent.Start(t.Context(), sup, agent.Config{Command: []string{"/no/such/agent"}, Workdir: t.TempDir(), Sandbox: template, ModelServer: server})
		require.Error(t, err, name)
		requireClosed(t, await(t, server.addresses))
	}
}

// stuckServer is a ModelServer that does not return from Serve until it is released.
type stuckServer struct {
	helloServer
	release chan struct{}
}

func (s stuckServer) Serve(net.Listener) { <-s.release }

func TestStopDoesNotWaitForStuckServer(t *testing.T) {
	t.Parallel()
	server := stuckServer{release: make(chan struct{})}
	defer close(server.release)
	c, err := startCaller(t.Context(), newSupervisor(t), t.TempDir(), nil, server, nil)
	require.NoError(t, err)
	require.ErrorContains(t, c.Stop(t.Context()), "the server of the agent's models did not end within 5s after its listener was closed")
}

// countingServer is a ModelServer that only accepts connections and keeps them until the other end closes them.
type countingServer struct {
	helloServer
	mu        sync.Mutex
	open, top int // connections now, and at most
	accepted  chan struct{}
}

func (s *countingServer) count(change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += change
	s.top = max(s.top, s.open)
}

func (s *countingServer) Serve(listener net.Listener) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.count(1)
		s.accepted <- struct{}{}
		all.Go(func() {
			_, _ = io.Copy(io.Discard, conn)
			s.count(-1)
			_ = conn.Close()
		})
	}
}

// An agent cannot use up the server's descriptors: of its many connections, 256 are open at a time.
func TestConnectionsToModelsAreLimited(t *testing.T) {
	t.Parallel()
	server := &countingServer{accepted: make(chan struct{}, 1000)}
	c, err := startCaller(t.Context(), newSupervisor(t), t.TempDir(), nil, server, nil)
	require.NoError(t, err)
	c.mustAsk(t, "hold", strings.TrimSuffix(strings.TrimPrefix(c.url, "http://"), "/v1"))
	for range 256 {
		await(t, server.accepted)
	}
	c.mustAsk(t, "release", "")
	for range 300 - 256 {
		await(t, server.accepted)
	}
	require.NoError(t, c.Stop(t.Context()))
	require.LessOrEqual(t, server.top, 256)
}

// runServer is a server of agents. It exits with 0 if each reaches its models, and one without network nothing of the
// host. Arguments: the agents' working folder, and an address of the host.
func runServer(args []string) int {
	if err := serveAgents(context.Background(), args[0], args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveAgents(ctx context.Context, workdir, address string) (err error) {
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}, Launcher: launcherCommand()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sup.Close()) }()
	machine := sandbox.ProbeMachine(ctx, launcherCommand())
	for _, template := range []*sandbox.Template{newTemplate(machine, sandbox.NetworkOff), newTemplate(sharedNetwork(machine), sandbox.NetworkOff), nil} {
		c, startErr := startCaller(ctx, sup, workdir, template, helloServer{}, nil)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, c.Stop(ctx)) }()
		for _, verb := range []string{"get", "have"} {
			if answer, err := c.ask(verb, c.url); err != nil || answer != "hello /v1" {
				return fmt.Errorf("the models answer %q: %w", answer, err)
			}
		}
		if answer, err := c.ask("tcp", address); err != nil || strings.HasPrefix(answer, "error: ") != (template != nil) {
			return fmt.Errorf("the host answers %q: %w", answer, err)
		}
	}
	return nil
}

// An ordinary user's agents reach their models too: in a user namespace, or else in the network of the server.
func TestOrdinaryUserServesModels(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "agent-test-") //nolint:usetesting // other users cannot enter the test's own folder
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chown(dir, nobody, nobody))
	self := filepath.Join(dir, "agent.test")
	// Not by this process: others that it is just starting would have the file open for writing, which cannot be executed then.
	require.NoError(t, exec.CommandContext(t.Context(), "install", "-m", "755", os.Args[0], self).Run())
	cmd := exec.CommandContext(t.Context(), self, serverRole, dir, hostAddresses(t)["tcp"])
	cmd.Env, cmd.Dir = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir), dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
