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

func listening(name string) subprocess.Spec {
	s := spec(name)
	s.ConnectsBack = true
	return s
}

func TestChildConnectsToUs(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	p := start(t, sup, listening("caller"))
	_, err := p.AwaitReady(t.Context(), generous)
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

func TestChildThatDiesBeforeItConnects(t *testing.T) {
	t.Parallel()
	p := start(t, supervisor(t), listening("early exit"))
	_, err := p.AwaitReady(t.Context(), generous)
	var died *subprocess.ExitError
	require.ErrorAs(t, err, &died)
	require.Equal(t, 100, died.Exit.Code, "it wants a number and got a path")
}

func TestChildThatNeverConnects(t *testing.T) {
	t.Parallel()
	s := listening("")
	s.Argv = []string{"sh", "-c", "sleep 600"}
	sup := supervisor(t)
	p := start(t, sup, s)
	_, err := p.AwaitReady(t.Context(), 50*time.Millisecond)
	require.ErrorContains(t, err, "did not say ready within 50ms")
	require.ErrorIs(t, p.Write([]byte(`{}`)), protocol.ErrClosed)
}
