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
	// finalMessageGrace is how long an agent must be silent behind a final message without
	// tool use until its turn counts as ended.
	finalMessageGrace = 5 * time.Second

	// runPromiseTimeout is how long a cell that a console has promised to run may take
	// until its run_cell comes.
	runPromiseTimeout = time.Second

	// turnEndGrace is how long an agent that has handed in its answer may take to end
	// its turn.
	turnEndGrace = time.Second
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
	journal     *trace.Journal
	follower    *trace.Follower
	limits      runs.Limits
	holderGrace time.Duration // for a console that holds the notebook and is away
	progress    *Progress

	cells      map[string]cellRuns    // those with a run that has not ended
	actions    map[string]agentAction // the agent's, in flight, by tx_id
	taskSentAt time.Time              // when the agent got its task; zero: not yet
	aliveAt    time.Time              // when the agent was last heard, or a run closed

	stream           messageStream     // messages that come in parts
	isMarked         bool              // the marker came, in its place
	submissions      []json.RawMessage // messages with submissions
	summary          string            // of the last submission
	questionCount    int
	finalMessageAt   time.Time // of a message without tool use, while no new turn follows
	agentLimit       string    // which one the agent says it has reached
	agentComplaint   string    // the last error that the agent went on after
	earlyVerdict     *verdict  // from before the task
	isOver           bool      // there is a verdict: what comes is only counted
	isKernelReplaced bool      // the kernel is about to end or has, and another to take its place

	holder consolePresence

	modelWaits modelWaits

	usage         runs.Usage
	tamperSignals int
	interventions int // a person's edits and queries

	agentStatus   string // the agent's status
	modelActivity string // what its model does, of a reply that arrives
	lastRunAction string // the action that ran a cell last; empty: none has
}

// cellRuns is the runs of one cell that have not ended. One may be on while another
// waits.
type cellRuns struct {
	notebook.RunState
	promisedAt time.Time // when a run_cell was promised that is still to come
}

func (c *cellRuns) isOpen() bool { return c.IsOpen() || !c.promisedAt.IsZero() }

// widgetRerunsID stands, among the cells, for those that the kernel may run again because
// a widget was set, and has not named yet.
const widgetRerunsID = "set_widget_value"

// verdict is what a watch has come to.
type verdict struct {
	outcome  runs.Outcome // empty: a question
	detail   string
	question string
}

func newWatch(journal *trace.Journal, limits runs.Limits, grace time.Duration, doing *Progress) *watch {
	return &watch{
		journal: journal, follower: journal.FollowWithBackpressure(), limits: limits, holderGrace: grace, progress: doing,
		cells: map[string]cellRuns{}, actions: map[string]agentAction{},
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
			entry, err := w.follower.Next(ctx)
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

// readBeforeTask reads an entry from before the agent gets its task. What the agent says
// then is no part of its work.
func (w *watch) readBeforeTask(e *trace.Entry) {
	switch e.Hop {
	case trace.ServerToKernel, trace.KernelToServer:
		w.readEntry(e) // a person may run cells
	case trace.HopSession:
		w.earlyVerdict = cmp.Or(w.earlyVerdict, w.readEntry(e)) // a child may be gone
	default:
	}
}

// startTask starts the clocks: the agent gets its task.
func (w *watch) startTask(now time.Time) {
	w.readAvailable(w.readBeforeTask)
	w.taskSentAt, w.aliveAt = now, now
	w.usage, w.tamperSignals, w.modelWaits = runs.Usage{}, 0, modelWaits{}
}

// nextVerdict reads on until there is a verdict: the end, or a question that wants an
// answer. When ctx ends the attempt is cancelled. Neither that nor the wall clock
// waits for an agent that says more than can be read.
func (w *watch) nextVerdict(ctx context.Context) verdict {
	if w.earlyVerdict != nil {
		return *w.earlyVerdict
	}
	for {
		if ctx.Err() != nil {
			return verdict{outcome: runs.OutcomeCancelled, detail: context.Cause(ctx).Error()}
		}
		if v, _ := w.checkWallLimit(time.Now()); v != nil {
			return *v
		}
		entry := w.follower.TryNext()
		if entry == nil {
			v, due := w.checkTimers(time.Now())
			if v != nil {
				return *v
			}
			w.updateProgress(time.Now())
			if entry = w.awaitEntry(ctx, due); entry == nil {
				continue // a deadline has passed, or ctx has ended
			}
		}
		if v := w.readEntry(entry); v != nil {
			return *v
		}
	}
}

// awaitEntry waits for an entry until due, or until ctx ends.
func (w *watch) awaitEntry(ctx context.Context, due time.Time) *trace.Entry {
	if !due.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	entry, err := w.follower.Next(ctx)
	if err != nil && errors.Is(err, io.EOF) {
		panic("the journal was closed under a live attempt")
	}
	return entry
}

// drainTurn reads on until an agent that tells what it does has said that it does
// no more, so that its last turn is recorded whole, at most for the time of
// farewell.
func (w *watch) drainTurn(ctx context.Context) {
	w.isOver = true
	ctx, cancel := context.WithTimeout(ctx, turnEndGrace)
	defer cancel()
	for w.agentStatus == protocol.AgentThinking || w.agentStatus == protocol.AgentExecuting {
		entry, err := w.follower.Next(ctx)
		if err != nil {
			return
		}
		w.readEntry(entry)
	}
}

// countEntry reads an entry after the verdict: it changes the counts and nothing else.
func (w *watch) countEntry(e *trace.Entry) {
	w.isOver = true
	w.readEntry(e)
}

// finish counts the entries that the trace has by now, and ends the watch.
func (w *watch) finish() {
	w.readAvailable(w.countEntry)
	w.close()
}

// readAvailable reads the entries that the trace has when it is called, without
// waiting for more.
func (w *watch) readAvailable(read func(*trace.Entry)) {
	last, _ := w.journal.LastEntry()
	for w.follower.LastSeq() < last {
		read(w.follower.TryNext())
	}
}

// close lets go of the trace; it may be called more than once.
func (w *watch) close() { w.follower.Close() }

// readEntry takes in one frame.
func (w *watch) readEntry(e *trace.Entry) *verdict {
	if e.Note == trace.NoteTamper {
		w.tamperSignals++
	}
	switch e.Hop {
	case trace.AgentToServer:
		return w.readAgentFrame(e)
	case trace.ServerToAgent:
		return w.readAnswerToAgent(e)
	case trace.ServerToKernel:
		return w.readKernelCommand(e)
	case trace.KernelToServer:
		return w.readKernelFrame(e)
	case trace.HopSession:
		return w.readSessionEntry(e)
	case trace.ConsoleToServer:
		w.countIntervention(e)
	case trace.ServerToConsole, trace.HopNotebook:
	}
	return nil
}

// isIdle tells whether nothing of the agent's is under way, and there is a kernel
// that can be asked what came of it.
func (w *watch) isIdle() bool { return len(w.cells) == 0 && len(w.actions) == 0 && !w.isKernelReplaced }

// completionVerdict completes a marked attempt that is idle.
func (w *watch) completionVerdict() *verdict {
	if w.isMarked && w.isIdle() {
		return &verdict{outcome: runs.OutcomeCompleted}
	}
	return nil
}

// turnEndVerdict is the verdict on an agent whose turn has ended for good.
func (w *watch) turnEndVerdict(how string) *verdict {
	switch {
	case w.isMarked:
		return w.completionVerdict() // or later, when it is idle
	case w.agentLimit != "":
		return &verdict{outcome: runs.OutcomeLimit, detail: w.agentLimit}
	case w.agentComplaint != "":
		return &verdict{outcome: runs.OutcomeStopped, detail: how + "; it has reported: " + w.agentComplaint}
	default:
		return &verdict{outcome: runs.OutcomeStopped, detail: how}
	}
}

// updateCell applies f to a cell; one without an open run is forgotten.
func (w *watch) updateCell(id string, f func(*cellRuns)) {
	c := w.cells[id]
	f(&c)
	if c.isOpen() {
		w.cells[id] = c
	} else {
		delete(w.cells, id)
	}
}
