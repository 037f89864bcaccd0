//go:build bench

package bench_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"assay/internal/protocol"
)

// socketBufferBytes is the send buffer size of the sockets that Assay gives its child
// processes.
const socketBufferBytes = 1 << 20

// socketPair returns the two ends of a Unix socket pair, closed when the test ends.
func socketPair(t *testing.T) (ours, theirs protocol.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	conns := make([]protocol.Conn, len(fds))
	for i, fd := range fds {
		require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBufferBytes))
		file := os.NewFile(uintptr(fd), "socketpair")
		conn, err := net.FileConn(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		conns[i] = protocol.NewStream(conn, 0)
		t.Cleanup(func() { _ = conns[i].Close(protocol.CloseNormal, "") })
	}
	return conns[0], conns[1]
}

// requester sends requests on a connection and waits for their answers.
type requester struct {
	conn            protocol.Conn
	frame           []byte // the request; it ends with frameEndFormat
	requestCount    int
	otherFrameCount int    // frames that arrived instead of the awaited answer
	waitForTrace    func() // waits until the requests are in the trace file; nil without a trace
}

// frameEndFormat is the end of every request frame: the request's id.
const frameEndFormat = `"tx_id":"tx_%012x"}`

// txIDBytes is the length of a request id.
const txIDBytes = len("tx_") + 12

// txIDOf returns the bytes of frame that hold its request id.
func txIDOf(frame []byte) []byte { return frame[len(frame)-len(`"}`)-txIDBytes : len(frame)-len(`"}`)] }

// timeRoundTrip sends the frame with a new id and returns the time until its answer. It
// counts other frames that arrive meanwhile. It fails if the answer is an error or the
// connection is closed.
func (r *requester) timeRoundTrip() (time.Duration, error) {
	r.requestCount++
	copy(txIDOf(r.frame), fmt.Appendf(nil, "tx_%012x", r.requestCount))
	began := time.Now()
	if err := r.conn.Write(r.frame); err != nil {
		return 0, err
	}
	for {
		answer, err := r.conn.Read()
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		switch {
		case !bytes.Contains(answer, txIDOf(r.frame)):
			r.otherFrameCount++
		case bytes.Contains(answer, []byte(`"status":"error"`)):
			return 0, fmt.Errorf("the answer is an error: %.200s", answer)
		default:
			return took, nil
		}
	}
}

// roundTripRound returns a round in which all requesters make n round trips at the same
// time, each one after the other.
func roundTripRound(t *testing.T, requesters []*requester, n int) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		times := make([]time.Duration, n*len(requesters))
		var group errgroup.Group
		for i, r := range requesters {
			group.Go(func() error { return r.timeRoundTrips(times[i*n : (i+1)*n]) })
		}
		require.NoError(t, group.Wait())
		for _, r := range requesters {
			if r.waitForTrace != nil {
				r.waitForTrace()
			}
		}
		return times
	}
}

// timeRoundTrips fills times with the durations of round trips, one after the other.
func (r *requester) timeRoundTrips(times []time.Duration) (err error) {
	for i := range times {
		if times[i], err = r.timeRoundTrip(); err != nil {
			return err
		}
	}
	return nil
}

// newEditCellRequest returns an edit_cell of editedCellID of size bytes. Every line of its
// source contains escaped characters.
func newEditCellRequest(size int) []byte {
	return newFilledFrame(fmt.Sprintf(`{"type":"agent_action","action":"edit_cell","params":{"cell_id":%q,"source":"`, editedCellID), `"},`, size)
}

// newFilledFrame returns a frame of size bytes: start, source code as filling, end, and a
// request id.
func newFilledFrame(start, end string, size int) []byte {
	const code = `total = compute(\"column\", 1)\n`
	end += fmt.Sprintf(frameEndFormat, 0)
	left := size - len(start) - len(end)
	return []byte(start + strings.Repeat(code, left/len(code)) + strings.Repeat("#", left%len(code)) + end)
}

// newContextFrame returns a get_context request.
func newContextFrame() []byte {
	return []byte(`{"type":"agent_action","action":"get_context","params":{},` + fmt.Sprintf(frameEndFormat, 0))
}

// editAnswer returns the answer of the server's document to an edit_cell with the request
// id tx.
func editAnswer(tx []byte) []byte {
	return fmt.Appendf(nil, `{"type":"agent_action_response","tx_id":"%s","status":"success","cell_id":%q}`, tx, editedCellID)
}

// answerEdits answers each action on conn until it is closed.
func answerEdits(conn protocol.Conn) {
	for {
		frame, err := conn.Read()
		if err != nil {
			return
		}
		if conn.Write(editAnswer(txIDOf(frame))) != nil {
			return
		}
	}
}

// copyFrames copies frames without decoding them until one of the connections is closed.
func copyFrames(from, to protocol.Conn) {
	for {
		frame, err := from.Read()
		if err != nil || to.Write(frame) != nil {
			return
		}
	}
}

// runTasksUntilCleanup runs tasks in the background. When the test ends it closes the
// connections conns, which must end the tasks, and waits for them.
func runTasksUntilCleanup(t *testing.T, conns []protocol.Conn, tasks ...func()) {
	t.Helper()
	var all sync.WaitGroup
	for _, task := range tasks {
		all.Go(task)
	}
	t.Cleanup(func() {
		for _, conn := range conns {
			_ = conn.Close(protocol.CloseNormal, "")
		}
		all.Wait()
	})
}

// timePacedRoundTrips has each requester send a request every interval for a period and
// returns the times of all round trips. A request that could not be sent when it was due
// counts from when it was due.
func timePacedRoundTrips(requesters []*requester, interval, period time.Duration) ([]time.Duration, error) {
	n := int(period / interval)
	times := make([]time.Duration, n*len(requesters))
	var group errgroup.Group
	for i, r := range requesters {
		first := time.Now().Add(interval * time.Duration(i) / time.Duration(len(requesters)))
		group.Go(func() error { return r.timePacedRoundTrips(first, interval, times[i*n:(i+1)*n]) })
	}
	return times, group.Wait()
}

// timePacedRoundTrips fills times with round trips: the first starts at due, each
// further one an interval later, or at once if the answer before came too late. Its time
// then includes the delay.
func (r *requester) timePacedRoundTrips(due time.Time, interval time.Duration, times []time.Duration) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for i := range times {
		delay := max(0, time.Since(due))
		if delay == 0 {
			timer.Reset(time.Until(due))
			<-timer.C
		}
		took, err := r.timeRoundTrip()
		if err != nil {
			return err
		}
		times[i] = took + delay
		due = due.Add(interval)
	}
	return nil
}
