package subprocess_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/internal/subprocess/subprocesstest"
)

// Only a program that connects back gets a listening socket, which is gone once it has connected. Any
// other gets one end of a socketpair: nobody listens for it, and its arguments name no socket.
func TestOnlyConnectBackListens(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	p := startProcess(t, sup, specForRole("echo"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	listening, err := subprocesstest.ListeningSockets(sup.TempDir(), p.PID())
	require.NoError(t, err)
	require.Empty(t, listening)
	require.NoDirExists(t, sup.SocketsDir())
	arguments, err := subprocesstest.CommandLine(p.PID())
	require.NoError(t, err)
	require.Equal(t, []string{os.Args[0], "3"}, arguments)

	spec := specForRole("caller")
	spec.ConnectsBack = true
	caller := startProcess(t, sup, spec)
	listening, err = subprocesstest.ListeningSockets(sup.TempDir(), caller.PID())
	require.NoError(t, err)
	require.Len(t, listening, 1)
	require.Contains(t, listening[0], sup.SocketsDir()+"/")
	_, err = caller.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	// Processes that other tests are starting have the socket, too, until they execute their program.
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		listening, err := subprocesstest.ListeningSockets(sup.TempDir(), caller.PID())
		require.NoError(t, err)
		require.Empty(t, listening)
	}, testWaitTimeout, 10*time.Millisecond)
}
