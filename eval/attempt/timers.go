package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
)

// checkTimers returns the verdict that follows from the time now alone, such as an exceeded
// limit. If there is none, due is when to check again; zero means never. It is called when
// there is no trace entry to read.
func (w *completionWatcher) checkTimers(now time.Time) (v *watcherVerdict, due time.Time) {
	if w.taskSentAt.IsZero() {
		return nil, due
	}
	for _, check := range []func(time.Time) (*watcherVerdict, time.Time){w.checkWallLimit, w.checkExpectedRuns, w.checkStreamedMessage, w.checkSubmissionGrace, w.checkQueuedRuns, w.checkHolderAway, w.checkIdleLimit, w.checkFinalMessage, w.checkModelWaits} {
		v, at := check(now)
		if v != nil {
			return v, due
		}
		due = earlierTime(due, at)
	}
	return w.completionVerdict(), due
}

// checkSubmissionGrace freezes the submission when submissionGrace is over. Before that, due is
// when it will be; zero means that there is no grace to wait for. It returns no verdict.
func (w *completionWatcher) checkSubmissionGrace(now time.Time) (v *watcherVerdict, due time.Time) {
	if !w.submitted.isMarked() || w.submitted.isFrozen {
		return nil, due
	}
	if until := w.submitted.markedAt.Add(submissionGrace); now.Before(until) {
		return nil, until
	}
	w.freezeSubmission()
	return nil, due
}

// checkQueuedRuns stops waiting, after the submission, for runs that only wait although nothing runs and the agent
// has not been active for queuedRunTimeout: code in the kernel can name any cell as queued, or stop the kernel. It
// returns no verdict; due is when to check again.
func (w *completionWatcher) checkQueuedRuns(now time.Time) (v *watcherVerdict, due time.Time) {
	if !w.submitted.isFrozen || len(w.cells) == 0 || len(w.actions) > 0 || w.isKernelReplaced {
		return nil, due
	}
	for _, c := range w.cells {
		if c.IsStarted() {
			return nil, due
		}
	}
	if until := w.idleSince().Add(queuedRunTimeout); now.Before(until) {
		return nil, until
	}
	clear(w.cells)
	return nil, due
}

// checkExpectedRuns stops waiting for expected runs of cells that have not begun within
// expectedRunTimeout. Runs that a widget causes come after those of all other cells, so their
// time begins when no other cell has an open run. It returns no verdict; due is when to check
// again.
func (w *completionWatcher) checkExpectedRuns(now time.Time) (v *watcherVerdict, due time.Time) {
	for id := range w.cells {
		if id != widgetRerunsID {
			due = earlierTime(due, w.checkExpectedRun(id, now))
		}
	}
	if len(w.cells) == 1 {
		due = earlierTime(due, w.checkExpectedRun(widgetRerunsID, now))
	}
	return nil, due
}

// checkExpectedRun stops waiting for the expected run of one cell if expectedRunTimeout has
// passed. Otherwise it returns when that will be; zero means that no run of the cell is
// expected.
func (w *completionWatcher) checkExpectedRun(id string, now time.Time) (due time.Time) {
	expectedSince := w.cells[id].expectedSince
	if expectedSince.IsZero() {
		return due
	}
	if until := expectedSince.Add(expectedRunTimeout); now.Before(until) {
		return until
	}
	w.updateCellRuns(id, func(c *cellRuns) { c.expectedSince = time.Time{} })
	return due
}

// checkIdleLimit returns a limit verdict if the agent has not been active for the idle limit.
// Time in which a cell runs, or a call of a model is in flight, does not count. Otherwise due is when the limit will be reached;
// zero means that it does not count now.
func (w *completionWatcher) checkIdleLimit(now time.Time) (v *watcherVerdict, due time.Time) {
	idle := secondsToDuration(w.limits.IdleTimeoutS)
	if idle <= 0 || len(w.cells) > 0 || len(w.modelCalls.time.inFlight) > 0 {
		return nil, due
	}
	since := w.idleSince()
	if took := now.Sub(since); took >= idle {
		return limitVerdict("idle", idle, took), due
	}
	return nil, since.Add(idle)
}

// idleSince returns since when the agent has not been active, and has not waited to repeat a call of its model. It
// may be in the future.
func (w *completionWatcher) idleSince() time.Time {
	since := w.agentReports.lastActiveAt
	for _, waitsUntil := range []time.Time{w.modelWaits.countedUntil, w.modelCalls.time.refusedUntil} {
		if waitsUntil.After(since) {
			since = waitsUntil
		}
	}
	return since
}

// checkFinalMessage returns the verdict that ends the agent's turn if nothing has come for
// finalMessageGrace after an assistant message without tool use. Otherwise due is when that
// will be; zero means that there is no such message, or that work is unfinished (see isIdle).
func (w *completionWatcher) checkFinalMessage(now time.Time) (v *watcherVerdict, due time.Time) {
	if w.agentReports.finalMessageAt.IsZero() || !w.isIdle() {
		return nil, due
	}
	if now.Sub(w.agentReports.finalMessageAt) >= finalMessageGrace {
		return w.turnEndVerdict("the agent ended with a message and no submission"), due
	}
	return nil, w.agentReports.finalMessageAt.Add(finalMessageGrace)
}

// earlierTime returns the earlier of two times. A zero time means never, so the other one is
// returned.
func earlierTime(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// limitVerdict returns the verdict that the limit of this name was exceeded; its detail has the
// configured and the measured value.
func limitVerdict(name string, configured, measured any) *watcherVerdict {
	d, isTime := measured.(time.Duration)
	if isTime {
		measured = d.Round(time.Millisecond)
	}
	return &watcherVerdict{outcome: runs.OutcomeLimit, isTimeLimit: isTime, detail: fmt.Sprintf("%s: configured %v, measured %v", name, configured, measured)}
}
