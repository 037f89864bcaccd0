package server

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"assay/eval/session"
	"assay/internal/trace"
)

// HostState is the state of what is behind a session's id.
type HostState string

// The states of a session's id. After stopped comes starting again, if a console
// wants a session or a case is attached.
const (
	HostCreating HostState = "creating" // no session has been started yet
	HostStarting HostState = "starting"
	HostRunning  HostState = "running"
	HostStopping HostState = "stopping"
	HostStopped  HostState = "stopped" // the last session has ended; its notebook can still be viewed
)

// sessionInstance is one session behind an id: live, or ended and still visible.
// live and recording are nil for an attempt that could not start.
type sessionInstance struct {
	live      *session.Session
	recording *trace.Recording

	caseID string // of the attempt that the session belongs to; empty: none

	ended        chan struct{} // closed when the session has ended and result, if any, is set
	removeQueues func()        // stops reporting the session's queues in the metrics

	result []byte           // an EvalResultMessage; nil: none. Set before ended is closed
	next   *sessionInstance // that came after it; nil if it is the newest. Guarded by the host's lock
}

// sessionHost runs the sessions of one id, one after another; see the package
// documentation for its states. Consoles join it and wait for instances with
// awaitInstance.
type sessionHost struct {
	server   *Server
	id       string
	external bool          // PublishAttempts made it: its sessions are run by others, and run is not called
	ended    chan struct{} // closed when run has returned; never if external

	output *processOutputLog // of the kernels and agents of all its sessions

	mu             sync.Mutex
	state          HostState
	instance       *sessionInstance // the newest; nil: none yet
	sessionWanted  bool             // a console wants a session without a case
	tracePaths     []string         // of all instances
	queue          []AttemptRunner
	attempt        *AttemptInfo  // in progress; nil: none. The value is never changed, only replaced
	previousResult []byte        // result of the instance before the newest; nil: none
	startErr       error         // why the last session could not start; nil: it could
	closedErr      error         // why no console can join any more; nil: consoles can
	changed        chan struct{} // closed and replaced at each change of the fields above

	consoles    map[int]int // connections by console number. At /run a console that reconnects has two for a moment
	runConsoles map[int]int // those of them at /run
	lastNumber  int         // the highest console number assigned
	lastLeft    time.Time   // when the last console left, at first when the host was created
}

func newSessionHost(s *Server, id string) *sessionHost {
	return &sessionHost{
		server: s, id: id, state: HostCreating, changed: make(chan struct{}), ended: make(chan struct{}),
		output: newProcessOutputLog(), consoles: map[int]int{}, runConsoles: map[int]int{}, lastLeft: time.Now(),
	}
}

// updateAndNotify calls change with the lock held, and then wakes everything that waits for
// a change.
func (h *sessionHost) updateAndNotify(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *sessionHost) setState(state HostState) { h.updateAndNotify(func() { h.state = state }) }

// requestSession asks the run loop for a session without a case, unless one runs, is
// starting, or attempts are queued. After an attempt it does so only with
// replaceAttempt, so that its result stays visible.
func (h *sessionHost) requestSession(replaceAttempt bool) {
	h.updateAndNotify(func() {
		ending := h.state == HostCreating || h.state == HostStopping || h.state == HostStopped
		if ending && !h.external && (replaceAttempt || h.instance == nil || h.instance.result == nil) && len(h.queue) == 0 {
			h.sessionWanted, h.startErr = h.server.cfg.StartSession != nil, nil
		}
	})
}

// enqueueAttempts adds attempts to the queue. A running session without a case ends for
// them; a running attempt does not. It returns closedErr if the host is closed.
func (h *sessionHost) enqueueAttempts(attempts AttemptRunner) (err error) {
	h.updateAndNotify(func() {
		if err = h.closedErr; err == nil {
			h.queue, h.startErr = append(h.queue, attempts), nil
		}
	})
	return err
}

// addInstance makes a session the newest instance, and the host running.
func (h *sessionHost) addInstance(live *session.Session, recording *trace.Recording) *sessionInstance {
	instance := &sessionInstance{live: live, recording: recording, ended: make(chan struct{}), removeQueues: func() {}}
	if live != nil {
		instance.removeQueues = h.server.metrics.AddQueues(live.Router().QueueDepths)
	}
	h.updateAndNotify(func() {
		if h.attempt != nil {
			instance.caseID = h.attempt.CaseID
		}
		if h.instance != nil {
			h.instance.next, h.previousResult = instance, h.instance.result
		}
		if recording != nil {
			h.tracePaths = append(h.tracePaths, recording.Path)
		}
		h.instance, h.state = instance, HostRunning
	})
	return instance
}

// endInstance marks an instance as ended, with an EvalResultMessage or nil. It does
// nothing if the instance has ended already.
func (h *sessionHost) endInstance(instance *sessionInstance, result []byte) {
	h.updateAndNotify(func() {
		select {
		case <-instance.ended:
			return
		default:
		}
		instance.removeQueues()
		h.state = HostStopped
		instance.result = result
		close(instance.ended)
	})
}

// recordStartFailure logs and records why no session could start.
func (h *sessionHost) recordStartFailure(err error) {
	h.server.log.Error("session failed", "session", h.id, "error", err)
	h.updateAndNotify(func() { h.startErr = err })
}

// close lets no console join any more, and makes those that wait for an instance
// disconnect.
func (h *sessionHost) close(reason string) {
	h.updateAndNotify(func() { h.closedErr = errors.New(reason) })
}

// waitForStop waits until ctx, that of the server, ends and then until the host's
// run loop has ended. An external host has no run loop: there it waits for
// stopGrace. It returns false if cancelled is closed first.
func (h *sessionHost) waitForStop(ctx context.Context, cancelled <-chan struct{}) bool {
	select {
	case <-ctx.Done():
	case <-cancelled:
		return false
	}
	var grace <-chan time.Time
	if h.external {
		grace = time.After(stopGrace)
	}
	select {
	case <-h.ended:
	case <-grace:
	case <-cancelled:
		return false
	}
	return true
}

// awaitInstance waits for the instance after last (nil: for the newest) and returns
// it. It returns an error if the host is closed or a session could not start, or the
// cause of ctx.
func (h *sessionHost) awaitInstance(ctx context.Context, last *sessionInstance) (*sessionInstance, error) {
	for {
		h.mu.Lock()
		instance, startErr, closedErr, changed := h.nextInstanceLocked(last), h.startErr, h.closedErr, h.changed
		h.mu.Unlock()
		switch {
		case closedErr != nil:
			return nil, closedErr
		case instance != nil:
			return instance, nil
		case startErr != nil:
			return nil, startErr
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// nextInstanceLocked returns the instance that a console must see after last, or nil
// if there is none yet. A console skips no instance with a result, even one that
// ended before the console saw it.
func (h *sessionHost) nextInstanceLocked(last *sessionInstance) *sessionInstance {
	if last != nil && last.next != nil {
		if last.next != h.instance || last.next.result != nil {
			return last.next
		}
	}
	idle := h.state == HostStopped && !h.sessionWanted && len(h.queue) == 0
	visible := h.instance != nil && h.instance != last && (h.startErr == nil || h.instance.result != nil)
	if visible && (h.state == HostRunning || idle) {
		return h.instance
	}
	return nil
}

// join registers a console and returns its number: a new one, or at /run the one
// that its hello names if this host assigned that to it. It returns closedErr if the
// host is closed.
func (h *sessionHost) join(atRun bool, hello HelloMessage) (number int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closedErr != nil {
		return 0, h.closedErr
	}
	h.lastNumber++
	number = h.lastNumber
	if atRun && h.hasAssignedNumberLocked(hello) && (h.consoles[hello.RunConnID] == 0 || h.runConsoles[hello.RunConnID] > 0) {
		number = hello.RunConnID
	}
	h.consoles[number]++
	if atRun {
		h.runConsoles[number]++
	}
	return number, nil
}

// hasAssignedNumberLocked reports whether this host assigned the number that a hello
// names: the hello names no trace, or that of one of this host's instances.
func (h *sessionHost) hasAssignedNumberLocked(hello HelloMessage) bool {
	known := hello.RunTracePath == "" || slices.Contains(h.tracePaths, hello.RunTracePath)
	return known && hello.RunConnID > 0 && hello.RunConnID < h.lastNumber
}

// leave removes a connection of a console.
func (h *sessionHost) leave(atRun bool, number int) {
	remove := func(from map[int]int) {
		if from[number]--; from[number] == 0 {
			delete(from, number)
		}
	}
	h.updateAndNotify(func() {
		remove(h.consoles)
		if atRun {
			remove(h.runConsoles)
		}
		h.lastLeft = time.Now()
	})
}

// isOwner reports whether a console owns the id while no session is live: like the
// owner of a session, it is the one at /run with the lowest number.
func (h *sessionHost) isOwner(number int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for other := range h.runConsoles {
		if other < number {
			return false
		}
	}
	return true
}
