package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"assay/agent/mcp"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// runAgentProcess runs an agent that is controlled by MCP clients on the socket whose descriptor is the
// last argument. The first argument is its folder; those between are its Command.
func runAgentProcess(args []string) int {
	fd, err := strconv.Atoi(args[len(args)-1])
	if err != nil {
		return 100
	}
	file := os.NewFile(uintptr(fd), "socket")
	socket, err := net.FileConn(file)
	if err != nil {
		return 101
	}
	_ = file.Close()
	cfg := mcp.Config{
		Socket: mcp.SocketPath(args[0]), WorkDir: args[0], Command: args[1 : len(args)-1], Program: "/bin/assay",
		Environ: os.Environ(), Stderr: os.Stderr, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if err := mcp.Run(context.Background(), protocol.NewStream(socket, 0), cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runClientProcess runs callToolsOnSocket with the socket of the environment variable ASSAY_SOCKET, as
// `assay mcp --attach` does, and prints the result. Arguments are ignored.
func runClientProcess([]string) int {
	fmt.Println("client:", callToolsOnSocket(os.Getenv("ASSAY_SOCKET")))
	return 0
}

// callToolsOnSocket connects an MCP client to an agent's socket, and calls create_cell and
// submit_response. It returns "refused" if the client got no answer, otherwise what the calls did.
func callToolsOnSocket(path string) string {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	defer transport.CloseIdleConnections()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &sdk.StreamableClientTransport{Endpoint: "http://assay/", HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1}, nil)
	if err != nil {
		return "refused"
	}
	defer session.Close()
	created, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "create_cell", Arguments: map[string]any{"position": 0, "source": "x"}})
	if err != nil || created.IsError {
		return fmt.Sprint("create_cell failed: ", err)
	}
	submitted, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "submit_response", Arguments: map[string]any{"summary": "[EVAL_COMPLETE]", "next_status": "done"}})
	if err != nil || submitted.IsError {
		return fmt.Sprint("submit_response failed: ", err)
	}
	return "called both"
}

// processOutput collects what a subprocess prints.
type processOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *processOutput) write(_ string, chunk []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(chunk)
}

func (o *processOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startChild starts a subprocess of the test, which plays the server.
func startChild(t *testing.T, sup *subprocess.Supervisor, spec subprocess.Spec) (*subprocess.Process, *processOutput) {
	t.Helper()
	output := &processOutput{}
	spec.Output = output.write
	process, err := sup.Start(spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, process.Stop(context.Background())) })
	return process, output
}

// startAgentProcess starts an agent in a process, with a Command or without one, and initialises it.
func startAgentProcess(t *testing.T, sup *subprocess.Supervisor, command ...string) (*fakeServerHarness, *processOutput) {
	t.Helper()
	s := &fakeServerHarness{t: t, dir: t.TempDir(), frameArrived: make(chan struct{}), hanging: map[string]bool{}}
	s.socket = mcp.SocketPath(s.dir)
	argv := append([]string{os.Args[0], "agent", s.dir}, command...)
	process, output := startChild(t, sup, subprocess.Spec{Name: "agent", Argv: argv, Dir: s.dir, Env: os.Environ()})
	s.conn = process
	var reading sync.WaitGroup
	reading.Go(s.readFrames)
	t.Cleanup(func() {
		_ = process.Stop(context.Background())
		reading.Wait()
	})
	s.awaitFrame("ready", isFrameOfType("ready"))
	s.sendFrame(frame{"type": "init", "session_id": 1})
	s.awaitFrame("its answer", isStatus("ready"))
	return s, output
}

// Another child of the server, such as the kernel of another attempt, that has found the socket of an
// agent gets no answer there: it neither calls a tool nor submits. The server and the agent's own Command
// do both.
func TestAnotherChildOfTheServerIsRefused(t *testing.T) {
	t.Parallel()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	s, agentOutput := startAgentProcess(t, sup)
	s.sendQuery("count")

	kernel, kernelOutput := startChild(t, sup, subprocess.Spec{
		Name: "kernel", Argv: []string{os.Args[0], "client"}, Dir: t.TempDir(), Env: append(os.Environ(), "ASSAY_SOCKET="+s.socket),
	})
	<-kernel.Exited()
	kernel.DrainOutput()
	require.Equal(t, "client: refused\n", kernelOutput.String())
	require.Zero(t, s.countFrames(isFrameOfType("agent_action")), "no tool was called")
	require.Zero(t, s.countFrames(isStatus("done")), "nothing was submitted")

	require.Equal(t, "called both", callToolsOnSocket(s.socket), "the server itself")
	s.awaitFrame("the end of the query", isStatus("done"))
	require.Equal(t, 1, s.countFrames(isActionNamed("create_cell")))
	require.Eventually(t, func() bool {
		return strings.Contains(agentOutput.String(), "a connection was refused") && strings.Contains(agentOutput.String(), "process "+strconv.Itoa(kernel.PID()))
	}, maxTestWaitTimeout, time.Millisecond, "the refusal is logged")

	s, agentOutput = startAgentProcess(t, sup, os.Args[0], "client")
	s.sendQuery("count")
	s.awaitFrame("the end of the query", isStatus("done"))
	require.Equal(t, 1, s.countFrames(isActionNamed("create_cell")))
	require.NotContains(t, agentOutput.String(), "a connection was refused")
}
