package attempt

import (
	"context"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// Watch makes a watch usable from tests that play a session's frames to it.
type Watch struct{ *watch }

// NewWatch returns a watch whose query was sent now.
func NewWatch(journal *trace.Journal, limits runs.Limits) Watch {
	w := Watch{newWatch(journal, limits, DefaultHolderGrace, &Progress{})}
	w.startTask(time.Now())
	return w
}

// NewWatchBeforeTask returns a watch of an agent that has no task yet.
func NewWatchBeforeTask(journal *trace.Journal, limits runs.Limits) Watch {
	return Watch{newWatch(journal, limits, DefaultHolderGrace, &Progress{})}
}

// StartTask gives the agent its task now.
func (w Watch) StartTask() { w.startTask(time.Now()) }

// Close lets go of the trace.
func (w Watch) Close() { w.close() }

// NextVerdict returns the next verdict.
func (w Watch) NextVerdict(ctx context.Context) (outcome runs.Outcome, detail, question string) {
	v := w.nextVerdict(ctx)
	return v.outcome, v.detail, v.question
}

// TamperSignals is the number of tamper signals so far.
func (w Watch) TamperSignals() int { return w.tamperSignals }

// Interventions is how often a person has intervened so far.
func (w Watch) Interventions() int { return w.interventions }

// Usage is what was counted so far.
func (w Watch) Usage() runs.Usage { return w.usage }

// WaitedSoFar is how long the agent has waited so far until its model could be called.
func (w Watch) WaitedSoFar() time.Duration { return w.modelWaits.totalAt(time.Now()) }

// DrainDuring calls work and counts, without a verdict, what comes meanwhile.
func (w Watch) DrainDuring(work func()) { w.drainDuring(work, w.countEntry) }

// Finish counts what is there, and ends the watch.
func (w Watch) Finish() { w.finish() }

// DrainTurn waits for the end of the turn in which the agent has submitted.
func (w Watch) DrainTurn(ctx context.Context) { w.drainTurn(ctx) }

// Progress is what the attempt is doing.
func (w Watch) Progress() *Progress { return w.progress }

// StreamContains looks for text in a stream.
var StreamContains = streamContains //nolint:gochecknoglobals // an export for tests

// NodeID is the id of a file in a query.
var NodeID = nodeID //nolint:gochecknoglobals // an export for tests

// StopAfterTimeout calls stop when limit has passed, unless what it returns is called
// before.
func StopAfterTimeout(limit time.Duration, stop func()) (ended func()) {
	return (&rerunner{cellTimeout: limit}).stopAfterTimeout(stop)
}

// AssembleStream puts a message together from the parts that come between its
// agent_stream_start and its end; fault is why it is given up.
func AssembleStream(parts ...[]byte) (entry protocol.HistoryEntry, fault string) {
	m := newStreamedMessage()
	for _, part := range parts {
		if m.fault == "" {
			m.addFrame(part)
		}
	}
	return m.historyEntry(), m.fault
}
