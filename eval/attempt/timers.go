package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
)

// checkTimers says what the time alone decides, while there is nothing to read, and
// when it decides something next; zero: never.
func (w *watch) checkTimers(now time.Time) (v *verdict, due time.Time) {
	if w.taskSentAt.IsZero() {
		return nil, due
	}
	for _, clock := range []func(time.Time) (*verdict, time.Time){w.checkWallLimit, w.checkRunPromises, w.checkStreamedMessage, w.checkHolderAway, w.checkIdleLimit, w.checkFinalMessage, w.checkModelWaits} {
		v, at := clock(now)
		if v != nil {
			return v, due
		}
		due = earlierOf(due, at)
	}
	return nil, due
}

func (w *watch) checkWallLimit(now time.Time) (v *verdict, due time.Time) {
	wall := secondsToDuration(w.limits.WallS)
	if wall <= 0 || w.taskSentAt.IsZero() {
		return nil, due
	}
	if took := now.Sub(w.taskSentAt); took >= wall {
		return limitVerdict("wall", wall, took), due
	}
	return nil, w.taskSentAt.Add(wall)
}

// checkRunPromises gives up on runs that were promised and did not come. Those that a
// widget may cause come after the run that is on, however long it takes.
func (w *watch) checkRunPromises(now time.Time) (v *verdict, due time.Time) {
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

// checkRunPromise gives up on the promised run of a cell, or says when to.
func (w *watch) checkRunPromise(id string, now time.Time) (due time.Time) {
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

func (w *watch) checkIdleLimit(now time.Time) (v *verdict, due time.Time) {
	idle := secondsToDuration(w.limits.IdleS)
	if idle <= 0 || len(w.cells) > 0 {
		return nil, due
	}
	if took := now.Sub(w.aliveAt); took >= idle {
		return limitVerdict("idle", idle, took), due
	}
	return nil, w.aliveAt.Add(idle)
}

func (w *watch) checkFinalMessage(now time.Time) (v *verdict, due time.Time) {
	if w.finalMessageAt.IsZero() || !w.isIdle() {
		return nil, due
	}
	if now.Sub(w.finalMessageAt) >= finalMessageGrace {
		return w.turnEndVerdict("the agent ended with a message and no submission"), due
	}
	return nil, w.finalMessageAt.Add(finalMessageGrace)
}

// earlierOf is the earlier of two times, of which zero is never.
func earlierOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func limitVerdict(which string, configured, measured any) *verdict {
	if d, ok := measured.(time.Duration); ok {
		measured = d.Round(time.Millisecond)
	}
	return &verdict{outcome: runs.OutcomeLimit, detail: fmt.Sprintf("%s: configured %v, measured %v", which, configured, measured)}
}
