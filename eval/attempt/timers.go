package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
)

// onTime says what the time alone decides, while there is nothing to read, and
// when it decides something next; zero: never.
func (w *watch) onTime(now time.Time) (v *verdict, due time.Time) {
	if w.began.IsZero() {
		return nil, due
	}
	for _, clock := range []func(time.Time) (*verdict, time.Time){w.onWall, w.onPromises, w.onStream, w.onAway, w.onIdle, w.onLastWord, w.onWaits} {
		v, at := clock(now)
		if v != nil {
			return v, due
		}
		due = sooner(due, at)
	}
	return nil, due
}

func (w *watch) onWall(now time.Time) (v *verdict, due time.Time) {
	wall := seconds(w.limits.WallS)
	if wall <= 0 || w.began.IsZero() {
		return nil, due
	}
	if took := now.Sub(w.began); took >= wall {
		return limitReached("wall", wall, took), due
	}
	return nil, w.began.Add(wall)
}

// onPromises gives up on runs that were promised and did not come. Those that a
// widget may cause come after the run that is on, however long it takes.
func (w *watch) onPromises(now time.Time) (v *verdict, due time.Time) {
	for id := range w.cells {
		if id != reruns {
			due = sooner(due, w.onPromise(id, now))
		}
	}
	if len(w.cells) == 1 {
		due = sooner(due, w.onPromise(reruns, now))
	}
	return w.settle(), due
}

// onPromise gives up on the promised run of a cell, or says when to.
func (w *watch) onPromise(id string, now time.Time) (due time.Time) {
	promised := w.cells[id].promised
	if promised.IsZero() {
		return due
	}
	if until := promised.Add(promise); now.Before(until) {
		return until
	}
	w.change(id, func(c *cell) { c.promised = time.Time{} })
	return due
}

func (w *watch) onIdle(now time.Time) (v *verdict, due time.Time) {
	idle := seconds(w.limits.IdleS)
	if idle <= 0 || len(w.cells) > 0 {
		return nil, due
	}
	if took := now.Sub(w.heard); took >= idle {
		return limitReached("idle", idle, took), due
	}
	return nil, w.heard.Add(idle)
}

func (w *watch) onLastWord(now time.Time) (v *verdict, due time.Time) {
	if w.lastWord.IsZero() || !w.idle() {
		return nil, due
	}
	if now.Sub(w.lastWord) >= quiet {
		return w.over("the agent ended with a message and no submission"), due
	}
	return nil, w.lastWord.Add(quiet)
}

// sooner is the earlier of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func limitReached(which string, configured, measured any) *verdict {
	if d, ok := measured.(time.Duration); ok {
		measured = d.Round(time.Millisecond)
	}
	return &verdict{outcome: runs.OutcomeLimit, detail: fmt.Sprintf("%s: configured %v, measured %v", which, configured, measured)}
}
