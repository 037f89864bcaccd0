package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server"
)

// watched is a session whose trace can be watched over WebSockets.
type watched struct {
	journal *trace.Journal
	path    string
	url     string
	ended   chan error // what each watch returned
	stop    context.CancelFunc
}

func newWatched(t *testing.T) *watched {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	w := &watched{journal: trace.NewJournal("s"), path: file.Name(), ended: make(chan error, 16), stop: stop}
	writer := trace.NewWriter(w.journal, file)
	var writing, watching sync.WaitGroup
	writing.Go(func() {
		if err := errors.Join(writer.Run(context.Background()), file.Close()); err != nil {
			t.Error(err)
		}
	})
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		watching.Add(1)
		defer watching.Done()
		w.ended <- w.serve(ctx, rw, r, writer)
	}))
	w.url = strings.Replace(web.URL, "http", "ws", 1)
	t.Cleanup(web.Close)
	t.Cleanup(watching.Wait)
	t.Cleanup(stop)
	t.Cleanup(writing.Wait)
	t.Cleanup(w.journal.Close)
	return w
}

func (w *watched) serve(ctx context.Context, rw http.ResponseWriter, r *http.Request, writer *trace.Writer) error {
	query := r.URL.Query()
	from, err := strconv.ParseInt(query.Get("from"), 10, 64)
	patience, perr := time.ParseDuration(query.Get("patience"))
	if err = errors.Join(err, perr); err != nil {
		return err
	}
	ws, err := websocket.Accept(rw, r, nil)
	if err != nil {
		return err
	}
	tail, err := trace.OpenTail(w.path, writer.AwaitSize)
	if err != nil {
		return err
	}
	defer tail.Close()
	return server.StreamTrace(ctx, protocol.NewWebSocket(context.Background(), ws, 0), tail, from, patience)
}

func (w *watched) append(n int, text string) {
	for range n {
		body := fmt.Appendf(nil, `{"type":"x","text":%q}`, text)
		w.journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: "x"}, Body: body})
	}
}

// dial begins to watch, with so much patience for each line, and returns the
// connection.
func (w *watched) dial(t *testing.T, from int64, patience time.Duration) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), fmt.Sprintf("%s?from=%d&patience=%v", w.url, from, patience), nil)
	require.NoError(t, err)
	ws.SetReadLimit(1 << 30)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// readAll reads the header and the entries from one on to the last, and returns
// how the connection ended after them.
func readAll(ctx context.Context, ws *websocket.Conn, from, last int64) (websocket.CloseError, error) {
	var end websocket.CloseError
	_, line, err := ws.Read(ctx)
	if err != nil {
		return end, err
	}
	if _, err := trace.ParseHeader(line); err != nil {
		return end, err
	}
	for seq := from; seq <= last; seq++ {
		_, line, err := ws.Read(ctx)
		if err != nil {
			return end, fmt.Errorf("entry %d: %w", seq, err)
		}
		if record, err := trace.ParseRecord(line); err != nil || record.Seq != seq {
			return end, fmt.Errorf("want entry %d, not %d: %w", seq, record.Seq, err)
		}
	}
	_, line, err = ws.Read(ctx)
	if err == nil {
		return end, fmt.Errorf("more than there is: %s", line)
	}
	if !errors.As(err, &end) {
		return end, err
	}
	return end, nil
}

// Watchers that come late, to the beginning of a long trace and to its middle,
// are sent what was and what comes, and told that the session has ended.
func TestWatch(t *testing.T) {
	t.Parallel()
	const before, after = 5_000, 500
	w := newWatched(t)
	w.append(before, "before")
	var watchers sync.WaitGroup
	for _, from := range []int64{-1, 1, before / 2, before + after} {
		ws := w.dial(t, from, time.Hour)
		watchers.Go(func() {
			end, err := readAll(t.Context(), ws, max(from, 1), before+after)
			if err != nil || end.Code != websocket.StatusNormalClosure || end.Reason != "the session has ended" {
				t.Errorf("from %d: %v, %v", from, end, err)
			}
		})
	}
	w.append(after, "after")
	w.journal.Close()
	watchers.Wait()
	for range 4 {
		require.NoError(t, <-w.ended)
	}
}

// Nobody notices a watcher that reads nothing: not who appends, not who watches
// too. It is dropped when its time is over.
func TestWatchDropsTheStalled(t *testing.T) {
	t.Parallel()
	const entries = 300 // more than sockets hold
	w := newWatched(t)
	w.dial(t, 1, time.Hour) // stalls for as long as the test
	reading := w.dial(t, 1, time.Hour)
	w.append(entries, strings.Repeat("x", 64<<10))
	stalled := w.dial(t, 1, 50*time.Millisecond)
	require.ErrorContains(t, <-w.ended, "too slow")
	_, err := readAll(t.Context(), stalled, 1, entries)
	require.Error(t, err, "it was not sent everything")

	w.journal.Close()
	end, err := readAll(t.Context(), reading, 1, entries)
	require.NoError(t, err)
	require.Equal(t, websocket.StatusNormalClosure, end.Code)
	require.NoError(t, <-w.ended)
}

// A watcher that leaves is noticed while there is nothing to send; what it says
// until then is passed over.
func TestWatchNoticesWhoLeaves(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	ws := w.dial(t, 1, time.Hour)
	_, _, err := ws.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"run_cell"}`)))
	w.append(1, "one")
	_, _, err = ws.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, ws.CloseNow())
	require.NoError(t, <-w.ended)
}

func TestWatchEndsWithTheServer(t *testing.T) {
	t.Parallel()
	w := newWatched(t)
	ws := w.dial(t, 1, time.Hour)
	_, _, err := ws.Read(t.Context())
	require.NoError(t, err)
	w.stop()
	_, _, err = ws.Read(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	require.NoError(t, <-w.ended)
}

// A trace that cannot be read is not taken for one that has ended.
func TestWatchSaysThatTheTraceCannotBeRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	ended := make(chan error, 1)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(rw, r, nil)
		if err != nil {
			ended <- err
			return
		}
		tail, err := trace.OpenTail(path, func(context.Context, int64) (int64, error) { return 0, errors.New("the disk is gone") })
		if err != nil {
			ended <- err
			return
		}
		defer tail.Close()
		ended <- server.StreamTrace(r.Context(), protocol.NewWebSocket(context.Background(), ws, 0), tail, 1, time.Minute)
	}))
	defer web.Close()
	ws, _, err := websocket.Dial(t.Context(), web.URL, nil)
	require.NoError(t, err)
	defer ws.CloseNow() //nolint:errcheck // it has ended
	for err == nil {
		_, _, err = ws.Read(t.Context())
	}
	require.Equal(t, websocket.StatusInternalError, websocket.CloseStatus(err))
	require.ErrorContains(t, err, "the trace cannot be read: the disk is gone")
	require.ErrorContains(t, <-ended, "the disk is gone")
}
