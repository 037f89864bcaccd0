package subprocess_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/subprocess"
)

// specConnectingBack returns a Spec for a subprocess that connects to the server's Unix
// socket.
func specConnectingBack(role string) subprocess.Spec {
	s := specForRole(role)
	s.ConnectsBack = true
	return s
}

func TestProcessConnectsBack(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	p := startProcess(t, sup, specConnectingBack("caller"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(sup.SocketsDir(), "*"))
	require.NoError(t, err)
	require.Empty(t, left, "nobody else can connect")
	require.NoError(t, p.Write([]byte(`{"n":1}`)))
	body, err := p.Read()
	require.NoError(t, err)
	require.JSONEq(t, `{"n":1}`, string(body))
	require.Error(t, p.SendFiles([]byte(`{}`), os.Stdin), "files go over a socketpair only")
}

func TestProcessDiesBeforeItConnectsBack(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specConnectingBack("early exit"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	var died *subprocess.ExitError
	require.ErrorAs(t, err, &died)
	require.Equal(t, 100, died.Exit.Code, "this role expects a number and got a path")
}

func TestProcessNeverConnectsBack(t *testing.T) {
	t.Parallel()
	s := specConnectingBack("")
	s.Argv = []string{"sh", "-c", "sleep 600"}
	sup := newSupervisor(t)
	p := startProcess(t, sup, s)
	_, err := p.AwaitReady(t.Context(), 50*time.Millisecond)
	require.ErrorContains(t, err, "did not say ready within 50ms")
	require.ErrorIs(t, p.Write([]byte(`{}`)), protocol.ErrClosed)
}
