package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/server/endpoint"
)

const (
	// watcherWriteTimeout is how long a watcher may take to read one message. Then
	// its connection is closed.
	watcherWriteTimeout = 10 * time.Second

	// maxWatcherMessageBytes is the size of the largest message that a watcher may
	// send. Its messages are ignored.
	maxWatcherMessageBytes = 4 << 10

	// closeInternalError is the close code when a trace cannot be read: the watcher
	// must not take that for the end of the session.
	closeInternalError protocol.CloseCode = 1011
)

// Why a stream to a watcher ends, besides io.EOF (the end of what is watched) and the
// cause of the context.
var (
	errWatcherLeft     = errors.New("the watcher has left")
	errWatcherTooSlow  = errors.New("too slow: it has not read a line in time")
	errTraceUnreadable = errors.New("the trace cannot be read")
)

// watchSource is what a client of /watch or /printed watches.
type watchSource struct {
	name string // for the log: a session id, or run/attempt

	// stream writes messages until there are no more (io.EOF), ctx ends or write
	// fails. It returns why it ended.
	stream func(ctx context.Context, write func(message []byte) error) error

	// waitForStop waits until the server stops and the source has had time to end
	// by itself. It returns false if cancelled is closed first.
	waitForStop func(ctx context.Context, cancelled <-chan struct{}) bool
}

// serveWatcher upgrades a request to a WebSocket and streams source to it.
func (s *Server) serveWatcher(ctx context.Context, w http.ResponseWriter, r *http.Request, source watchSource) {
	ws, err := websocket.Accept(w, r, s.webSocketAcceptOptions())
	if err != nil {
		s.log.Debug("watcher not upgraded to a WebSocket", "error", err) // Accept has answered the request
		return
	}
	defer s.metrics.AddConsole("watch")()
	ctx, cancel := contextUntilStopped(ctx, source.waitForStop)
	defer cancel()
	conn := protocol.NewWebSocket(context.WithoutCancel(ctx), ws, maxWatcherMessageBytes)
	if err := streamToWatcher(ctx, conn, watcherWriteTimeout, source.stream); err != nil {
		s.log.Warn("watcher disconnected by the server", "session", source.name, "error", err)
	}
}

// contextUntilStopped returns a context that ends stopGrace after waitForStop has
// returned true: when the server stops, what ctx belongs to may still be served until
// it has ended, and a moment longer. The caller must call cancel, which waits for the
// goroutine behind it.
func contextUntilStopped(ctx context.Context, waitForStop func(context.Context, <-chan struct{}) bool) (stopCtx context.Context, cancel func()) {
	stopCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if !waitForStop(ctx, stopCtx.Done()) {
			return
		}
		select {
		case <-time.After(stopGrace):
			stop()
		case <-stopCtx.Done():
		}
	})
	return stopCtx, func() {
		stop()
		waiting.Wait()
	}
}

// streamToWatcher calls stream with a function that writes to conn, each message within
// writeTimeout, and closes conn with the code and reason that belong to how stream
// ended. It returns nil if the source or ctx has ended or the watcher has left, and
// otherwise an error: the watcher was too slow, or the trace cannot be read.
func streamToWatcher(ctx context.Context, conn protocol.Conn, writeTimeout time.Duration, stream func(context.Context, func([]byte) error) error) error {
	ctx, end := context.WithCancelCause(ctx)
	timer := time.AfterFunc(writeTimeout, func() { end(errWatcherTooSlow) })
	timer.Stop() // it runs only during a write
	var others sync.WaitGroup
	others.Go(func() { end(discardMessages(conn)) })
	others.Go(func() {
		<-ctx.Done()
		_ = conn.Close(closeStatus(context.Cause(ctx))) // also ends the read, and a write in progress
	})
	end(stream(ctx, func(message []byte) error {
		timer.Reset(writeTimeout)
		defer timer.Stop()
		return conn.Write(message)
	}))
	others.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errWatcherTooSlow) || errors.Is(cause, errTraceUnreadable) {
		return cause
	}
	return nil
}

// discardMessages reads what a watcher sends until it leaves.
func discardMessages(conn protocol.Conn) error {
	for {
		if _, err := conn.Read(); err != nil {
			return errWatcherLeft
		}
	}
}

// closeStatus returns the close code and reason for a watcher whose stream has ended
// for this cause.
func closeStatus(cause error) (code protocol.CloseCode, reason string) {
	switch {
	case errors.Is(cause, io.EOF):
		return protocol.CloseNormal, "the session has ended"
	case errors.Is(cause, errWatcherLeft):
		return protocol.CloseNormal, ""
	case errors.Is(cause, errWatcherTooSlow):
		return protocol.ClosePolicyViolation, cause.Error()
	case errors.Is(cause, errTraceUnreadable):
		return closeInternalError, cause.Error()
	default:
		return protocol.CloseGoingAway, "the server is stopping"
	}
}

// serveWatch handles /watch: the trace of a session or of a stored attempt, from an
// entry on, and then as it grows.
func (s *Server) serveWatch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	s.connections.Add(1)
	defer s.connections.Done()
	q := endpoint.ReadParameters(r, "session", "run", "attempt", "from", "bodies")
	from, brief := q.Number("from", 1, 0, math.MaxInt64), q.OneOf("bodies", "true", "false") == "false"
	id, run, attempt := q.Text("session"), q.Text("run"), q.Text("attempt")
	if (run == "") != (attempt == "") || run != "" && id != "" {
		q.Failf("want session, or run and attempt")
	}
	if err := q.Err(); err != nil {
		return err
	}
	open := func() (watchedTrace, error) { return s.openSessionTrace(sessionIDOrDefault(id)) }
	if run != "" {
		open = func() (watchedTrace, error) { return s.openAttemptTrace(run, attempt) }
	}
	opened, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = opened.close() }()
	s.serveWatcher(ctx, w, r, watchSource{name: opened.name, stream: traceStream(opened.tail, from, brief), waitForStop: opened.waitForStop})
	return nil
}

// traceStream returns a function that streams a trace: the header, and the entries
// from number from on, each as one message. With brief, entries are sent without the
// messages in them. It reads at the watcher's pace, so that it does not slow down the
// writer of the trace.
func traceStream(tail *trace.Tail, from int64, brief bool) func(context.Context, func([]byte) error) error {
	return func(ctx context.Context, write func([]byte) error) error {
		for header := true; ; header = false {
			line, err := tail.Next(ctx)
			if err == nil {
				if brief {
					line = trace.LineWithoutMessage(line)
				}
				if write(line) != nil {
					return errWatcherLeft
				}
				if header {
					err = tail.SkipTo(ctx, from)
				}
			}
			switch {
			case err == nil:
			case errors.Is(err, io.EOF), ctx.Err() != nil:
				return err
			default:
				return fmt.Errorf("%w: %w", errTraceUnreadable, err)
			}
		}
	}
}

// watchedTrace is an open trace. The caller must close it.
type watchedTrace struct {
	name        string // as in watchSource
	tail        *trace.Tail
	close       func() error
	waitForStop func(ctx context.Context, cancelled <-chan struct{}) bool // as in watchSource
}

// openSessionTrace opens the newest trace of a session id. The error wraps
// runs.ErrNotFound if there is none.
func (s *Server) openSessionTrace(id string) (watchedTrace, error) {
	recording, path := s.newestTracePath(id)
	opened := watchedTrace{name: id, waitForStop: waitForServerStop}
	var err error
	switch {
	case recording != nil:
		opened.tail, err = recording.OpenTail()
	case path != "":
		opened.tail, err = trace.OpenTail(path, nil)
	default:
		return opened, fmt.Errorf("there is no session %s: %w", strconv.Quote(id), runs.ErrNotFound)
	}
	if err != nil {
		return opened, err
	}
	opened.close = opened.tail.Close
	if host := s.sessionHostByID(id); host != nil {
		opened.waitForStop = host.waitForStop
	}
	return opened, nil
}

// waitForServerStop waits until ctx, that of the server, ends. It returns false if
// cancelled is closed first.
func waitForServerStop(ctx context.Context, cancelled <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return true
	case <-cancelled:
		return false
	}
}

// openAttemptTrace opens the trace of a stored attempt, which any program may still be
// writing. The error wraps runs.ErrNotFound if there is none.
func (s *Server) openAttemptTrace(run, attempt string) (watchedTrace, error) {
	opened := watchedTrace{name: run + "/" + attempt, waitForStop: waitForServerStop}
	if s.runs == nil {
		return opened, fmt.Errorf("run %q: %w", run, runs.ErrNotFound)
	}
	folder, err := s.runs.Open(run)
	if err != nil {
		return opened, err
	}
	file, err := folder.OpenFile(attempt, "trace.jsonl")
	if err != nil {
		return opened, errors.Join(err, folder.Close())
	}
	opened.tail = trace.NewTail(file, attemptGrowthPoller(folder, attempt))
	opened.close = func() error { return errors.Join(opened.tail.Close(), folder.Close()) }
	return opened, nil
}

// attemptPollInterval is how often the size of an attempt's trace is checked.
const attemptPollInterval = 100 * time.Millisecond

// attemptGrowthPoller returns a function for [trace.NewTail] that polls the size of an
// attempt's trace until it exceeds beyond bytes, and returns the size. It returns
// io.EOF when the attempt has its line or no program makes the run any more, an error
// if the file has become shorter, and the cause of ctx.
func attemptGrowthPoller(run *runs.Run, attempt string) func(ctx context.Context, beyond int64) (int64, error) {
	return func(ctx context.Context, beyond int64) (int64, error) {
		ticker := time.NewTicker(attemptPollInterval)
		defer ticker.Stop()
		for {
			// HasAttemptEnded must be asked before the size: then the file is whole.
			ended, err := run.HasAttemptEnded(ctx, attempt)
			if err != nil {
				return 0, err
			}
			size, err := run.TraceSize(attempt)
			switch {
			case err != nil:
				return 0, err
			case size < beyond:
				return size, fmt.Errorf("the trace of %s has become shorter while it was read", attempt)
			case size > beyond:
				return size, nil
			case ended:
				return size, io.EOF
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return size, context.Cause(ctx)
			}
		}
	}
}
