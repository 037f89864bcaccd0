package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"assay/eval/runs"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
)

const (
	// quiet is how long an agent must be silent behind a final message without
	// tool use until its turn counts as ended.
	quiet = 5 * time.Second

	// promise is how long a cell that a console has promised to run may take
	// until its run_cell comes.
	promise = time.Second

	// farewell is how long an agent that has handed in its answer may take to end
	// its turn.
	farewell = time.Second
)

// watch reads the frames of a session in their order and says when its attempt
// is over. It is for one goroutine.
//
//	          a submission with the marker
//	working ───────────────────────────────▶ marked ──idle──▶ completed
//	   │  done, or a last message and 5 s of quiet            ▲
//	   ├──────────────────────────▶ stopped_without_answer    │ an open run or
//	   ├── a limit, a dead child, an agent's error            │ an action in
//	   └── a question ──▶ (answered once) ──▶ asked_question   flight holds it
type watch struct {
	journal *trace.Journal
	follow  *trace.Follower
	limits  runs.Limits
	grace   time.Duration // for a console that holds the notebook and is away
	doing   *Progress

	cells   map[string]cell   // those with a run that has not ended
	actions map[string]action // the agent's, in flight, by tx_id
	began   time.Time         // when the agent got its task; zero: not yet
	heard   time.Time         // when the agent was last heard, or a run closed

	streams   streams           // messages that come in parts
	marked    bool              // the marker came, in its place
	handedIn  []json.RawMessage // messages with submissions
	summary   string            // of the last submission
	questions int
	lastWord  time.Time // of a message without tool use, while no new turn follows
	limit     string    // which one the agent says it has reached
	complaint string    // the last error that the agent went on after
	early     *verdict  // from before the task
	ended     bool      // there is a verdict: what comes is only counted
	replaced  bool      // the kernel is about to end or has, and another to take its place

	holder presence

	waits waits

	counts        runs.Usage
	tamper        int
	interventions int // a person's edits and queries

	saying  string // the agent's status
	writing string // what its model does, of a reply that arrives
	ran     string // the action that ran a cell last; empty: none has
}

// cell is the runs of one cell that have not ended. One may be on while another
// waits.
type cell struct {
	notebook.RunState
	promised time.Time // when a run_cell was promised that is still to come
}

func (c *cell) open() bool { return c.IsOpen() || !c.promised.IsZero() }

// reruns stands, among the cells, for those that the kernel may run again because
// a widget was set, and has not named yet.
const reruns = "set_widget_value"

// verdict is what a watch has come to.
type verdict struct {
	outcome  runs.Outcome // empty: a question
	detail   string
	question string
}

func newWatch(journal *trace.Journal, limits runs.Limits, grace time.Duration, doing *Progress) *watch {
	return &watch{
		journal: journal, follow: journal.FollowWithBackpressure(), limits: limits, grace: grace, doing: doing,
		cells: map[string]cell{}, actions: map[string]action{},
	}
}

// drainDuring calls work on this goroutine and, until work returns, reads the trace
// with read on another: the trace's queue cannot fill up while the attempt does
// something else, and so nobody who writes to the trace is kept waiting. work must
// not use the watch. It returns when the other goroutine has ended; a panic there
// continues here.
func (w *watch) drainDuring(work func(), read func(*trace.Entry)) {
	ctx, stop := context.WithCancel(context.Background())
	var draining sync.WaitGroup
	var fault any
	draining.Go(func() {
		defer func() { fault = recover() }()
		for ctx.Err() == nil {
			entry, err := w.follow.Next(ctx)
			if err != nil {
				return
			}
			read(entry)
		}
	})
	defer func() {
		stop()
		draining.Wait()
		if fault != nil {
			panic(fault)
		}
	}()
	work()
}

// readEarly reads an entry from before the agent gets its task. What the agent says
// then is no part of its work.
func (w *watch) readEarly(e *trace.Entry) {
	switch e.Hop {
	case trace.ServerToKernel, trace.KernelToServer:
		w.read(e) // a person may run cells
	case trace.HopSession:
		w.early = cmp.Or(w.early, w.read(e)) // a child may be gone
	default:
	}
}

// begin starts the clocks: the agent gets its task.
func (w *watch) begin(now time.Time) {
	w.readAvailable(w.readEarly)
	w.began, w.heard = now, now
	w.counts, w.tamper, w.waits = runs.Usage{}, 0, waits{}
}

// next reads on until there is a verdict: the end, or a question that wants an
// answer. When ctx ends the attempt is cancelled. Neither that nor the wall clock
// waits for an agent that says more than can be read.
func (w *watch) next(ctx context.Context) verdict {
	if w.early != nil {
		return *w.early
	}
	for {
		if ctx.Err() != nil {
			return verdict{outcome: runs.OutcomeCancelled, detail: context.Cause(ctx).Error()}
		}
		if v, _ := w.onWall(time.Now()); v != nil {
			return *v
		}
		entry := w.follow.TryNext()
		if entry == nil {
			v, due := w.onTime(time.Now())
			if v != nil {
				return *v
			}
			w.tell(time.Now())
			if entry = w.wait(ctx, due); entry == nil {
				continue // a deadline has passed, or ctx has ended
			}
		}
		if v := w.read(entry); v != nil {
			return *v
		}
	}
}

// wait waits for an entry until due, or until ctx ends.
func (w *watch) wait(ctx context.Context, due time.Time) *trace.Entry {
	if !due.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	entry, err := w.follow.Next(ctx)
	if err != nil && errors.Is(err, io.EOF) {
		panic("the journal was closed under a live attempt")
	}
	return entry
}

// hearOut reads on until an agent that tells what it does has said that it does
// no more, so that its last turn is recorded whole, at most for the time of
// farewell.
func (w *watch) hearOut(ctx context.Context) {
	w.ended = true
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	for w.saying == protocol.AgentThinking || w.saying == protocol.AgentExecuting {
		entry, err := w.follow.Next(ctx)
		if err != nil {
			return
		}
		w.read(entry)
	}
}

// count reads an entry after the verdict: it changes the counts and nothing else.
func (w *watch) count(e *trace.Entry) {
	w.ended = true
	w.read(e)
}

// rest counts the entries that the trace has by now, and ends the watch.
func (w *watch) rest() {
	w.readAvailable(w.count)
	w.close()
}

// readAvailable reads the entries that the trace has when it is called, without
// waiting for more.
func (w *watch) readAvailable(read func(*trace.Entry)) {
	last, _ := w.journal.LastEntry()
	for w.follow.LastSeq() < last {
		read(w.follow.TryNext())
	}
}

// close lets go of the trace; it may be called more than once.
func (w *watch) close() { w.follow.Close() }

// read takes in one frame.
func (w *watch) read(e *trace.Entry) *verdict {
	if e.Note == trace.NoteTamper {
		w.tamper++
	}
	switch e.Hop {
	case trace.AgentToServer:
		return w.fromAgent(e)
	case trace.ServerToAgent:
		return w.toAgent(e)
	case trace.ServerToKernel:
		return w.toKernel(e)
	case trace.KernelToServer:
		return w.fromKernel(e)
	case trace.HopSession:
		return w.fromSession(e)
	case trace.ConsoleToServer:
		w.fromConsole(e)
	case trace.ServerToConsole, trace.HopNotebook:
	}
	return nil
}

// idle tells whether nothing of the agent's is under way, and there is a kernel
// that can be asked what came of it.
func (w *watch) idle() bool { return len(w.cells) == 0 && len(w.actions) == 0 && !w.replaced }

// settle completes a marked attempt that is idle.
func (w *watch) settle() *verdict {
	if w.marked && w.idle() {
		return &verdict{outcome: runs.OutcomeCompleted}
	}
	return nil
}

// over is the verdict on an agent whose turn has ended for good.
func (w *watch) over(how string) *verdict {
	switch {
	case w.marked:
		return w.settle() // or later, when it is idle
	case w.limit != "":
		return &verdict{outcome: runs.OutcomeLimit, detail: w.limit}
	case w.complaint != "":
		return &verdict{outcome: runs.OutcomeStopped, detail: how + "; it has reported: " + w.complaint}
	default:
		return &verdict{outcome: runs.OutcomeStopped, detail: how}
	}
}

// change applies f to a cell; one without an open run is forgotten.
func (w *watch) change(id string, f func(*cell)) {
	c := w.cells[id]
	f(&c)
	if c.open() {
		w.cells[id] = c
	} else {
		delete(w.cells, id)
	}
}
