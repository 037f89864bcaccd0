package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/internal/notebook"
	"assay/internal/session"
	"assay/internal/trace"
)

// phase is where a slot is.
type phase string

// The phases, as the API names them.
const (
	phaseCreating phase = "creating" // nothing has begun
	phaseStarting phase = "starting"
	phaseRunning  phase = "running"
	phaseStopping phase = "stopping"
	phaseStopped  phase = "stopped" // the last session has ended; a console may still look at it
)

// slot is what stands behind a session's id: one session after another.
//
//	creating ──▶ starting ──▶ running ──▶ stopping ──▶ stopped
//	                ▲  └────────────────────────────────▶│
//	                └──── a console wants a session ─────┘
//	                      or a case is attached
//
// It runs at most one session at a time, in the goroutine of run. Consoles wait
// for the next [scene] with await.
type slot struct {
	server *Server
	id     string
	shown  bool // its sessions are those of a Showing, and it does not run

	mu       sync.Mutex
	phase    phase
	scene    *scene        // the newest; nil: none yet
	wanted   bool          // a console wants a session
	attempts []Attempts    // that wait
	problem  error         // why the last one could not start; nil: it could
	closed   error         // nobody is let in any more, for this reason; nil: they are
	changed  chan struct{} // closed, and made anew, with each change of the above

	seats    map[int]bool // numbers given out at /run, true while in use
	next     int          // the last number that was given out
	sitting  int          // consoles that are there
	lastLeft time.Time    // when the last one went
}

func newSlot(s *Server, id string) *slot {
	return &slot{server: s, id: id, phase: phaseCreating, changed: make(chan struct{}), seats: map[int]bool{}, lastLeft: time.Now()}
}

// change changes the slot and wakes whoever waits for that.
func (sl *slot) change(f func()) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	f()
	close(sl.changed)
	sl.changed = make(chan struct{})
}

func (sl *slot) enter(p phase) { sl.change(func() { sl.phase = p }) }

// want asks for a session, unless there is one or one is on its way. evenAfter
// says that one is wanted in place of an attempt that has ended and is shown.
func (sl *slot) want(evenAfter bool) {
	sl.change(func() {
		still := sl.phase == phaseCreating || sl.phase == phaseStopped
		if still && !sl.shown && (evenAfter || sl.scene == nil || sl.scene.result == nil) && len(sl.attempts) == 0 {
			sl.wanted, sl.problem = sl.server.cfg.Open != nil, nil
		}
	})
}

// attempt lets attempts be made when what goes on has ended, which a session
// without a case does for them.
func (sl *slot) attempt(a Attempts) {
	sl.change(func() { sl.attempts, sl.problem = append(sl.attempts, a), nil })
}

// show makes a session the one that consoles see.
func (sl *slot) show(live *session.Session, recording *trace.Recording) *scene {
	sc := &scene{live: live, recording: recording, over: make(chan struct{}), uncount: func() {}}
	if live != nil {
		sc.uncount = sl.server.metrics.queuesOf(live.Router().Queues)
	}
	sl.change(func() { sl.scene, sl.phase = sc, phaseRunning })
	return sc
}

// finish notes that a scene is over. It may be called again.
func (sl *slot) finish(sc *scene, result []byte) {
	sl.change(func() {
		select {
		case <-sc.over:
			return
		default:
		}
		sc.uncount()
		sl.phase = phaseStopped
		sc.result = result
		close(sc.over)
	})
}

// close lets nobody in any more and sends away who waits.
func (sl *slot) close(reason string) {
	sl.change(func() { sl.closed = errors.New(reason) })
}

// await waits for a scene other than last, or for the reason why none comes.
func (sl *slot) await(ctx context.Context, last *scene) (*scene, error) {
	for {
		sl.mu.Lock()
		sc, problem, closed, changed := sl.scene, sl.problem, sl.closed, sl.changed
		settled := sl.phase == phaseRunning || sl.phase == phaseStopped && !sl.wanted && len(sl.attempts) == 0
		sl.mu.Unlock()
		switch {
		case closed != nil:
			return nil, closed
		case settled && problem == nil && sc != last:
			return sc, nil
		case problem != nil:
			return nil, problem
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// run starts what is asked for, one thing after the other, until ctx ends.
func (sl *slot) run(ctx context.Context) {
	defer func() {
		sl.close("the server is stopping: " + context.Cause(ctx).Error())
		sl.enter(phaseStopped)
	}()
	for {
		attempts, err := sl.take(ctx)
		switch {
		case err != nil:
			return
		case attempts != nil:
			show := &Showing{slot: sl}
			attempts(ctx, show)
			show.End()
			sl.enter(phaseStopped)
		default:
			sl.open(ctx)
		}
	}
}

// take waits for something to do: attempts, or nil for a session without a case.
func (sl *slot) take(ctx context.Context) (Attempts, error) {
	for {
		sl.mu.Lock()
		changed := sl.changed
		if len(sl.attempts) > 0 {
			next := sl.attempts[0]
			sl.attempts, sl.wanted, sl.phase = sl.attempts[1:], false, phaseStarting
			sl.mu.Unlock()
			return next, nil
		}
		if sl.wanted {
			sl.wanted, sl.phase = false, phaseStarting
			sl.mu.Unlock()
			return nil, nil
		}
		sl.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// open starts a session without a case and sees it to its end.
func (sl *slot) open(ctx context.Context) {
	restored, err := sl.restored()
	if err != nil {
		sl.server.log.Warn("an earlier notebook could not be restored", "session", sl.id, "error", err)
	}
	recording, err := sl.record()
	if err == nil {
		err = sl.live(ctx, recording, restored)
		err = errors.Join(err, recording.Close())
	}
	if err != nil {
		sl.server.log.Error("session", "session", sl.id, "error", err)
		sl.change(func() { sl.problem, sl.phase = err, phaseStopped })
	}
}

func (sl *slot) live(ctx context.Context, recording *trace.Recording, restored *notebook.State) error {
	live, err := sl.server.cfg.Open(ctx, Opening{ID: sl.id, Journal: recording.Journal, Restored: restored})
	if err != nil {
		return fmt.Errorf("session %q could not start: %w", sl.id, err)
	}
	sc := sl.show(live, recording)
	cause := sl.until(ctx, live)
	sl.enter(phaseStopping)
	err = live.End(context.WithoutCancel(ctx), cause)
	sl.finish(sc, nil)
	return err
}

// restored is the notebook that the next session goes on with: that of the
// session before it, else of the newest trace; nil: there is none.
func (sl *slot) restored() (*notebook.State, error) {
	sl.mu.Lock()
	sc := sl.scene
	sl.mu.Unlock()
	if sc != nil && sc.live != nil {
		state := sc.live.Look()
		return &state, nil
	}
	return sl.stored()
}

// until waits until a session without a case is to end, and says why.
func (sl *slot) until(ctx context.Context, live *session.Session) string {
	for {
		sl.mu.Lock()
		waits, changed := len(sl.attempts) > 0, sl.changed
		sl.mu.Unlock()
		if waits {
			return "a case is attached"
		}
		idle, timer := sl.idle(live)
		if idle {
			return fmt.Sprintf("it was idle for %v", sl.server.cfg.Idle)
		}
		select {
		case <-ctx.Done():
			stopTimer(timer)
			return context.Cause(ctx).Error()
		case <-changed:
			stopTimer(timer)
		case <-fires(timer):
		}
	}
}

// idle tells whether nobody and nothing has needed the session for its time, and
// otherwise when to ask again; a nil timer: not before something changes.
func (sl *slot) idle(live *session.Session) (idle bool, again *time.Timer) {
	limit := sl.server.cfg.Idle
	sl.mu.Lock()
	sitting, since := sl.sitting, sl.lastLeft
	sl.mu.Unlock()
	if limit <= 0 || sitting > 0 {
		return false, nil
	}
	if _, at := live.Journal().Last(); at.After(since) {
		since = at
	}
	left := time.Until(since.Add(limit))
	if len(live.Runs().Open()) > 0 {
		left = limit
	}
	if left <= 0 {
		return true, nil
	}
	return false, time.NewTimer(left)
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// fires is nil, and never ready, for a nil timer.
func fires(t *time.Timer) <-chan time.Time {
	if t == nil {
		return nil
	}
	return t.C
}

// sit gives a console its number: at /run again, the one that it had before, if
// that was given out here.
func (sl *slot) sit(run bool, again int) int {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.sitting++
	if run && again > 0 && sl.seats[again] {
		return again
	}
	sl.next++
	if run {
		sl.seats[sl.next] = true
	}
	return sl.next
}

// rise notes that a console has gone.
func (sl *slot) rise() {
	sl.change(func() {
		sl.sitting--
		sl.lastLeft = time.Now()
	})
}
