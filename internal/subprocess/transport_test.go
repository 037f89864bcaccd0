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

// A process that finds the socket in /proc/net/unix and connects before the subprocess does not
// take its place, and its own session learns of it.
func TestOnlyTheSubprocessConnectsBack(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	goFile := filepath.Join(t.TempDir(), "go")
	s := specConnectingBack("caller")
	s.Argv = append([]string{"sh", "-c", `until [ -e "$0" ]; do sleep 0.01; done; exec "$@"`, goFile}, s.Argv...)
	victim := startProcess(t, sup, s)
	sockets, err := filepath.Glob(filepath.Join(sup.SocketsDir(), "*", "s"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)

	tried := make(chan string, 1)
	intruder := specForRole("caller")
	intruder.Argv = append([]string{"sh", "-c", `"$1" "$2" & wait`, "sh"}, intruder.Argv[0], sockets[0])
	intruder.OnForbidden = func(what string) { tried <- what }
	startProcess(t, sup, intruder)
	ready := make(chan error, 1)
	go func() {
		_, err := victim.AwaitReady(t.Context(), testWaitTimeout)
		ready <- err
	}()
	require.Equal(t, "a connection to the socket of another kernel", <-tried)
	require.NoError(t, os.WriteFile(goFile, nil, 0o600))
	require.NoError(t, <-ready)
	require.NoError(t, victim.Write([]byte(`"env"`)))
	env, err := victim.Read()
	require.NoError(t, err)
	require.Contains(t, string(env), roleEnvVar+"=caller")
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
