package kernel

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"assay/internal/protocol"
)

const (
	// RepeatStopDelay is how long a run may go on after a stop_cell message before the
	// message is sent again.
	RepeatStopDelay = time.Second

	// StuckTimeout is how long a run may go on after a stop_cell message before the
	// kernel counts as stuck.
	StuckTimeout = 5 * time.Second
)

// stopTarget identifies the run that a stop_cell message stops: a run of the cell cellID or,
// if that is empty, the execute_code request agentTxID.
type stopTarget struct{ cellID, agentTxID string }

// stopTargetOfMessage returns the cell or execute_code request that a message is about.
func stopTargetOfMessage(env protocol.Envelope) stopTarget {
	if env.CellID != "" {
		return stopTarget{cellID: env.CellID}
	}
	return stopTarget{agentTxID: env.AgentTxID}
}

// String returns the target as a phrase for a sentence: `the cell "c1"` or "code without a
// cell".
func (t stopTarget) String() string {
	if t.cellID != "" {
		return fmt.Sprintf("the cell %q", t.cellID)
	}
	return "code without a cell"
}

// stopTracker watches runs that go on after a stop_cell message, and repeats the message or
// reports the run as stuck:
//
//	stop sent ──1 s──▶ sent again ──4 s──▶ stuck
//	    └─────────────────┴──▶ run ended: nothing more happens
//
// It is safe for concurrent use.
type stopTracker struct {
	repeatOrder func(pendingStop) // sends the stop_cell again
	reportStuck func(pendingStop) // is called once when the run counts as stuck

	mu                sync.Mutex
	runningCell       string                      // empty: no cell runs
	unfinishedTargets map[stopTarget]bool         // cells and execute_code requests sent, started or both
	orders            map[stopTarget]*pendingStop // stop_cell messages sent for unfinished runs
}

// pendingStop is a stop_cell message that was sent to the kernel and whose run has not ended
// yet.
type pendingStop struct {
	target  stopTarget
	message []byte // the stop_cell message as it was sent

	// rerunRequested says that the cell was queued again. Repeating the message would then
	// stop that run instead.
	rerunRequested  bool
	repeatDelayOver bool // RepeatStopDelay has passed
	timer           *time.Timer
}

// newStopTracker returns a stopTracker. It calls repeat when a stop_cell must be sent again,
// and stuck when a run counts as stuck.
func newStopTracker(repeat, stuck func(pendingStop)) *stopTracker {
	return &stopTracker{repeatOrder: repeat, reportStuck: stuck, unfinishedTargets: map[stopTarget]bool{}, orders: map[stopTarget]*pendingStop{}}
}

// noteSentMessage notes a run_cell, execute_code or stop_cell message that is sent to the kernel.
// A stop_cell for an unfinished run starts its timer. Other and malformed messages are
// ignored.
func (s *stopTracker) noteSentMessage(body []byte) {
	kind := frameTypeOf(body)
	if kind != protocol.TypeRunCell && kind != protocol.TypeExecuteCode && kind != protocol.TypeStopCell {
		return
	}
	target := stopTargetOfMessage(envelopeOf(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case kind != protocol.TypeStopCell:
		s.unfinishedTargets[target] = true
		if order := s.orders[target]; order != nil {
			order.rerunRequested = true
		}
	case s.unfinishedTargets[target] && s.orders[target] == nil:
		order := &pendingStop{target: target, message: body}
		s.orders[target] = order
		order.timer = time.AfterFunc(RepeatStopDelay, func() { s.repeatOrReportStuck(order) })
	}
}

// noteCellStarted notes that the kernel has started to run a cell.
func (s *stopTracker) noteCellStarted(cellID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runningCell = cellID
	s.unfinishedTargets[stopTarget{cellID: cellID}] = true
}

// isStopping reports whether a stop_cell was sent for a run of the cell that has not ended yet.
func (s *stopTracker) isStopping(cellID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders[stopTarget{cellID: cellID}] != nil
}

// noteRunEnded notes that a run has ended, and drops the stop_cell that was sent for it.
func (s *stopTracker) noteRunEnded(target stopTarget) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unfinishedTargets, target)
	if order := s.orders[target]; order != nil {
		order.timer.Stop()
		delete(s.orders, target)
	}
	if target.cellID != "" && target.cellID == s.runningCell {
		s.runningCell = ""
	}
}

// repeatOrReportStuck is called by the timer of a stop_cell whose run goes on. The first time,
// after RepeatStopDelay, it has the message sent again, unless the cell was queued again
// since; the second time, after StuckTimeout, it reports the run as stuck. It does nothing for
// a run that waits behind another one, since that cannot stop yet.
func (s *stopTracker) repeatOrReportStuck(order *pendingStop) {
	s.mu.Lock()
	if s.orders[order.target] != order || s.runningCell != order.target.cellID {
		s.mu.Unlock()
		return
	}
	next := s.reportStuck
	if !order.repeatDelayOver {
		order.repeatDelayOver = true
		order.timer = time.AfterFunc(StuckTimeout-RepeatStopDelay, func() { s.repeatOrReportStuck(order) })
		next = s.repeatOrder
		if order.rerunRequested {
			next = func(pendingStop) {}
		}
	}
	current := *order
	s.mu.Unlock()
	next(current)
}

// close stops the timers of all stop_cell messages. Nothing is repeated or reported after it.
func (s *stopTracker) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for order := range maps.Values(s.orders) {
		order.timer.Stop()
	}
	s.orders = map[stopTarget]*pendingStop{}
}
