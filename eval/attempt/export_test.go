package attempt

import (
	"context"
	"encoding/json"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// Watcher makes a completionWatcher available to tests, which append trace entries to its
// journal.
type Watcher struct{ *completionWatcher }

// NewWatcher returns a watcher of an attempt whose agent gets its task now.
func NewWatcher(journal *trace.Journal, limits runs.Limits) Watcher {
	w := NewWatcherBeforeTask(journal, limits)
	w.startTask(time.Now())
	return w
}

// NewWatcherBeforeTask returns a watcher of an attempt whose agent has no task yet; it gets it
// with StartTask.
func NewWatcherBeforeTask(journal *trace.Journal, limits runs.Limits) Watcher {
	return Watcher{newCompletionWatcher(journal, limits, DefaultHolderGrace, &Progress{}, func() {})}
}

// NewPersonWatcherBeforeTask is NewWatcherBeforeTask for an attempt in which a person does the agent's work.
func NewPersonWatcherBeforeTask(journal *trace.Journal, limits runs.Limits) Watcher {
	w := NewWatcherBeforeTask(journal, limits)
	w.person = newPersonState()
	return w
}

// AwaitStart reads the trace until the person has started, until nothing can be started any more, or until ctx
// ends, and reports whether the person has started.
func (w Watcher) AwaitStart(ctx context.Context) (hasStarted bool) {
	w.readEntriesDuring(func() { hasStarted = w.person.awaitStart(ctx) }, w.readBeforeTask)
	return hasStarted
}

// StartTask tells the watcher that the agent gets its task now, which starts the timers.
func (w Watcher) StartTask() { w.startTask(time.Now()) }

// Close makes the watcher stop reading the trace.
func (w Watcher) Close() { w.close() }

// NextVerdict waits for the watcher's next verdict: the end of the attempt, or a question that
// the agent asks.
func (w Watcher) NextVerdict(ctx context.Context) (outcome runs.Outcome, detail, question string) {
	v := w.nextVerdict(ctx)
	return v.outcome, v.detail, v.question
}

// TamperSignals returns how often the completion marker was seen in a place where it does not
// belong.
func (w Watcher) TamperSignals() int { return w.counts.tamperSignals }

// Interventions returns how many changes and messages by people at consoles the watcher has
// counted.
func (w Watcher) Interventions() int { return w.counts.interventions }

// Usage returns the tokens, calls and actions that the watcher has counted so far.
func (w Watcher) Usage() runs.Usage { return w.usage() }

// ModelWaitTime returns how long the agent has waited so far before calls of its
// models.
func (w Watcher) ModelWaitTime() time.Duration { return w.waitedUntil(time.Now()) }

// DescribeModelFailure returns what is appended to the detail of an agent's error about its calls of models.
func (w Watcher) DescribeModelFailure(detail string) string {
	return w.modelCalls.problems.describeFailure(detail)
}

// DescribeUnenforcedCost returns why the limit on cost was not enforced.
func (w Watcher) DescribeUnenforcedCost() string { return w.describeUnenforcedCost() }

// ReadEntriesDuring calls work and counts the trace entries that are appended while it runs.
func (w Watcher) ReadEntriesDuring(work func()) { w.readEntriesDuring(work, w.countEntry) }

// CountRemainingAndClose counts the entries that the journal has by now and closes the watcher.
func (w Watcher) CountRemainingAndClose() { w.countRemainingAndClose() }

// AwaitTurnEnd waits until the agent ends the turn in which it has submitted, for a limited
// time.
func (w Watcher) AwaitTurnEnd(ctx context.Context) { w.awaitTurnEnd(ctx) }

// Progress returns the Progress that the watcher updates.
func (w Watcher) Progress() *Progress { return w.progress }

// StreamContains exports streamContains, which searches a reader for a text.
var StreamContains = streamContains //nolint:gochecknoglobals // an export for tests

// CaseFileIDFromName exports caseFileIDFromName, which derives the id of a case's file from its name.
var CaseFileIDFromName = caseFileIDFromName //nolint:gochecknoglobals // an export for tests

// StopAfterTimeout exports rerunner.stopAfterTimeout, which calls a function when cellTimeout
// has passed.
func StopAfterTimeout(timeout time.Duration, stop func()) (cancel func()) {
	return (&rerunner{cellTimeout: timeout}).stopAfterTimeout(stop)
}

// AssembleStream assembles stream frames to a message and returns it, or the reason why the
// message is discarded.
func AssembleStream(parts ...[]byte) (entry protocol.HistoryEntry, fault string) {
	m := newStreamedMessage()
	for _, part := range parts {
		if m.fault == "" {
			m.addFrame(part)
		}
	}
	if err := json.Unmarshal(m.asHistoryMessage().raw, &entry); err != nil {
		panic(err)
	}
	return entry, m.fault
}
