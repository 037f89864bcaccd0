package limiter_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/limiter"
)

// gatePath in the environment makes the test binary a process that passes the
// gate there, says so with a byte on stdout, and stays until it is killed.
const gatePath = "TURNSTILE_TEST_GATE"

func TestMain(m *testing.M) {
	if path := os.Getenv(gatePath); path != "" {
		if _, err := limiter.Acquire(context.Background(), path); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.Write([]byte{1})
		select {}
	}
	goleak.VerifyTestMain(m)
}

func listen(t *testing.T, places int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gate")
	gate, err := limiter.Listen(path, places)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, gate.Close()) })
	return path
}

func TestNeverMoreThanItsPlaces(t *testing.T) {
	t.Parallel()
	const places, visitors = 3, 100
	path := listen(t, places)
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for range visitors {
		all.Go(func() {
			leave, err := limiter.Acquire(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			now := inside.Add(1)
			for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
			}
			inside.Add(-1)
			leave()
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(places))
	require.Positive(t, most.Load())
}

// However much somebody says who has no business there, nobody waits for it to be
// read.
func TestWhoeverSpeaksIsSentAway(t *testing.T) {
	t.Parallel()
	path := listen(t, 1)
	chatty, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	require.NoError(t, err)
	defer chatty.Close()
	_, err = chatty.Read(make([]byte, 1)) // it is inside
	require.NoError(t, err)
	_, err = chatty.Write(make([]byte, 1<<16))
	require.NoError(t, err)
	leave, err := limiter.Acquire(t.Context(), path)
	require.NoError(t, err)
	leave()
}

func TestFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	path := listen(t, 1)
	leave, err := limiter.Acquire(t.Context(), path)
	require.NoError(t, err)
	var queue []net.Conn
	for range 20 { // whoever has connected has come: the gate accepts in that order
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		require.NoError(t, err)
		queue = append(queue, conn)
	}
	leave()
	for _, conn := range queue {
		_, err := conn.Read(make([]byte, 1)) // hangs if another has been served
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
}

func TestWhoGivesUpWaitingIsForgotten(t *testing.T) {
	t.Parallel()
	path := listen(t, 1)
	leave, err := limiter.Acquire(t.Context(), path)
	require.NoError(t, err)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := make(chan error)
	go func() { _, err := limiter.Acquire(ctx, path); gone <- err }()
	cancel(enough)
	require.ErrorIs(t, <-gone, enough)
	_, err = limiter.Acquire(ctx, path)
	require.ErrorIs(t, err, enough)
	leave()
	leave, err = limiter.Acquire(t.Context(), path)
	require.NoError(t, err)
	leave()
}

// A process that is killed gives its place back.
func TestTheDeadGiveTheirPlaceBack(t *testing.T) {
	t.Parallel()
	path := listen(t, 1)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), gatePath+"="+path)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err, "it is inside")
	require.NoError(t, child.Process.Kill())
	leave, err := limiter.Acquire(t.Context(), path)
	require.NoError(t, err)
	leave()
	_ = child.Wait()
}

func TestAClosedGateTurnsAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gate")
	gate, err := limiter.Listen(path, 1)
	require.NoError(t, err)
	leave, err := limiter.Acquire(t.Context(), path)
	require.NoError(t, err)
	waiting := make(chan error)
	go func() { _, err := limiter.Acquire(t.Context(), path); waiting <- err }()
	require.NoError(t, gate.Close())
	require.ErrorContains(t, <-waiting, "wait at the turnstile: ")
	leave()
	require.NoFileExists(t, path)
	_, err = limiter.Listen(path, 0)
	require.ErrorContains(t, err, "lets nobody through")
}
