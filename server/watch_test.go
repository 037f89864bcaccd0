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

// watchedTrace is a trace that a test writes, and that can be watched over WebSockets.
type watchedTrace struct {
	journal *trace.Journal
	path    string
	url     string
	ended   chan error // result of each StreamTrace
	stop    context.CancelFunc
}

func newWatchedTrace(t *testing.T) *watchedTrace {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	w := &watchedTrace{journal: trace.NewJournal("s"), path: file.Name(), ended: make(chan error, 16), stop: stop}
	writer := trace.NewWriter(w.journal, file, nil)
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

// serve streams the trace as the query says: from an entry on, with a timeout for each
// message.
func (w *watchedTrace) serve(ctx context.Context, rw http.ResponseWriter, r *http.Request, writer *trace.Writer) error {
	query := r.URL.Query()
	from, err := strconv.ParseInt(query.Get("from"), 10, 64)
	timeout, timeoutErr := time.ParseDuration(query.Get("timeout"))
	if err = errors.Join(err, timeoutErr); err != nil {
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
	return server.StreamTrace(ctx, protocol.NewWebSocket(context.Background(), ws, 0), tail, from, timeout)
}

// append appends n entries with this text.
func (w *watchedTrace) append(n int, text string) {
	for range n {
		body := fmt.Appendf(nil, `{"type":"x","text":%q}`, text)
		w.journal.Append(trace.Entry{Hop: trace.HopSession, Envelope: protocol.Envelope{Type: "x"}, Body: body})
	}
}

// dial starts to watch from an entry on. The server gives the watcher this timeout for
// each message.
func (w *watchedTrace) dial(t *testing.T, from int64, timeout time.Duration) *websocket.Conn {
	t.Helper()
	ws, _, err := websocket.Dial(t.Context(), fmt.Sprintf("%s?from=%d&timeout=%v", w.url, from, timeout), nil)
	require.NoError(t, err)
	ws.SetReadLimit(1 << 30)
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

// readWatchedEntries reads the header and the entries with these numbers, and returns how the
// server closed the connection after them.
func readWatchedEntries(ctx context.Context, ws *websocket.Conn, from, last int64) (websocket.CloseError, error) {
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
		return end, fmt.Errorf("unexpected message: %s", line)
	}
	if !errors.As(err, &end) {
		return end, err
	}
	return end, nil
}

// A watcher gets the entries that the trace already has, from the one that it asked for,
// then new ones, and a normal close when the session has ended.
func TestWatch(t *testing.T) {
	t.Parallel()
	const before, after = 5_000, 500
	w := newWatchedTrace(t)
	w.append(before, "before")
	var watchers sync.WaitGroup
	for _, from := range []int64{-1, 1, before / 2, before + after} {
		ws := w.dial(t, from, time.Hour)
		watchers.Go(func() {
			end, err := readWatchedEntries(t.Context(), ws, max(from, 1), before+after)
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

// A watcher that does not read delays neither the writer nor other watchers, and is closed
// after its timeout.
func TestWatchClosesSlowWatchers(t *testing.T) {
	t.Parallel()
	const entries = 300 // more than the sockets buffer
	w := newWatchedTrace(t)
	w.dial(t, 1, time.Hour) // never reads
	reading := w.dial(t, 1, time.Hour)
	w.append(entries, strings.Repeat("x", 64<<10))
	stalled := w.dial(t, 1, 50*time.Millisecond)
	require.ErrorContains(t, <-w.ended, "too slow")
	_, err := readWatchedEntries(t.Context(), stalled, 1, entries)
	require.Error(t, err, "it was not sent everything")

	w.journal.Close()
	end, err := readWatchedEntries(t.Context(), reading, 1, entries)
	require.NoError(t, err)
	require.Equal(t, websocket.StatusNormalClosure, end.Code)
	require.NoError(t, <-w.ended)
}

// The stream ends when the watcher disconnects, even if there is nothing to send. Messages
// of the watcher are ignored.
func TestWatchEndsWhenTheWatcherDisconnects(t *testing.T) {
	t.Parallel()
	w := newWatchedTrace(t)
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

// When the server stops, watchers are closed with code 1001.
func TestWatchEndsWithTheServer(t *testing.T) {
	t.Parallel()
	w := newWatchedTrace(t)
	ws := w.dial(t, 1, time.Hour)
	_, _, err := ws.Read(t.Context())
	require.NoError(t, err)
	w.stop()
	_, _, err = ws.Read(t.Context())
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(err))
	require.NoError(t, <-w.ended)
}

// If the trace cannot be read, the watcher is closed with code 1011 and the error, not as if
// the session had ended.
func TestWatchOfAnUnreadableTrace(t *testing.T) {
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
