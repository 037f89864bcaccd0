package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
)

// checkTimers returns the verdict that follows from the time alone, or nil and when to check again;
// a zero due means never. It is called when there is no entry to read.
func (w *completionWatcher) checkTimers(now time.Time) (v *verdict, due time.Time) {
	if w.taskSentAt.IsZero() {
		return nil, due
	}
	for _, check := range []func(time.Time) (*verdict, time.Time){w.checkWallLimit, w.checkRunPromises, w.checkStreamedMessage, w.checkHolderAway, w.checkIdleLimit, w.checkFinalMessage, w.checkModelWaits} {
		v, at := check(now)
		if v != nil {
			return v, due
		}
		due = earlierOf(due, at)
	}
	return nil, due
}

// checkWallLimit checks the limit on the time since the task was sent.
func (w *completionWatcher) checkWallLimit(now time.Time) (v *verdict, due time.Time) {
	wall := secondsToDuration(w.limits.WallTimeoutS)
	if wall <= 0 || w.taskSentAt.IsZero() {
		return nil, due
	}
	if took := now.Sub(w.taskSentAt); took >= wall {
		return limitVerdict("wall", wall, took), due
	}
	return nil, w.taskSentAt.Add(wall)
}

// checkRunPromises closes runs that were promised and have not come in time. Runs that a widget
// causes come after those of all other cells, so their time begins when no other cell has an open
// run.
func (w *completionWatcher) checkRunPromises(now time.Time) (v *verdict, due time.Time) {
	for id := range w.cells {
		if id != widgetRerunsID {
			due = earlierOf(due, w.checkRunPromise(id, now))
		}
	}
	if len(w.cells) == 1 {
		due = earlierOf(due, w.checkRunPromise(widgetRerunsID, now))
	}
	return w.completionVerdict(), due
}

// checkRunPromise closes the promised run of a cell if its time is over, and otherwise returns when
// that will be.
func (w *completionWatcher) checkRunPromise(id string, now time.Time) (due time.Time) {
	promised := w.cells[id].promisedAt
	if promised.IsZero() {
		return due
	}
	if until := promised.Add(runPromiseTimeout); now.Before(until) {
		return until
	}
	w.updateCell(id, func(c *cellRuns) { c.promisedAt = time.Time{} })
	return due
}

// checkIdleLimit checks the limit on the time without a sign of the agent. It does not count while
// a cell runs.
func (w *completionWatcher) checkIdleLimit(now time.Time) (v *verdict, due time.Time) {
	idle := secondsToDuration(w.limits.IdleTimeoutS)
	if idle <= 0 || len(w.cells) > 0 {
		return nil, due
	}
	if took := now.Sub(w.agentReports.lastActiveAt); took >= idle {
		return limitVerdict("idle", idle, took), due
	}
	return nil, w.agentReports.lastActiveAt.Add(idle)
}

// checkFinalMessage ends the agent's turn if nothing has come for finalMessageGrace after a message
// without tool use.
func (w *completionWatcher) checkFinalMessage(now time.Time) (v *verdict, due time.Time) {
	if w.agentReports.finalMessageAt.IsZero() || !w.isIdle() {
		return nil, due
	}
	if now.Sub(w.agentReports.finalMessageAt) >= finalMessageGrace {
		return w.turnEndVerdict("the agent ended with a message and no submission"), due
	}
	return nil, w.agentReports.finalMessageAt.Add(finalMessageGrace)
}

// earlierOf returns the earlier of two times, where zero means never.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// limitVerdict returns the verdict that the limit which is called name was exceeded.
func limitVerdict(name string, configured, measured any) *verdict {
	if d, ok := measured.(time.Duration); ok {
		measured = d.Round(time.Millisecond)
	}
	return &verdict{outcome: runs.OutcomeLimit, detail: fmt.Sprintf("%s: configured %v, measured %v", name, configured, measured)}
}
