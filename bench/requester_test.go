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

// socketBuffer is that of the sockets that real children have.
const socketBuffer = 1 << 20

// sockets are the two ends of a Unix socketpair, closed when the test ends.
func sockets(t *testing.T) (ours, theirs protocol.Conn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	conns := make([]protocol.Conn, len(fds))
	for i, fd := range fds {
		require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer))
		file := os.NewFile(uintptr(fd), "socketpair")
		conn, err := net.FileConn(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		conns[i] = protocol.NewStream(conn, 0)
		t.Cleanup(func() { _ = conns[i].Close(protocol.CloseNormal, "") })
	}
	return conns[0], conns[1]
}

// line is a connection to something that answers what is asked on it.
type line struct {
	asker  protocol.Conn
	frame  []byte // what is asked, which ends as txEnd writes it
	asked  int
	others int    // frames that were not the answer that was waited for
	settle func() // waits until all that was asked is written down; nil: nothing is
}

// txEnd is the end of a frame that is asked.
const txEnd = `"tx_id":"tx_%012x"}`

// txSize is how many bytes of it are the id.
const txSize = len("tx_") + 12

func txOf(frame []byte) []byte { return frame[len(frame)-len(`"}`)-txSize : len(frame)-len(`"}`)] }

// ask sends the frame under a new id and waits for its answer.
func (l *line) ask() (time.Duration, error) {
	l.asked++
	copy(txOf(l.frame), fmt.Appendf(nil, "tx_%012x", l.asked))
	began := time.Now()
	if err := l.asker.Write(l.frame); err != nil {
		return 0, err
	}
	for {
		answer, err := l.asker.Read()
		if err != nil {
			return 0, err
		}
		took := time.Since(began)
		switch {
		case !bytes.Contains(answer, txOf(l.frame)):
			l.others++
		case bytes.Contains(answer, []byte(`"status":"error"`)):
			return 0, fmt.Errorf("an error: %.200s", answer)
		default:
			return took, nil
		}
	}
}

// ask returns what asks n times on each line, one after the other, on all lines
// at once.
func ask(t *testing.T, lines []*line, n int) func() []time.Duration {
	t.Helper()
	return func() []time.Duration {
		times := make([]time.Duration, n*len(lines))
		var askers errgroup.Group
		for i, l := range lines {
			askers.Go(func() error { return l.askAll(times[i*n : (i+1)*n]) })
		}
		require.NoError(t, askers.Wait())
		for _, l := range lines {
			if l.settle != nil {
				l.settle()
			}
		}
		return times
	}
}

func (l *line) askAll(times []time.Duration) (err error) {
	for i := range times {
		if times[i], err = l.ask(); err != nil {
			return err
		}
	}
	return nil
}

// editFrame is an edit_cell of cellID, of so many bytes in all, of code in which every
// line has something escaped.
func editFrame(size int) []byte {
	return filled(fmt.Sprintf(`{"type":"agent_action","action":"edit_cell","params":{"cell_id":%q,"source":"`, cellID), `"},`, size)
}

// filled is a frame of so many bytes in all, which end as txEnd writes it, with
// code between start and end.
func filled(start, end string, size int) []byte {
	const code = `total = compute(\"column\", 1)\n`
	end += fmt.Sprintf(txEnd, 0)
	left := size - len(start) - len(end)
	return []byte(start + strings.Repeat(code, left/len(code)) + strings.Repeat("#", left%len(code)) + end)
}

// contextFrame asks for the notebook.
func contextFrame() []byte {
	return []byte(`{"type":"agent_action","action":"get_context","params":{},` + fmt.Sprintf(txEnd, 0))
}

// editAnswer is what the server's document says to such an edit.
func editAnswer(tx []byte) []byte {
	return fmt.Appendf(nil, `{"type":"agent_action_response","tx_id":"%s","status":"success","cell_id":%q}`, tx, cellID)
}

// answerEdits answers each action that comes in on conn, until it is closed.
func answerEdits(conn protocol.Conn) {
	for {
		frame, err := conn.Read()
		if err != nil {
			return
		}
		if conn.Write(editAnswer(txOf(frame))) != nil {
			return
		}
	}
}

// copyFrames passes frames on as they are, until one of both is closed.
func copyFrames(from, to protocol.Conn) {
	for {
		frame, err := from.Read()
		if err != nil || to.Write(frame) != nil {
			return
		}
	}
}

// inBackground runs tasks until the test ends, which closes the connections that
// they wait on.
func inBackground(t *testing.T, on []protocol.Conn, tasks ...func()) {
	t.Helper()
	var all sync.WaitGroup
	for _, task := range tasks {
		all.Go(task)
	}
	t.Cleanup(func() {
		for _, conn := range on {
			_ = conn.Close(protocol.CloseNormal, "")
		}
		all.Wait()
	})
}

// paced lets all lines ask every so often for a while, and returns what each
// round trip took, from when it was due if that was not kept.
func paced(lines []*line, every, within time.Duration) ([]time.Duration, error) {
	n := int(within / every)
	times := make([]time.Duration, n*len(lines))
	var askers errgroup.Group
	for i, l := range lines {
		first := time.Now().Add(every * time.Duration(i) / time.Duration(len(lines)))
		askers.Go(func() error { return l.askPaced(first, every, times[i*n:(i+1)*n]) })
	}
	return times, askers.Wait()
}

// askPaced asks first at a time and then every so often, or as soon as it is
// answered.
func (l *line) askPaced(due time.Time, every time.Duration, times []time.Duration) error {
	wait := time.NewTimer(time.Hour)
	defer wait.Stop()
	for i := range times {
		behind := max(0, time.Since(due))
		if behind == 0 {
			wait.Reset(time.Until(due))
			<-wait.C
		}
		took, err := l.ask()
		if err != nil {
			return err
		}
		times[i] = took + behind
		due = due.Add(every)
	}
	return nil
}
