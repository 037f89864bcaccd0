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
	shown  bool          // its sessions are those of a Showing, and it does not run
	ended  chan struct{} // closed when run has ended; never of one that is shown

	printed *printed // what kernels and agents of its sessions have printed

	mu       sync.Mutex
	phase    HostState
	scene    *scene          // the newest; nil: none yet
	wanted   bool            // a console wants a session
	traces   []string        // the files of all there have been
	attempts []AttemptRunner // that wait
	going    *AttemptInfo    // the attempt that goes on; nil: none does
	before   []byte          // eval_result of the attempt whose scene was before the newest; nil: none
	problem  error           // why the last one could not start; nil: it could
	closed   error           // nobody is let in any more, for this reason; nil: they are
	changed  chan struct{}   // closed, and made anew, with each change of the above

	sitting  map[int]int // consoles that are there, by their number; at /run, where two are for a moment one
	owners   map[int]int // those of them at /run
	next     int         // the last number that was given out
	lastLeft time.Time   // when the last one went
}

func newSlot(s *Server, id string) *slot {
	return &slot{
		server: s, id: id, phase: HostCreating, changed: make(chan struct{}), ended: make(chan struct{}),
		printed: newPrinted(), sitting: map[int]int{}, owners: map[int]int{}, lastLeft: time.Now(),
	}
}

// change changes the slot and wakes whoever waits for that.
func (sl *slot) change(f func()) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	f()
	close(sl.changed)
	sl.changed = make(chan struct{})
}

func (sl *slot) enter(p HostState) { sl.change(func() { sl.phase = p }) }

// want asks for a session, unless there is one or one is on its way. evenAfter
// says that one is wanted in place of an attempt that has ended and is shown.
func (sl *slot) want(evenAfter bool) {
	sl.change(func() {
		ends := sl.phase == HostCreating || sl.phase == HostStopping || sl.phase == HostStopped
		if ends && !sl.shown && (evenAfter || sl.scene == nil || sl.scene.result == nil) && len(sl.attempts) == 0 {
			sl.wanted, sl.problem = sl.server.cfg.StartSession != nil, nil
		}
	})
}

// attempt lets attempts be made when what goes on has ended, which a session
// without a case does for them.
func (sl *slot) attempt(a AttemptRunner) (err error) {
	sl.change(func() {
		if err = sl.closed; err == nil {
			sl.attempts, sl.problem = append(sl.attempts, a), nil
		}
	})
	return err
}

// show makes a session the one that consoles see.
func (sl *slot) show(live *session.Session, recording *trace.Recording) *scene {
	sc := &scene{live: live, recording: recording, over: make(chan struct{}), uncount: func() {}}
	if live != nil {
		sc.uncount = sl.server.metrics.AddQueues(live.Router().QueueDepths)
	}
	sl.change(func() {
		if sl.going != nil {
			sc.caseID = sl.going.CaseID
		}
		if sl.scene != nil {
			sl.scene.next, sl.before = sc, sl.scene.result
		}
		if recording != nil {
			sl.traces = append(sl.traces, recording.Path)
		}
		sl.scene, sl.phase = sc, HostRunning
	})
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
		sl.phase = HostStopped
		sc.result = result
		close(sc.over)
	})
}

// fail notes why no session comes.
func (sl *slot) fail(err error) {
	sl.server.log.Error("session", "session", sl.id, "error", err)
	sl.change(func() { sl.problem = err })
}

// close lets nobody in any more and sends away who waits.
func (sl *slot) close(reason string) {
	sl.change(func() { sl.closed = errors.New(reason) })
}

// untilStop waits until the server stops and the slot has ended; one that others
// run, and may not end, has a moment for that. false: left was closed first.
func (sl *slot) untilStop(ctx context.Context, left <-chan struct{}) bool {
	select {
	case <-ctx.Done():
	case <-left:
		return false
	}
	var moment <-chan time.Time
	if sl.shown {
		moment = time.After(lastWrite)
	}
	select {
	case <-sl.ended:
	case <-moment:
	case <-left:
		return false
	}
	return true
}

// await waits for the scene behind last, nil for the newest, or for the reason why
// none comes.
func (sl *slot) await(ctx context.Context, last *scene) (*scene, error) {
	for {
		sl.mu.Lock()
		sc, problem, closed, changed := sl.behind(last), sl.problem, sl.closed, sl.changed
		sl.mu.Unlock()
		switch {
		case closed != nil:
			return nil, closed
		case sc != nil:
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

// behind is the scene that a console comes to that has seen last, nil: none, for
// the time being. One that was over before it could be seen may have a verdict,
// and is not left out. The lock is held.
func (sl *slot) behind(last *scene) *scene {
	if last != nil && last.next != nil {
		if last.next != sl.scene || last.next.result != nil {
			return last.next
		}
	}
	still := sl.phase == HostStopped && !sl.wanted && len(sl.attempts) == 0
	shows := sl.scene != nil && sl.scene != last && (sl.problem == nil || sl.scene.result != nil)
	if shows && (sl.phase == HostRunning || still) {
		return sl.scene
	}
	return nil
}

// sit gives a console its number: at /run, again the one that it had before. It
// fails when nobody is let in any more.
func (sl *slot) sit(run bool, first HelloMessage) (id int, err error) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.closed != nil {
		return 0, sl.closed
	}
	sl.next++
	id = sl.next
	if run && sl.gave(first) && (sl.sitting[first.RunConnID] == 0 || sl.owners[first.RunConnID] > 0) {
		id = first.RunConnID
	}
	sl.sitting[id]++
	if run {
		sl.owners[id]++
	}
	return id, nil
}

// gave tells whether a console has had its number here. The lock is held.
func (sl *slot) gave(first HelloMessage) bool {
	known := first.RunTrace == "" || slices.Contains(sl.traces, first.RunTrace)
	return known && first.RunConnID > 0 && first.RunConnID < sl.next
}

// rise notes that a console has gone.
func (sl *slot) rise(run bool, id int) {
	leave := func(of map[int]int) {
		if of[id]--; of[id] == 0 {
			delete(of, id)
		}
	}
	sl.change(func() {
		leave(sl.sitting)
		if run {
			leave(sl.owners)
		}
		sl.lastLeft = time.Now()
	})
}

// owns tells whether a console owns what has ended: it is the one at /run with
// the least number, as in a session.
func (sl *slot) owns(id int) bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	for other := range sl.owners {
		if other < id {
			return false
		}
	}
	return true
}
