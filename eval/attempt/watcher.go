package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/docker/go-units"

	"assay/eval/runs"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
)

const (
	// finalMessageGrace is how long an agent must be silent after an assistant message without tool
	// use until its turn counts as ended.
	finalMessageGrace = 5 * time.Second

	// expectedRunTimeout is how long the watcher waits for an expected run of a cell to begin; after
	// that the run no longer counts as open.
	expectedRunTimeout = time.Second

	// queuedRunTimeout is how long the watcher waits, after the submission, for a queued run to begin
	// although no other runs.
	queuedRunTimeout = 30 * time.Second

	// submissionGrace is how long after the marked submission the agent's actions are still
	// accepted, unless its turn ends or its next message begins earlier.
	submissionGrace = 10 * time.Second

	// maxOpenCells is how many cells with open runs are watched: frames of a faulty kernel can
	// name any number.
	maxOpenCells = 10_000

	// turnEndGrace is how long an agent that has submitted may take to end its turn.
	turnEndGrace = time.Second
)

// completionWatcher reads the entries of a session's trace in order and decides when its attempt is
// over, and how. It is not safe for concurrent use.
//
//	      a submission with the marker           no more actions of its message
//	working ───────────────────────────▶ marked ────────────────────────────────▶ frozen ──idle──▶ completed
//	   ├── done, or a final message and 5 s of silence ──▶ stopped_without_answer
//	   ├── a limit, a dead child, an agent's error
//	   └── a question ──▶ (answered once) ──▶ asked_question
//
// No more actions of its message come if it uses no other tool, when the turn or the agent has
// ended, when the next message begins, and after 10 s. The package doc says what frozen and idle
// mean. Time limits are checked when there is nothing to read; see checkTimers.
type completionWatcher struct {
	journal     *trace.Journal
	follower    *trace.Follower
	limits      runs.Limits
	holderGrace time.Duration // how long the console that holds the notebook may be away
	progress    *Progress
	freeze      func() // makes the session refuse the agent's actions from now on
	position    readPosition

	cells            map[string]cellRuns    // by id: cells with an open run
	isKernelReplaced bool                   // the kernel is being killed, or has ended, and a new one is to start
	actions          map[string]agentAction // by tx_id: actions of the agent without an answer
	hasRunCode       bool                   // the agent has had the kernel run code
	lastRunAction    string                 // name of the action of the agent that ran a cell last; empty: none

	taskSentAt     time.Time // when the agent got its task; zero: not yet
	stream         messageAssembler
	submitted      submissionState
	agentReports   agentReports
	holderPresence consolePresence
	modelWaits     modelWaits // by the agent's reports
	modelCalls     modelCalls
	counts         watcherCounters
	traceBytes     int64 // of messages in the trace

	person *personState // of an attempt in which a person does the agent's work; nil: an agent works

	earlyVerdict *watcherVerdict // verdict from before the task was sent; nil: none
	isOver       bool            // there is a verdict: entries are only counted
}

// submissionState is what the watcher remembers of the agent's submissions and questions.
type submissionState struct {
	markedAt      time.Time         // when a submission had the completion marker; zero: none had
	isFrozen      bool              // actions of the agent are refused since then
	messages      []json.RawMessage // messages with submissions; once one is marked, only that submission
	summary       string            // of the marked submission; before that, of the last one
	questionCount int
}

// isMarked reports whether one of the submissions had the completion marker.
func (s *submissionState) isMarked() bool { return !s.markedAt.IsZero() }

// agentReports is the latest that the agent has reported about itself: status, activity,
// errors.
type agentReports struct {
	lastActiveAt   time.Time // when it last sent something, or one of its cells ended
	status         string    // of agent_status
	modelActivity  string    // what its model is doing, while a reply is streamed; empty: nothing
	finalMessageAt time.Time // of its last assistant message without tool use; zero if it went on after that
	reachedLimit   string    // the limit that it says it has reached; empty: none
	lastError      string    // the last error that it reported and went on after; empty: none
	lastFrame      agentFrame
	unreadable     string // the last part of a frame that could not be read, and why; empty: none
}

// agentFrame identifies a frame of the agent.
type agentFrame struct {
	kind         string // its type
	seq          int64  // of its trace entry
	action, txID string // of an agent_action
	txIDProblem  string // why an agent_action gets no answer; empty: it gets one
}

// watcherCounters has the numbers that go into the attempt's line: usage, tamper signals and
// interventions.
type watcherCounters struct {
	usage         runs.Usage
	tamperSignals int
	interventions int // changes and messages by people
}

// cellRuns are the runs of one cell that have not ended: one may be running while another waits
// or is expected.
type cellRuns struct {
	notebook.RunState
	expectedSince time.Time // since when a run is expected for which no run_cell was seen yet; zero: none is
}

// isOpen reports whether a run of the cell is waiting, running or expected.
func (c *cellRuns) isOpen() bool { return c.IsOpen() || !c.expectedSince.IsZero() }

// widgetRerunsID is the key in completionWatcher.cells that stands for the cells, not named
// yet, which the kernel may run again because a widget was set.
const widgetRerunsID = "set_widget_value"

// watcherVerdict is a decision of the watcher: how the attempt ends, or that the agent asks a
// question. It is not the graders' verdict.
type watcherVerdict struct {
	outcome     runs.Outcome // empty: a question
	detail      string       // of the outcome
	isTimeLimit bool         // the outcome is a limit on time
	isFlood     bool         // the trace has become too large: kernel and agent must be killed
	question    string
}

// newCompletionWatcher returns a watcher that reads the journal from now on. It must be closed:
// until then the goroutines that read from kernel and agent wait while the watcher is too far
// behind. freeze is called once, when further actions of the agent must be refused.
func newCompletionWatcher(journal *trace.Journal, limits runs.Limits, holderGrace time.Duration, progress *Progress, freeze func()) *completionWatcher {
	return &completionWatcher{
		journal: journal, follower: journal.FollowWithBackpressure(), limits: limits, holderGrace: holderGrace, progress: progress,
		freeze: freeze,
		cells:  map[string]cellRuns{}, actions: map[string]agentAction{},
	}
}

// readEntriesDuring calls work and, until work returns, passes new trace entries to read in
// another goroutine. Without that the trace's queue could fill up while the attempt does
// something else, which blocks the readers of kernel and agent and, after trace.RoomTimeout, ends
// their connections. work must not use the watcher. A panic of read is repeated in the caller's
// goroutine.
func (w *completionWatcher) readEntriesDuring(work func(), read func(*trace.Entry)) {
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
			w.position.advance(entry.Seq)
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

// readBeforeTask processes a trace entry from before the agent gets its task. It ignores the
// agent's frames, but notes cells that people run, that a person starts, calls of models, and the end of
// a child, whose verdict nextVerdict will return.
func (w *completionWatcher) readBeforeTask(e *trace.Entry) {
	switch e.Hop {
	case trace.ServerToKernel, trace.KernelToServer:
		w.readEntry(e)
	case trace.HopSession, trace.AgentToModel, trace.ModelToAgent:
		w.earlyVerdict = cmp.Or(w.earlyVerdict, w.readEntry(e))
	default:
	}
	if w.person != nil && (isAttemptStart(e) || w.earlyVerdict != nil) {
		w.person.endWait(w.earlyVerdict == nil)
	}
}

// startTask starts the timers at the time now and resets the counts, because the agent gets its
// task now.
func (w *completionWatcher) startTask(now time.Time) {
	w.readAvailable(w.readBeforeTask)
	w.taskSentAt, w.agentReports.lastActiveAt = now, now
	w.counts.usage, w.counts.tamperSignals, w.modelWaits = runs.Usage{}, 0, modelWaits{}
	w.modelCalls.time.restart(now)
}

// nextVerdict reads trace entries until one of them, or a timer, leads to a verdict. When ctx
// ends the verdict is cancelled. The end of ctx and the wall limit are checked before each
// entry, so that a flood of frames cannot delay them.
func (w *completionWatcher) nextVerdict(ctx context.Context) watcherVerdict {
	if w.earlyVerdict != nil {
		return *w.earlyVerdict
	}
	for {
		if ctx.Err() != nil {
			return watcherVerdict{outcome: runs.OutcomeCancelled, detail: context.Cause(ctx).Error()}
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
		v := w.readEntry(entry)
		w.position.advance(entry.Seq)
		if v != nil {
			return *v
		}
	}
}

// awaitEntry waits for the next trace entry and returns it. It returns nil at the time due,
// unless that is zero, and when ctx ends.
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

// awaitTurnEnd reads and counts trace entries until the agent's status is neither thinking nor
// executing, at most for turnEndGrace, so that the trace has the whole last turn. It returns at
// once for an agent that sends no status.
func (w *completionWatcher) awaitTurnEnd(ctx context.Context) {
	w.isOver = true
	ctx, cancel := context.WithTimeout(ctx, turnEndGrace)
	defer cancel()
	for w.agentReports.status == protocol.AgentThinking || w.agentReports.status == protocol.AgentExecuting {
		entry, err := w.follower.Next(ctx)
		if err != nil {
			return
		}
		w.readEntry(entry)
		w.position.advance(entry.Seq)
	}
}

// countEntry processes a trace entry that comes after the attempt's end was decided: it changes
// only the counts.
func (w *completionWatcher) countEntry(e *trace.Entry) {
	w.isOver = true
	w.readEntry(e)
}

// countRemainingAndClose counts the entries that the trace has by now, and closes the watcher.
func (w *completionWatcher) countRemainingAndClose() {
	w.readAvailable(w.countEntry)
	w.close()
}

// readAvailable passes to read the entries that the trace has at the time of the call. It does
// not wait for more.
func (w *completionWatcher) readAvailable(read func(*trace.Entry)) {
	last, _ := w.journal.LastEntry()
	for w.follower.LastSeq() < last {
		entry := w.follower.TryNext()
		read(entry)
		w.position.advance(entry.Seq)
	}
}

// close makes the watcher stop reading the trace. Further calls do nothing.
func (w *completionWatcher) close() {
	w.follower.Close()
	w.position.advance(math.MaxInt64)
}

// readEntry processes one trace entry and returns the verdict that follows from it, or nil. A
// verdict other than a question has precedence over the completion.
func (w *completionWatcher) readEntry(e *trace.Entry) *watcherVerdict {
	if e.Note == trace.NoteTamper {
		w.counts.tamperSignals++
	}
	v, exceeded := w.dispatchEntry(e), w.countTraceBytes(e)
	if v == nil || v.outcome == "" {
		v = cmp.Or(exceeded, w.completionVerdict(), v)
	}
	return v
}

// traceEntryBytes is roughly how many bytes a trace entry takes beside its body.
const traceEntryBytes = 150

// countTraceBytes counts the size of a trace entry. It returns a limit verdict if the trace is larger
// than Limits.MaxTraceBytes.
func (w *completionWatcher) countTraceBytes(e *trace.Entry) *watcherVerdict {
	if e.RefSeq == 0 { // otherwise another entry has the body
		w.traceBytes += int64(len(e.Body))
	}
	w.traceBytes += traceEntryBytes
	if limit := w.limits.MaxTraceBytes; limit > 0 && w.traceBytes > limit {
		v := limitVerdict("trace", units.BytesSize(float64(limit)), units.BytesSize(float64(w.traceBytes)))
		v.isFlood = true
		return v
	}
	return nil
}

// dispatchEntry calls the method that processes the entries of this hop and returns its verdict.
func (w *completionWatcher) dispatchEntry(e *trace.Entry) *watcherVerdict {
	switch e.Hop {
	case trace.AgentToServer:
		return w.readAgentFrame(e)
	case trace.ServerToAgent:
		w.readAnswerToAgent(e)
	case trace.ServerToKernel:
		w.readKernelCommand(e)
	case trace.KernelToServer:
		w.readKernelFrame(e)
	case trace.HopSession:
		return w.readSessionEntry(e)
	case trace.ConsoleToServer:
		if w.person != nil {
			return w.readPersonAction(e)
		}
		w.countIntervention(e)
	case trace.AgentToModel, trace.ModelToAgent:
		return w.readModelEntry(e)
	case trace.ServerToConsole, trace.HopNotebook:
	}
	return nil
}

// isIdle reports whether nothing of the agent's work is unfinished: no cell has an open run, no
// action of the agent waits for its answer, and no kernel is being replaced.
func (w *completionWatcher) isIdle() bool {
	return len(w.cells) == 0 && len(w.actions) == 0 && !w.isKernelReplaced
}

// completionVerdict returns the verdict completed if the agent has submitted with the
// completion marker, its further actions are refused, and nothing is unfinished (see isIdle).
// Otherwise it returns nil.
func (w *completionWatcher) completionVerdict() *watcherVerdict {
	if w.submitted.isFrozen && w.isIdle() {
		return &watcherVerdict{outcome: runs.OutcomeCompleted}
	}
	return nil
}

// freezeSubmission ends the time in which actions of the agent are accepted after its marked
// submission. It does nothing if there is no such submission.
func (w *completionWatcher) freezeSubmission() {
	if !w.submitted.isMarked() || w.submitted.isFrozen {
		return
	}
	w.submitted.isFrozen = true
	w.freeze()
}

// turnEndVerdict returns the verdict on an agent whose last turn has ended without a marked
// submission: that it has reached its own limit, or stopped without an answer. how says
// how the turn ended. After a marked submission it returns nil: see completionVerdict.
func (w *completionWatcher) turnEndVerdict(how string) *watcherVerdict {
	switch {
	case w.submitted.isMarked():
		w.freezeSubmission()
		return nil // the verdict comes when the attempt is idle
	case w.agentReports.reachedLimit != "":
		return &watcherVerdict{outcome: runs.OutcomeLimit, detail: w.agentReports.reachedLimit}
	case w.agentReports.lastError != "":
		return &watcherVerdict{outcome: runs.OutcomeStopped, detail: how + "; it has reported: " + w.agentReports.lastError}
	default:
		return &watcherVerdict{outcome: runs.OutcomeStopped, detail: how}
	}
}

// updateCellRuns calls f with the runs of the cell id, and forgets the cell if it has no open run
// after that. It does nothing for another cell than the first maxOpenCells.
func (w *completionWatcher) updateCellRuns(id string, f func(*cellRuns)) {
	c, isKnown := w.cells[id]
	if !isKnown && len(w.cells) >= maxOpenCells {
		return
	}
	f(&c)
	if c.isOpen() {
		w.cells[id] = c
	} else {
		delete(w.cells, id)
	}
}
