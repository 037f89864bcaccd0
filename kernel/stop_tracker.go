package kernel

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"assay/internal/protocol"
)

const (
	// RepeatStopDelay is how long a run may go on after an order to stop until the order
	// is sent again.
	RepeatStopDelay = time.Second

	// StuckTimeout is how long a run may go on after an order to stop until the kernel
	// counts as stuck.
	StuckTimeout = 5 * time.Second
)

// stopTarget is what an order to stop is about: a run of a cell or, if cellID is empty,
// an execute_code request.
type stopTarget struct{ cellID, agentTxID string }

// stopTargetOf returns what a message is about.
func stopTargetOf(env protocol.Envelope) stopTarget {
	if env.CellID != "" {
		return stopTarget{cellID: env.CellID}
	}
	return stopTarget{agentTxID: env.AgentTxID}
}

// String names the target in a sentence.
func (t stopTarget) String() string {
	if t.cellID != "" {
		return fmt.Sprintf("the cell %q", t.cellID)
	}
	return "code without a cell"
}

// stopTracker follows runs that go on after an order to stop:
//
//	order sent ──1 s──▶ repeat ──4 s──▶ stuck
//	    └─────────────────┴──▶ ended: the order is forgotten
//
// It is safe for concurrent use.
type stopTracker struct {
	repeatOrder func(stopOrder) // sends the order again
	reportStuck func(stopOrder) // is called when the run counts as stuck

	mu                sync.Mutex
	runningCell       string                    // empty: no cell runs
	unfinishedTargets map[stopTarget]bool       // cells and execute_code requests sent, started or both
	orders            map[stopTarget]*stopOrder // of the unfinished ones, those with an order to stop
}

// stopOrder is an order to stop.
type stopOrder struct {
	target  stopTarget
	message []byte // as it was sent

	// rerunRequested: the cell is queued again, and repeating the order would stop that
	// run instead.
	rerunRequested bool
	repeatDue      bool // RepeatStopDelay has passed
	timer          *time.Timer
}

func newStopTracker(repeat, stuck func(stopOrder)) *stopTracker {
	return &stopTracker{repeatOrder: repeat, reportStuck: stuck, unfinishedTargets: map[stopTarget]bool{}, orders: map[stopTarget]*stopOrder{}}
}

// messageSent follows a message to the kernel. It ignores a malformed one.
func (s *stopTracker) messageSent(body []byte) {
	kind := frameType(body)
	if kind != protocol.TypeRunCell && kind != protocol.TypeExecuteCode && kind != protocol.TypeStopCell {
		return
	}
	target := stopTargetOf(envelopeOf(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case kind != protocol.TypeStopCell:
		s.unfinishedTargets[target] = true
		if order := s.orders[target]; order != nil {
			order.rerunRequested = true
		}
	case s.unfinishedTargets[target] && s.orders[target] == nil:
		order := &stopOrder{target: target, message: body}
		s.orders[target] = order
		order.timer = time.AfterFunc(RepeatStopDelay, func() { s.escalate(order) })
	}
}

// cellStarted notes that a cell runs.
func (s *stopTracker) cellStarted(cellID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runningCell = cellID
	s.unfinishedTargets[stopTarget{cellID: cellID}] = true
}

// targetEnded notes the end of a run and forgets the order to stop it.
func (s *stopTracker) targetEnded(target stopTarget) {
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

// escalate repeats an order whose run goes on, or declares the run stuck. It leaves alone
// what is queued behind another run, since that cannot stop yet.
func (s *stopTracker) escalate(order *stopOrder) {
	s.mu.Lock()
	if s.orders[order.target] != order || s.runningCell != order.target.cellID {
		s.mu.Unlock()
		return
	}
	next := s.reportStuck
	if !order.repeatDue {
		order.repeatDue = true
		order.timer = time.AfterFunc(StuckTimeout-RepeatStopDelay, func() { s.escalate(order) })
		next = s.repeatOrder
		if order.rerunRequested {
			next = func(stopOrder) {}
		}
	}
	current := *order
	s.mu.Unlock()
	next(current)
}

// close forgets all orders.
func (s *stopTracker) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for order := range maps.Values(s.orders) {
		order.timer.Stop()
	}
	s.orders = map[stopTarget]*stopOrder{}
}
