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

	"assay/internal/limiter"
	"assay/internal/subprocess/subprocesstest"
)

// socketEnvVar is an environment variable that holds the path of a limiter's socket. If
// it is set, the test binary acquires a slot there, writes a byte to stdout and waits
// to be killed.
const socketEnvVar = "LIMITER_TEST_SOCKET"

func admitAll(net.Conn) bool { return true }

func TestMain(m *testing.M) {
	if path := os.Getenv(socketEnvVar); path != "" {
		if _, err := limiter.AcquireSlot(context.Background(), path); err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.Write([]byte{1})
		select {}
	}
	subprocesstest.RunTestsOrRole(m, nil)
}

// startLimiter starts a limiter, closes it when the test ends, and returns the path of
// its socket.
func startLimiter(t *testing.T, slots int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limiter")
	l, err := limiter.Listen(path, slots, admitAll)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return path
}

func TestNeverGrantsMoreSlotsThanConfigured(t *testing.T) {
	t.Parallel()
	const slots, callers = 3, 100
	path := startLimiter(t, slots)
	var active, maxActive atomic.Int64
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			release, err := limiter.AcquireSlot(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			now := active.Add(1)
			for seen := maxActive.Load(); now > seen && !maxActive.CompareAndSwap(seen, now); seen = maxActive.Load() {
			}
			active.Add(-1)
			release()
		})
	}
	all.Wait()
	require.LessOrEqual(t, maxActive.Load(), int64(slots))
	require.Positive(t, maxActive.Load())
}

// A client that sends data loses its connection and its slot: the limiter reads at
// most one byte of it.
func TestClientThatSendsIsDisconnected(t *testing.T) {
	t.Parallel()
	path := startLimiter(t, 1)
	sender, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	require.NoError(t, err)
	defer sender.Close()
	_, err = sender.Read(make([]byte, 1)) // the slot is granted
	require.NoError(t, err)
	_, err = sender.Write(make([]byte, 1<<16))
	require.NoError(t, err)
	release, err := limiter.AcquireSlot(t.Context(), path)
	require.NoError(t, err)
	release()
}

func TestSlotsAreGrantedInOrderOfArrival(t *testing.T) {
	t.Parallel()
	path := startLimiter(t, 1)
	release, err := limiter.AcquireSlot(t.Context(), path)
	require.NoError(t, err)
	var queue []net.Conn
	for range 20 { // connections are accepted in the order in which they were made
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		require.NoError(t, err)
		queue = append(queue, conn)
	}
	release()
	for _, conn := range queue {
		_, err := conn.Read(make([]byte, 1)) // hangs if another connection got the slot
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
}

func TestCancelledAcquireLeavesTheQueue(t *testing.T) {
	t.Parallel()
	path := startLimiter(t, 1)
	release, err := limiter.AcquireSlot(t.Context(), path)
	require.NoError(t, err)
	errCancelled := errors.New("cancelled by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	acquired := make(chan error)
	go func() { _, err := limiter.AcquireSlot(ctx, path); acquired <- err }()
	cancel(errCancelled)
	require.ErrorIs(t, <-acquired, errCancelled)
	_, err = limiter.AcquireSlot(ctx, path)
	require.ErrorIs(t, err, errCancelled)
	release()
	release, err = limiter.AcquireSlot(t.Context(), path)
	require.NoError(t, err)
	release()
}

func TestKilledProcessReleasesItsSlot(t *testing.T) {
	t.Parallel()
	path := startLimiter(t, 1)
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), socketEnvVar+"="+path)
	stdout, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	_, err = stdout.Read(make([]byte, 1))
	require.NoError(t, err, "the child did not get the slot")
	require.NoError(t, child.Process.Kill())
	release, err := limiter.AcquireSlot(t.Context(), path)
	require.NoError(t, err)
	release()
	_ = child.Wait()
}

func TestAcquireFailsAfterClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limiter")
	l, err := limiter.Listen(path, 1, admitAll)
	require.NoError(t, err)
	release, err := limiter.AcquireSlot(t.Context(), path)
	require.NoError(t, err)
	acquired := make(chan error)
	go func() { _, err := limiter.AcquireSlot(t.Context(), path); acquired <- err }()
	require.NoError(t, l.Close())
	require.ErrorContains(t, <-acquired, "wait for a slot of the limiter: ")
	release()
	require.NoFileExists(t, path)
}

func TestListenRefusesLessThanOneSlot(t *testing.T) {
	t.Parallel()
	_, err := limiter.Listen(filepath.Join(t.TempDir(), "limiter"), 0, admitAll)
	require.ErrorContains(t, err, "want at least 1 slot, found 0")
}
