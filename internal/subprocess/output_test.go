package subprocess_test

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// DrainOutput passes on at once what the process wrote before its answer, without
// waiting for the next chunk interval.
func TestDrainOutputDoesNotWait(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var printed strings.Builder
	s := specForRole("echo")
	s.Output = func(stream string, chunk []byte) {
		mu.Lock()
		defer mu.Unlock()
		printed.WriteString(stream + ":" + string(chunk))
	}
	p := startProcess(t, newSupervisor(t), s)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	want := ""
	for range 50 { // quicker than one chunk per 10 ms
		require.NoError(t, p.Write([]byte(`"print"`)))
		_, err = p.Read()
		require.NoError(t, err)
		p.DrainOutput()
		want += "stdout:printed before the answer\n"
		mu.Lock()
		got := printed.String()
		mu.Unlock()
		require.Equal(t, want, got)
	}
}

// With OutputAfterFrames, text that a process prints after a frame is passed on when the frame is
// handled, although the text can be read before that.
func TestOutputAfterFramesWaitsUntilTheFrameIsHandled(t *testing.T) {
	t.Parallel()
	events := make(chan string, 10)
	s := specForRole("echo")
	s.OutputAfterFrames = true
	s.Output = func(_ string, chunk []byte) { events <- string(chunk) }
	p := startProcess(t, newSupervisor(t), s)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	pipe, err := os.Open("/proc/" + strconv.Itoa(p.PID()) + "/fd/1")
	require.NoError(t, err)
	defer pipe.Close()

	received, handle := make(chan struct{}), make(chan struct{})
	go func() {
		for {
			if _, err := p.Read(); err != nil {
				return
			}
			received <- struct{}{}
			<-handle
			events <- "frame"
		}
	}()
	for range 20 {
		require.NoError(t, p.Write([]byte(`"print after"`)))
		<-received
		require.Eventually(t, func() bool {
			unread, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
			return err == nil && unread > 0 || len(events) > 0
		}, testWaitTimeout, time.Millisecond)
		handle <- struct{}{}
		require.Equal(t, "frame", <-events)
		require.Equal(t, "printed after the answer\n", <-events)
	}
}

// Stop ends a process whose output waits for a frame that is never handled.
func TestStopWithOutputThatWaitsForAFrame(t *testing.T) {
	t.Parallel()
	s := specForRole("echo")
	s.OutputAfterFrames = true
	p := startProcess(t, newSupervisor(t), s)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	require.NoError(t, p.Write([]byte(`"print after"`)))
	_, err = p.Read()
	require.NoError(t, err)
	require.NoError(t, p.Stop(t.Context()))
}

func TestFloodIsDrainedAndOnlyItsEndKept(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	s := specForRole("floods")
	s.Output = func(stream string, chunk []byte) {
		require.LessOrEqual(t, len(chunk), 64<<10)
		got[stream] += len(chunk)
	}
	p := startProcess(t, newSupervisor(t), s)
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err, "16 MiB without a newline do not block it")
	p.DrainOutput()
	require.Equal(t, map[string]int{"stdout": 8 << 20, "stderr": 8 << 20}, got)
	require.Len(t, p.LastOutput(), 4<<10)
}

// Stop does not wait for an unrelated process that holds the output pipes open.
func TestStopWithPipesHeldByAnother(t *testing.T) {
	t.Parallel()
	p := startProcess(t, newSupervisor(t), specForRole("echo"))
	_, err := p.AwaitReady(t.Context(), testWaitTimeout)
	require.NoError(t, err)
	held, err := os.OpenFile("/proc/"+strconv.Itoa(p.PID())+"/fd/1", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer held.Close()
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(context.Background()) }()
	select {
	case err := <-stopped:
		require.NoError(t, err)
	case <-time.After(testWaitTimeout):
		require.Fail(t, "Stop does not return")
	}
}
