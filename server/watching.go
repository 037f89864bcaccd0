package server

import (
	"context"
	"errors"
	"fmt"
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

// watcherLimit is the largest message of a watcher, which has nothing to say, in
// bytes.
const watcherLimit = 4 << 10

// watched is a trace that somebody watches. Whoever opened it must close it.
type watched struct {
	name  string // in the log
	tail  *trace.Tail
	close func() error

	// untilStop waits until the server stops and the trace has had time to end;
	// false: left was closed first.
	untilStop func(ctx context.Context, left <-chan struct{}) bool
}

// serveWatch is /watch: the trace of a session or an attempt from an entry on,
// then live.
func (s *Server) serveWatch(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	s.consoles.Add(1)
	defer s.consoles.Done()
	q := endpoint.ReadParameters(r, "session", "run", "attempt", "from", "bodies")
	want := wanted{from: q.Number("from", 1, 0, math.MaxInt64), brief: q.OneOf("bodies", "true", "false") == "false"}
	id, run, attempt := q.Text("session"), q.Text("run"), q.Text("attempt")
	if (run == "") != (attempt == "") || run != "" && id != "" {
		q.Fail("want session, or run and attempt")
	}
	if err := q.Err(); err != nil {
		return err
	}
	open := func() (watched, error) { return s.watchSession(idOr(id)) }
	if run != "" {
		open = func() (watched, error) { return s.watchAttempt(run, attempt) }
	}
	of, err := open()
	if err != nil {
		return err
	}
	defer func() { _ = of.close() }()
	ws, err := websocket.Accept(w, r, s.accept())
	if err != nil {
		s.log.Debug("not a watcher", "error", err) // it has been answered
		return nil
	}
	defer s.metrics.AddConsole("watch")()
	ctx, end := watching(ctx, of.untilStop)
	defer end()
	if err := watch(ctx, protocol.NewWebSocket(context.WithoutCancel(ctx), ws, watcherLimit), of.tail, want); err != nil {
		s.log.Warn("a watcher was sent away", "session", of.name, "error", err)
	}
	return nil
}

// watchSession opens the trace of a session.
func (s *Server) watchSession(id string) (watched, error) {
	recording, path := s.traceOf(id)
	of := watched{name: id, untilStop: untilLeft}
	var err error
	switch {
	case recording != nil:
		of.tail, err = recording.OpenTail()
	case path != "":
		of.tail, err = trace.OpenTail(path, nil)
	default:
		return of, fmt.Errorf("there is no session %s: %w", strconv.Quote(id), runs.ErrNotFound)
	}
	if err != nil {
		return of, err
	}
	of.close = of.tail.Close
	if sl := s.known(id); sl != nil {
		of.untilStop = sl.untilStop
	}
	return of, nil
}

// watchAttempt opens the trace of an attempt, whoever makes it.
func (s *Server) watchAttempt(run, attempt string) (watched, error) {
	of := watched{name: run + "/" + attempt, untilStop: untilLeft}
	if s.runs == nil {
		return of, fmt.Errorf("run %q: %w", run, runs.ErrNotFound)
	}
	folder, err := s.runs.Open(run)
	if err != nil {
		return of, err
	}
	file, err := folder.OpenFile(attempt, "trace.jsonl")
	if err != nil {
		return of, errors.Join(err, folder.Close())
	}
	of.tail = trace.NewTail(file, growth(folder, attempt))
	of.close = func() error { return errors.Join(of.tail.Close(), folder.Close()) }
	return of, nil
}

// untilLeft is the untilStop of a trace that waits for nobody.
func untilLeft(ctx context.Context, left <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return true
	case <-left:
		return false
	}
}

// watching is how long something can be watched: when the server stops, until it
// has ended, for which untilStop waits, and a moment longer, so that its end is
// seen too.
func watching(ctx context.Context, untilStop func(context.Context, <-chan struct{}) bool) (context.Context, func()) {
	watched, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if !untilStop(ctx, watched.Done()) {
			return
		}
		select {
		case <-time.After(lastWrite):
			cancel()
		case <-watched.Done():
		}
	})
	return watched, func() {
		cancel()
		waiting.Wait()
	}
}
