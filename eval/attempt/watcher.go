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
	// finalMessageGrace is how long an agent must be silent after an assistant message without tool
	// use until its turn counts as ended.
	finalMessageGrace = 5 * time.Second

	// runPromiseTimeout is how long a promised run of a cell is expected to begin: after that it no
	// longer counts as open.
	runPromiseTimeout = time.Second

	// turnEndGrace is how long an agent that has submitted may take to end its turn.
	turnEndGrace = time.Second
)

// completionWatcher reads the entries of a session's trace in order and decides when its attempt is
// over, and how. It is not safe for concurrent use.
//
//	          a submission with the marker
//	working ───────────────────────────────▶ marked ──idle──▶ completed
//	   │  done, or a final message and 5 s of silence        ▲
//	   ├──────────────────────────▶ stopped_without_answer    │ waits for open runs
//	   ├── a limit, a dead child, an agent's error            │ of cells and actions
//	   └── a question ──▶ (answered once) ──▶ asked_question   without an answer
//
// The package doc says what idle means. Time limits are checked when there is nothing to read; see
// checkTimers.
type completionWatcher struct {
	journal     *trace.Journal
	follower    *trace.Follower
	limits      runs.Limits
	holderGrace time.Duration // how long the console that holds the notebook may be away
	progress    *Progress

	cells            map[string]cellRuns    // by id: cells with an open run
	isKernelReplaced bool                   // the kernel is being killed, or has ended, and a new one is to start
	actions          map[string]agentAction // by tx_id: actions of the agent without an answer
	lastRunAction    string                 // name of the action of the agent that ran a cell last; empty: none

	taskSentAt     time.Time // when the agent got its task; zero: not yet
	stream         messageStream
	submitted      submitted
	agentReports   agentReports
	holderPresence consolePresence
	modelWaits     modelWaits
	counts         counts

	earlyVerdict *verdict // verdict from before the task was sent; nil: none
	isOver       bool     // there is a verdict: entries are only counted
}

// submitted is what the agent has submitted.
type submitted struct {
	isMarked      bool              // one of the submissions had the completion marker
	messages      []json.RawMessage // messages that have a submission, up to the marked one
	summary       string            // of the last submission
	questionCount int
}

// agentReports is what the agent has last said about itself.
type agentReports struct {
	lastActiveAt   time.Time // when it last sent something, or one of its cells ended
	status         string    // of agent_status
	modelActivity  string    // what its model is doing, while a reply is streamed; empty: nothing
	finalMessageAt time.Time // of its last assistant message without tool use; zero if it went on after that
	reachedLimit   string    // the limit that it says it has reached; empty: none
	lastError      string    // the last error that it reported and went on after; empty: none
}

// counts is what the watcher has counted.
type counts struct {
	usage         runs.Usage
	tamperSignals int
	interventions int // changes and messages by people
}

// cellRuns are the runs of one cell that have not ended: one may be running while another waits.
type cellRuns struct {
	notebook.RunState
	promisedAt time.Time // when a run was promised whose run_cell has not come yet; zero: none
}

// isOpen reports whether a run of the cell is waiting, running or promised.
func (c *cellRuns) isOpen() bool { return c.IsOpen() || !c.promisedAt.IsZero() }

// widgetRerunsID is the key in completionWatcher.cells for cells that the kernel may run again
// because a widget was set, and that it has not named yet.
const widgetRerunsID = "set_widget_value"

// verdict is a decision of the watcher: the end of the attempt, or a question that the agent asks.
type verdict struct {
	outcome  runs.Outcome // empty: a question
	detail   string       // of the outcome
	question string
}

// newCompletionWatcher returns a watcher that must be closed. Until then the readers of kernel and
// agent wait when it falls behind the journal.
func newCompletionWatcher(journal *trace.Journal, limits runs.Limits, holderGrace time.Duration, progress *Progress) *completionWatcher {
	return &completionWatcher{
		journal: journal, follower: journal.FollowWithBackpressure(), limits: limits, holderGrace: holderGrace, progress: progress,
		cells: map[string]cellRuns{}, actions: map[string]agentAction{},
	}
}

// drainDuring calls work and, until work returns, passes new entries to read in another goroutine.
// Otherwise the trace's queue could fill up while the attempt does something else, which blocks the
// readers of kernel and agent and ends their connections after 5 s. work must not use the watcher.
// drainDuring returns after the goroutine has ended; a panic of read continues here.
func (w *completionWatcher) drainDuring(work func(), read func(*trace.Entry)) {
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

// readBeforeTask reads an entry from before the agent gets its task. It ignores the agent's frames,
// but notices cells that people run, and the end of a child.
func (w *completionWatcher) readBeforeTask(e *trace.Entry) {
	switch e.Hop {
	case trace.ServerToKernel, trace.KernelToServer:
		w.readEntry(e)
	case trace.HopSession:
		w.earlyVerdict = cmp.Or(w.earlyVerdict, w.readEntry(e))
	default:
	}
}

// startTask starts the timers and resets the counts: from now on the agent works on its task.
func (w *completionWatcher) startTask(now time.Time) {
	w.readAvailable(w.readBeforeTask)
	w.taskSentAt, w.agentReports.lastActiveAt = now, now
	w.counts.usage, w.counts.tamperSignals, w.modelWaits = runs.Usage{}, 0, modelWaits{}
}

// nextVerdict reads entries until there is a verdict. When ctx ends the verdict is that the attempt
// is cancelled. The end of ctx and the wall limit are checked before each entry, so that a flood of
// frames cannot delay them.
func (w *completionWatcher) nextVerdict(ctx context.Context) verdict {
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
				continue // it is due, or ctx has ended
			}
		}
		if v := w.readEntry(entry); v != nil {
			return *v
		}
	}
}

// awaitEntry waits for the next entry. It returns nil at due, unless that is zero, and when ctx
// ends.
func (w *completionWatcher) awaitEntry(ctx context.Context, due time.Time) *trace.Entry {
	if !due.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	entry, err := w.follower.Next(ctx)
	if err != nil && errors.Is(err, io.EOF) {
		panic("the journal was closed while the attempt was running")
	}
	return entry
}

// drainTurn counts entries until the agent is no longer thinking or executing by its own
// agent_status, at most for turnEndGrace, so that the trace has the whole last turn. It returns at
// once for an agent that sends no status.
func (w *completionWatcher) drainTurn(ctx context.Context) {
	w.isOver = true
	ctx, cancel := context.WithTimeout(ctx, turnEndGrace)
	defer cancel()
	for w.agentReports.status == protocol.AgentThinking || w.agentReports.status == protocol.AgentExecuting {
		entry, err := w.follower.Next(ctx)
		if err != nil {
			return
		}
		w.readEntry(entry)
	}
}

// countEntry reads an entry after the verdict, which changes only the counts.
func (w *completionWatcher) countEntry(e *trace.Entry) {
	w.isOver = true
	w.readEntry(e)
}

// finish counts the entries that the trace has by now, and closes the watcher.
func (w *completionWatcher) finish() {
	w.readAvailable(w.countEntry)
	w.close()
}

// readAvailable passes to read the entries that the trace has when it is called, and does not wait
// for more.
func (w *completionWatcher) readAvailable(read func(*trace.Entry)) {
	last, _ := w.journal.LastEntry()
	for w.follower.LastSeq() < last {
		read(w.follower.TryNext())
	}
}

// close stops following the trace. Further calls do nothing.
func (w *completionWatcher) close() { w.follower.Close() }

// readEntry reads the next entry and returns the verdict that follows from it, or nil.
func (w *completionWatcher) readEntry(e *trace.Entry) *verdict {
	if e.Note == trace.NoteTamper {
		w.counts.tamperSignals++
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

// isIdle reports whether no cell has an open run, no action of the agent waits for its answer, and
// there is a kernel to collect the state from.
func (w *completionWatcher) isIdle() bool {
	return len(w.cells) == 0 && len(w.actions) == 0 && !w.isKernelReplaced
}

// completionVerdict returns the verdict completed if the attempt is marked and idle, and otherwise
// nil.
func (w *completionWatcher) completionVerdict() *verdict {
	if w.submitted.isMarked && w.isIdle() {
		return &verdict{outcome: runs.OutcomeCompleted}
	}
	return nil
}

// turnEndVerdict returns the verdict on an agent whose last turn has ended; how says how it ended.
func (w *completionWatcher) turnEndVerdict(how string) *verdict {
	switch {
	case w.submitted.isMarked:
		return w.completionVerdict() // nil: it comes when the attempt is idle
	case w.agentReports.reachedLimit != "":
		return &verdict{outcome: runs.OutcomeLimit, detail: w.agentReports.reachedLimit}
	case w.agentReports.lastError != "":
		return &verdict{outcome: runs.OutcomeStopped, detail: how + "; it has reported: " + w.agentReports.lastError}
	default:
		return &verdict{outcome: runs.OutcomeStopped, detail: how}
	}
}

// updateCell applies f to the runs of a cell, and removes the cell if it has no open run after
// that.
func (w *completionWatcher) updateCell(id string, f func(*cellRuns)) {
	c := w.cells[id]
	f(&c)
	if c.isOpen() {
		w.cells[id] = c
	} else {
		delete(w.cells, id)
	}
}
