package limiter_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/limiter"
	"assay/internal/subprocess"
	"assay/internal/subprocess/subprocesstest"
)

// admitAgents returns the admission of a server's limiter: it admits the server's agents, and reports any
// other process.
func admitAgents(sup *subprocess.Supervisor) func(net.Conn) bool {
	return func(conn net.Conn) bool {
		peer, err := sup.Guard().PeerOf(conn)
		if err != nil {
			return false
		}
		if sup.NameOf(peer) == "agent" {
			return true
		}
		sup.ReportForbidden(peer, "a connection to the limiter")
		return false
	}
}

// A kernel that connects to the limiter gets no slot, although one is free, and is reported. An agent
// gets the slot, and a process that the server has not started as an agent does not.
func TestOnlyAgentsGetSlots(t *testing.T) {
	t.Parallel()
	sup, err := subprocess.NewSupervisor(subprocess.Config{CleanupHelper: []string{os.Args[0], subprocesstest.CleanupHelperArg}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sup.Close()) })
	path := filepath.Join(t.TempDir(), "limiter")
	l, err := limiter.Listen(path, 1, admitAgents(sup))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	forbidden := make(chan string, 10)
	start := func(name string) (*subprocess.Process, chan struct{}) {
		granted := make(chan struct{})
		process, err := sup.Start(subprocess.Spec{
			Name: name, Argv: []string{os.Args[0]}, Dir: t.TempDir(), Env: append(os.Environ(), socketEnvVar+"="+path),
			OnForbidden: func(what string) { forbidden <- name + ": " + what },
			Output:      func(string, []byte) { close(granted) }, // the one byte of a process that has a slot
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, process.Stop(context.Background())) })
		return process, granted
	}

	kernel, granted := start("kernel")
	select {
	case <-kernel.Exited():
		require.Equal(t, "exited with status 1", kernel.ExitState().String())
	case <-granted:
		require.Fail(t, "the kernel got a slot")
	}
	require.Equal(t, "kernel: a connection to the limiter", <-forbidden)

	_, err = limiter.AcquireSlot(t.Context(), path)
	require.ErrorIs(t, err, io.EOF, "the test process is no agent")

	agent, granted := start("agent")
	select {
	case <-granted:
	case <-agent.Exited():
		require.Fail(t, "the agent got no slot", agent.ExitState().String())
	}
	require.Empty(t, forbidden)
}
