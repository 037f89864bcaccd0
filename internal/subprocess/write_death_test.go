package subprocess_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/subprocess"
)

// Who writes to a child that has died is told how it died, as who reads is.
func TestWriteToTheDead(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), spec("deaf"))
	_, err := p.AwaitReady(t.Context(), generous)
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGKILL))
	for err == nil { // until the socket is closed
		err = p.Write([]byte(`{"type":"ping"}`))
	}
	var died *subprocess.ExitError
	require.ErrorAs(t, err, &died)
	require.Equal(t, "SIGKILL", died.Exit.Signal)
}
