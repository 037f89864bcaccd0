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

// errSessionHostRemoved is what a console gets that joins a host just as the host is
// removed: it joins a new one instead.
var errSessionHostRemoved = errors.New("the session was not needed any more")

// runLoop is the run loop of a host: it runs queued attempts and wanted sessions, one
// after the other, until ctx ends or the host is not needed any more.
func (h *sessionHost) runLoop(ctx context.Context) {
	defer close(h.ended)
	defer h.setState(HostStopped)
	for {
		attempts, err := h.awaitJob(ctx)
		switch {
		case err != nil:
			h.close("the server is stopping: " + err.Error())
			return
		case attempts != nil:
			h.runAttempts(ctx, attempts)
		default:
			h.runSession(ctx)
		}
		if h.removeIfUnused() {
			return
		}
	}
}

// awaitJob waits until attempts are queued or a session is wanted. It returns the
// first attempts of the queue, or nil for a session without a case; the error is the
// cause of ctx.
func (h *sessionHost) awaitJob(ctx context.Context) (attempts AttemptRunner, err error) {
	for {
		found := false
		h.mu.Lock()
		changed := h.changed
		switch {
		case ctx.Err() != nil:
		case len(h.queue) > 0:
			attempts, found = h.queue[0], true
			h.queue, h.startErr = h.queue[1:], nil
		case h.sessionWanted:
			found = true
		}
		if found {
			h.sessionWanted, h.state = false, HostStarting
		}
		h.mu.Unlock()
		if found {
			return attempts, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// runAttempts makes attempts. Each becomes an instance.
func (h *sessionHost) runAttempts(ctx context.Context, attempts AttemptRunner) {
	publisher := &AttemptPublisher{host: h}
	err := attempts(ctx, publisher)
	publisher.Close()
	if err != nil && ctx.Err() == nil {
		h.recordStartFailure(err)
	}
	h.setState(HostStopped)
}

// runSession runs a session without a case until it ends.
func (h *sessionHost) runSession(ctx context.Context) {
	restored, err := h.notebookToRestore(ctx)
	if err != nil {
		h.server.log.Warn("cannot restore the notebook of an earlier session", "session", h.id, "error", err)
	}
	recording, err := h.startTrace()
	if err == nil {
		err = h.runWithTrace(ctx, recording, restored)
		err = errors.Join(err, recording.Close())
	}
	if err != nil {
		h.recordStartFailure(err)
	}
	h.setState(HostStopped)
}

func (h *sessionHost) runWithTrace(ctx context.Context, recording *trace.Recording, restored *notebook.State) error {
	live, err := h.server.cfg.StartSession(ctx, StartOptions{SessionID: h.id, Journal: recording.Journal, RestoreFrom: restored, ChildLineSink: h.output.lineSink})
	if err != nil {
		return fmt.Errorf("session %q could not start: %w", h.id, err)
	}
	instance := h.addInstance(live, recording)
	reason := h.awaitSessionEnd(ctx, live)
	err = live.End(context.WithoutCancel(ctx), reason)
	h.endInstance(instance, nil)
	return err
}

// notebookToRestore returns the notebook that the next session begins with: that of
// the session before, or of the newest stored trace. It returns nil if there is
// none.
func (h *sessionHost) notebookToRestore(ctx context.Context) (*notebook.State, error) {
	h.mu.Lock()
	instance := h.instance
	h.mu.Unlock()
	if instance != nil && instance.live != nil {
		state := instance.live.NotebookState()
		return &state, nil
	}
	return h.storedNotebook(ctx)
}

// awaitSessionEnd waits until a session without a case must end, sets the state to stopping
// and returns the reason.
func (h *sessionHost) awaitSessionEnd(ctx context.Context, live *session.Session) (reason string) {
	for {
		h.mu.Lock()
		reason, recheck := h.sessionEndReasonLocked(ctx, live)
		changed := h.changed
		if reason != "" {
			h.state = HostStopping // under the same lock: a console that joins from now on requests another session
		}
		h.mu.Unlock()
		if reason != "" {
			return reason
		}
		var timer <-chan time.Time
		if recheck > 0 {
			timer = time.After(recheck)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer:
		}
	}
}

// sessionEndReasonLocked returns why a session without a case must end. An empty reason
// means that it must not end yet; then recheck is how long until that may change by
// itself, 0 if it cannot.
func (h *sessionHost) sessionEndReasonLocked(ctx context.Context, live *session.Session) (reason string, recheck time.Duration) {
	timeout := h.server.cfg.IdleTimeout
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx).Error(), 0
	case len(h.queue) > 0:
		return "a case is attached", 0
	case timeout <= 0 || len(h.consoles) > 0:
		return "", 0
	case len(live.Executions().CellsWithOpenRuns()) > 0:
		return "", timeout
	}
	idleSince := h.lastLeft
	if _, at := live.Journal().LastEntry(); at.After(idleSince) {
		idleSince = at
	}
	if left := time.Until(idleSince.Add(timeout)); left > 0 {
		return "", left
	}
	return fmt.Sprintf("it was idle for %v", timeout), 0
}

// removeIfUnused removes the host from the server and returns true, unless a console
// has joined, work is queued, or there is a result or an error to be seen. Its
// notebook can be restored from the trace.
func (h *sessionHost) removeIfUnused() bool {
	unused := false
	h.updateAndNotify(func() {
		needed := h.sessionWanted || len(h.queue) > 0 || len(h.consoles) > 0 || h.startErr != nil
		unused = !needed && (h.instance == nil || h.instance.result == nil)
		if unused {
			h.closedErr = errSessionHostRemoved
		}
	})
	if unused {
		h.server.removeSessionHost(h)
	}
	return unused
}
