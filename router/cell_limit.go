package router

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"assay/internal/protocol"
)

// EntryTypeCellLimit is the type of the trace entry which says that a cell has run for longer than
// Config.CellRunLimit and is interrupted. It is on the hop "session" and has cell_id and limit_s,
// in seconds.
const EntryTypeCellLimit = "cell_limit"

// cellLimiter stops runs of cells that take longer than a limit. It is safe for concurrent use.
type cellLimiter struct {
	limit time.Duration       // 0: no limit
	stop  func(cellID string) // stops the cell, whose limit is over; called on a separate goroutine

	mu   sync.Mutex
	runs map[string]*limitedRun // by cell id: runs that have started and not ended
}

// limitedRun is a run of a cell with the timer of its limit.
type limitedRun struct {
	timer     *time.Timer
	isStopped bool // the limit is over, and the cell is being stopped
}

func newCellLimiter(limit time.Duration, stop func(cellID string)) *cellLimiter {
	return &cellLimiter{limit: limit, stop: stop, runs: map[string]*limitedRun{}}
}

// noteFrame updates the timers by a frame of the kernel. It returns whether the frame is the
// result of a run that was stopped because of the limit.
func (l *cellLimiter) noteFrame(env protocol.Envelope) (wasStopped bool) {
	if l.limit <= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case env.Type == protocol.TypeStartCell && env.CellID != "":
		l.startLocked(env.CellID)
	case env.Type == protocol.TypeStartCell:
		l.endAllLocked() // the kernel is idle
	case env.Type == protocol.TypeCellResult:
		return l.endLocked(env.CellID)
	}
	return false
}

// endAll forgets all runs, because their kernel has ended.
func (l *cellLimiter) endAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endAllLocked()
}

func (l *cellLimiter) endAllLocked() {
	for id := range l.runs {
		l.endLocked(id)
	}
}

func (l *cellLimiter) startLocked(cellID string) {
	l.endLocked(cellID) // its end was not reported
	run := &limitedRun{}
	l.runs[cellID] = run
	run.timer = time.AfterFunc(l.limit, func() {
		l.mu.Lock()
		isCurrent := l.runs[cellID] == run
		run.isStopped = true
		l.mu.Unlock()
		if isCurrent {
			l.stop(cellID)
		}
	})
}

// endLocked forgets the run of a cell, and returns whether it was stopped.
func (l *cellLimiter) endLocked(cellID string) (wasStopped bool) {
	run := l.runs[cellID]
	if run == nil {
		return false
	}
	delete(l.runs, cellID)
	run.timer.Stop()
	return run.isStopped
}

// stopCellAtLimit interrupts a cell that has run for Config.CellRunLimit, and records that.
func (r *Router) stopCellAtLimit(cellID string) {
	r.log.Warn("the limit of a cell is over", "cell", cellID, "limit", r.cfg.CellRunLimit)
	r.recordSessionEvent(EntryTypeCellLimit, 0, map[string]any{
		"type": EntryTypeCellLimit, "cell_id": cellID, "limit_s": r.cfg.CellRunLimit.Seconds(),
	})
	if err := r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cellID}); err != nil {
		r.log.Warn("the cell could not be stopped", "cell", cellID, "error", err)
	}
}

// withLimitNotice adds to the content of a kernel_message about a cell_result that the cell was
// stopped because of its limit.
func (r *Router) withLimitNotice(content json.RawMessage) json.RawMessage {
	var result struct {
		Exception string `json:"exception"`
	}
	if err := json.Unmarshal(content, &result); err != nil {
		return content // the kernel's exception is no text
	}
	text := fmt.Sprintf("The cell was stopped because it ran longer than the limit of %v for one cell.", r.cfg.CellRunLimit)
	if result.Exception != "" {
		text = result.Exception + "\n" + text
	}
	changed, err := protocol.ReplaceFields(content, protocol.Field{Name: "exception", Value: text})
	if err != nil {
		return content // cannot happen: it was just parsed
	}
	return changed
}
