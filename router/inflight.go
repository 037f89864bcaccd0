package router

import (
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxEndedRequests is how many ended requests are remembered. An answer to one of them is noted
// as late or duplicate; an answer that matches no remembered request is noted as orphaned.
// Package flow remembers as many.
const maxEndedRequests = 4096

// answerer names the peer that must answer a request, for error texts and the log: "notebook",
// "console" or "kernel".
type answerer string

const (
	answeredByNotebook answerer = "notebook" // the server's own document
	answeredByConsole  answerer = "console"  // the console that holds the document
	answeredByKernel   answerer = "kernel"
)

// answer says how a request ended: with a frame, or with the text of a failure.
type answer struct {
	frame   frame
	failure string     // the error's text; empty: frame is the answer
	note    trace.Note // of the trace entry of the error: timed_out, or empty
}

// pendingRequest is a request that has not been answered yet. Except for the timers its fields
// do not change after [inFlightRequests.add].
type pendingRequest struct {
	id           string   // under which the answerer was asked
	agentTxID    string   // the agent's own id for it; empty: it gave none, or another peer asks
	askedByAgent bool     // the agent asks the kernel
	action       string   // what was asked, in the words of who asks
	answerer     answerer // who was asked
	timeout      time.Duration
	reply        func(answer) // called once; the lock of inFlightRequests is not held

	deadlineTimer *time.Timer // fires after timeout; set by add, guarded by inFlightRequests.mu
	staleTimer    *time.Timer // see startStaleSummaryTimer; nil: not started; guarded by inFlightRequests.mu
}

// endedRequest is what the router remembers of a request that is no longer in flight, to
// classify answers that still come.
type endedRequest struct {
	action     string
	answerNote trace.Note // of an answer that still comes: duplicate or late
}

// inFlightRequests is the table of all requests that wait for an answer.
//
//	add ──▶ open ──takeByID──▶ answered    a further answer is a duplicate
//	          ├────deadline──▶ timed out   an answer is late
//	          └────fail──────▶ failed      an answer is late
//
// A request leaves the table exactly once: with its answer, at its deadline, or when the peer
// that was asked or that waits ends, whichever comes first. Answers that come after that, and
// answers that match nothing (orphaned), are noted in the trace and dropped. It is safe for
// concurrent use.
type inFlightRequests struct {
	mu         sync.Mutex
	open       map[string]*pendingRequest // by id
	byAgentID  map[string]*pendingRequest // those with an agentTxID, by that
	ended      map[string]endedRequest    // by id; at most maxEndedRequests
	endedOrder []string                   // the keys of ended, oldest first
	closed     bool
}

func newInFlightRequests() *inFlightRequests {
	return &inFlightRequests{
		open: map[string]*pendingRequest{}, byAgentID: map[string]*pendingRequest{}, ended: map[string]endedRequest{},
	}
}

// add puts the request p into the table and starts its deadline timer. When p.timeout has
// passed, p is removed and timedOut is called with it. add returns false, and does nothing, if
// p's id or agentTxID is in flight already or the table was closed.
func (t *inFlightRequests) add(p *pendingRequest, timedOut func(*pendingRequest)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.open[p.id] != nil || p.agentTxID != "" && t.byAgentID[p.agentTxID] != nil {
		return false
	}
	t.open[p.id] = p
	if p.agentTxID != "" {
		t.byAgentID[p.agentTxID] = p
	}
	p.deadlineTimer = time.AfterFunc(p.timeout, func() {
		if t.remove(p, trace.NoteLate) {
			timedOut(p)
		}
	})
	return true
}

// stopDeadline stops the deadline timer of the request with this id, if it is in flight. It is
// used for a request that ends when another request, which has its own deadline, ends.
func (t *inFlightRequests) stopDeadline(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[id]; p != nil {
		p.deadlineTimer.Stop()
	}
}

// takeByID removes the request in flight with this id and returns it. If there is none it
// returns nil, and in an endedRequest the note for the answer (duplicate, late or orphaned) and
// the action, if the request is remembered.
func (t *inFlightRequests) takeByID(id string) (*pendingRequest, endedRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[id]; p != nil {
		t.removeLocked(p, trace.NoteDuplicate)
		return p, endedRequest{}
	}
	if ended, ok := t.ended[id]; ok {
		return nil, ended
	}
	return nil, endedRequest{answerNote: trace.NoteOrphaned}
}

// remove takes the request p out of the table; answerNote is the note for an answer that comes
// after this. It returns false if p had ended already.
func (t *inFlightRequests) remove(p *pendingRequest, answerNote trace.Note) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p.id] != p {
		return false
	}
	t.removeLocked(p, answerNote)
	return true
}

// removeLocked takes the request p, which is in flight, out of the table, stops its timers and
// remembers it as ended; answerNote is the note for a later answer. The caller holds mu.
func (t *inFlightRequests) removeLocked(p *pendingRequest, answerNote trace.Note) {
	delete(t.open, p.id)
	delete(t.byAgentID, p.agentTxID)
	p.deadlineTimer.Stop()
	if p.staleTimer != nil {
		p.staleTimer.Stop()
	}
	if _, again := t.ended[p.id]; !again {
		t.endedOrder = append(t.endedOrder, p.id)
	}
	t.ended[p.id] = endedRequest{action: p.action, answerNote: answerNote}
	if len(t.endedOrder) > maxEndedRequests {
		delete(t.ended, t.endedOrder[0])
		t.endedOrder = t.endedOrder[1:]
	}
}

// kernelRequestID returns the id under which the kernel was sent the agent's request agentTxID.
// ok is false if the agent has no such request to the kernel in flight.
func (t *inFlightRequests) kernelRequestID(agentTxID string) (id string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byAgentID[agentTxID]
	if p == nil || p.answerer != answeredByKernel {
		return "", false
	}
	return p.id, true
}

// executeCodeIDs returns the ids, in the kernel's view, of the agent's execute_code requests in
// flight, in no order.
func (t *inFlightRequests) executeCodeIDs() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.open {
		if p.askedByAgent && p.action == protocol.TypeExecuteCode {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// isOpen reports whether the request with this id is still in flight.
func (t *inFlightRequests) isOpen(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id] != nil
}

// startStaleSummaryTimer starts a timer that calls giveStale after delay, unless the request p has
// ended by then.
func (t *inFlightRequests) startStaleSummaryTimer(p *pendingRequest, delay time.Duration, giveStale func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p.id] == p {
		p.staleTimer = time.AfterFunc(delay, giveStale)
	}
}

// failMatching ends every request in flight for which matches returns true, and replies to it
// with an error with the text failure. matches is called while the table is locked.
func (t *inFlightRequests) failMatching(failure string, matches func(*pendingRequest) bool) {
	t.mu.Lock()
	var failed []*pendingRequest
	for _, p := range t.open {
		if matches(p) {
			t.removeLocked(p, trace.NoteLate)
			failed = append(failed, p)
		}
	}
	t.mu.Unlock()
	for _, p := range failed {
		p.reply(answer{failure: failure})
	}
}

// close fails every request in flight and makes every later add return false.
func (t *inFlightRequests) close(failure string) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.failMatching(failure, func(*pendingRequest) bool { return true })
}
