package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/trace"
)

// run starts what is asked for, one thing after the other, until ctx ends or the
// slot is not needed any more.
func (sl *slot) run(ctx context.Context) {
	defer close(sl.ended)
	defer sl.enter(HostStopped)
	for {
		attempts, err := sl.take(ctx)
		switch {
		case err != nil:
			sl.close("the server is stopping: " + err.Error())
			return
		case attempts != nil:
			sl.try(ctx, attempts)
		default:
			sl.open(ctx)
		}
		if sl.forgotten() {
			return
		}
	}
}

// take waits for something to do: attempts, or nil for a session without a case.
func (sl *slot) take(ctx context.Context) (next AttemptRunner, err error) {
	for {
		taken := false
		sl.mu.Lock()
		changed := sl.changed
		switch {
		case ctx.Err() != nil:
		case len(sl.attempts) > 0:
			next, taken = sl.attempts[0], true
			sl.attempts, sl.problem = sl.attempts[1:], nil
		case sl.wanted:
			taken = true
		}
		if taken {
			sl.wanted, sl.phase = false, HostStarting
		}
		sl.mu.Unlock()
		if taken {
			return next, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// try makes attempts, one scene each.
func (sl *slot) try(ctx context.Context, attempts AttemptRunner) {
	show := &AttemptPublisher{slot: sl}
	err := attempts(ctx, show)
	show.Close()
	if err != nil && ctx.Err() == nil {
		sl.fail(err)
	}
	sl.enter(HostStopped)
}

// open starts a session without a case and sees it to its end.
func (sl *slot) open(ctx context.Context) {
	restored, err := sl.restored(ctx)
	if err != nil {
		sl.server.log.Warn("an earlier notebook could not be restored", "session", sl.id, "error", err)
	}
	recording, err := sl.record()
	if err == nil {
		err = sl.live(ctx, recording, restored)
		err = errors.Join(err, recording.Close())
	}
	if err != nil {
		sl.fail(err)
	}
	sl.enter(HostStopped)
}

func (sl *slot) live(ctx context.Context, recording *trace.Recording, restored *notebook.State) error {
	live, err := sl.server.cfg.StartSession(ctx, StartOptions{SessionID: sl.id, Journal: recording.Journal, RestoreFrom: restored, ChildLineSink: sl.printed.from})
	if err != nil {
		return fmt.Errorf("session %q could not start: %w", sl.id, err)
	}
	sc := sl.show(live, recording)
	cause := sl.until(ctx, live)
	err = live.End(context.WithoutCancel(ctx), cause)
	sl.finish(sc, nil)
	return err
}

// restored is the notebook that the next session goes on with: that of the
// session before it, else of the newest trace; nil: there is none.
func (sl *slot) restored(ctx context.Context) (*notebook.State, error) {
	sl.mu.Lock()
	sc := sl.scene
	sl.mu.Unlock()
	if sc != nil && sc.live != nil {
		state := sc.live.NotebookState()
		return &state, nil
	}
	return sl.stored(ctx)
}

// until waits until a session without a case is to end, and says why. The slot is
// stopping then.
func (sl *slot) until(ctx context.Context, live *session.Session) string {
	for {
		sl.mu.Lock()
		cause, again := sl.cause(ctx, live)
		changed := sl.changed
		if cause != "" {
			sl.phase = HostStopping // under the same lock: who sits down from now on wants another
		}
		sl.mu.Unlock()
		if cause != "" {
			return cause
		}
		var look <-chan time.Time
		if again > 0 {
			look = time.After(again)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-look:
		}
	}
}

// cause is why a session is to end; empty: it is not, but may be when as much time
// has passed, or, 0, when something has changed. The lock is held.
func (sl *slot) cause(ctx context.Context, live *session.Session) (cause string, again time.Duration) {
	limit := sl.server.cfg.IdleTimeout
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error(), 0
	case len(sl.attempts) > 0:
		return "a case is attached", 0
	case limit <= 0 || len(sl.sitting) > 0:
		return "", 0
	case len(live.Executions().OpenCells()) > 0:
		return "", limit
	}
	since := sl.lastLeft
	if _, at := live.Journal().LastEntry(); at.After(since) {
		since = at
	}
	if left := time.Until(since.Add(limit)); left > 0 {
		return "", left
	}
	return fmt.Sprintf("it was idle for %v", limit), 0
}

// errForgotten is what a console finds that comes to a slot which is not there any
// more: it takes a new one.
var errForgotten = errors.New("the session was not needed any more")

// forgotten lets go of a slot that nobody needs: its notebook is in its trace.
func (sl *slot) forgotten() bool {
	forget := false
	sl.change(func() {
		needed := sl.wanted || len(sl.attempts) > 0 || len(sl.sitting) > 0 || sl.problem != nil
		forget = !needed && (sl.scene == nil || sl.scene.result == nil)
		if forget {
			sl.closed = errForgotten
		}
	})
	if forget {
		sl.server.forget(sl)
	}
	return forget
}
