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
	w.begin(time.Now())
	return w
}

// NewWaitingWatch returns a watch of an agent that has no task yet.
func NewWaitingWatch(journal *trace.Journal, limits runs.Limits) Watch {
	return Watch{newWatch(journal, limits, DefaultHolderGrace, &Progress{})}
}

// Begin gives the agent its task now.
func (w Watch) Begin() { w.begin(time.Now()) }

// Close lets go of the trace.
func (w Watch) Close() { w.close() }

// Next returns the next verdict.
func (w Watch) Next(ctx context.Context) (outcome runs.Outcome, detail, question string) {
	v := w.next(ctx)
	return v.outcome, v.detail, v.question
}

// Tamper is the number of tamper signals so far.
func (w Watch) Tamper() int { return w.tamper }

// Interventions is how often a person has intervened so far.
func (w Watch) Interventions() int { return w.interventions }

// Usage is what was counted so far.
func (w Watch) Usage() runs.Usage { return w.counts }

// Waited is how long the agent has waited so far until its model could be called.
func (w Watch) Waited() time.Duration { return w.waits.by(time.Now()) }

// DrainDuring calls work and counts, without a verdict, what comes meanwhile.
func (w Watch) DrainDuring(work func()) { w.drainDuring(work, w.count) }

// Rest counts what is there, and ends the watch.
func (w Watch) Rest() { w.rest() }

// HearOut waits for the end of the turn in which the agent has submitted.
func (w Watch) HearOut(ctx context.Context) { w.hearOut(ctx) }

// Doing is what the attempt is doing.
func (w Watch) Doing() *Progress { return w.doing }

// Contains looks for text in a stream.
var Contains = contains //nolint:gochecknoglobals // an export for tests

// NodeID is the id of a file in a query.
var NodeID = nodeID //nolint:gochecknoglobals // an export for tests

// StopLate calls stop when limit has passed, unless what it returns is called
// before.
func StopLate(limit time.Duration, stop func()) (ended func()) {
	return (&again{limit: limit}).stopLate(stop)
}

// Rebuild puts a message together from the parts that come between its
// agent_stream_start and its end; fault is why it is given up.
func Rebuild(parts ...[]byte) (entry protocol.HistoryEntry, fault string) {
	m := newStreamed()
	for _, part := range parts {
		if m.fault == "" {
			m.add(part)
		}
	}
	return m.entry(), m.fault
}
