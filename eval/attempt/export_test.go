package attempt

import (
	"context"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// Watcher exports a completionWatcher to tests that append entries to its journal.
type Watcher struct{ *completionWatcher }

// NewWatcher returns a watcher of an agent that gets its task now.
func NewWatcher(journal *trace.Journal, limits runs.Limits) Watcher {
	w := Watcher{newCompletionWatcher(journal, limits, DefaultHolderGrace, &Progress{})}
	w.startTask(time.Now())
	return w
}

// NewWatcherBeforeTask returns a watcher of an agent that gets its task with StartTask.
func NewWatcherBeforeTask(journal *trace.Journal, limits runs.Limits) Watcher {
	return Watcher{newCompletionWatcher(journal, limits, DefaultHolderGrace, &Progress{})}
}

// StartTask starts the task now.
func (w Watcher) StartTask() { w.startTask(time.Now()) }

// Close stops following the trace.
func (w Watcher) Close() { w.close() }

// NextVerdict returns the next verdict.
func (w Watcher) NextVerdict(ctx context.Context) (outcome runs.Outcome, detail, question string) {
	v := w.nextVerdict(ctx)
	return v.outcome, v.detail, v.question
}

// TamperSignals returns the number of tamper signals so far.
func (w Watcher) TamperSignals() int { return w.counts.tamperSignals }

// Interventions returns the number of interventions of people so far.
func (w Watcher) Interventions() int { return w.counts.interventions }

// Usage returns the usage so far.
func (w Watcher) Usage() runs.Usage { return w.counts.usage }

// WaitedSoFar returns how long the agent has waited so far to call its model.
func (w Watcher) WaitedSoFar() time.Duration { return w.modelWaits.totalAt(time.Now()) }

// DrainDuring calls work, and counts entries that come meanwhile.
func (w Watcher) DrainDuring(work func()) { w.drainDuring(work, w.countEntry) }

// Finish counts the entries that the journal has, and closes the watcher.
func (w Watcher) Finish() { w.finish() }

// DrainTurn waits for the end of the turn in which the agent has submitted.
func (w Watcher) DrainTurn(ctx context.Context) { w.drainTurn(ctx) }

// Progress returns the attempt's progress.
func (w Watcher) Progress() *Progress { return w.progress }

// StreamContains exports streamContains.
var StreamContains = streamContains //nolint:gochecknoglobals // an export for tests

// NodeID exports nodeID.
var NodeID = nodeID //nolint:gochecknoglobals // an export for tests

// StopAfterTimeout exports rerunner.stopAfterTimeout, with this cell timeout.
func StopAfterTimeout(timeout time.Duration, stop func()) (cancel func()) {
	return (&rerunner{cellTimeout: timeout}).stopAfterTimeout(stop)
}

// AssembleStream returns the message that consists of these stream frames, or why it is discarded.
func AssembleStream(parts ...[]byte) (entry protocol.HistoryEntry, fault string) {
	m := newStreamedMessage()
	for _, part := range parts {
		if m.fault == "" {
			m.addFrame(part)
		}
	}
	return m.historyEntry(), m.fault
}
