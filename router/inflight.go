package router

import (
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxEndedRequests is how many ended requests are remembered, the newest ones. An
// answer to one of them is late or a duplicate; any other unexpected answer is
// orphaned. The package flow remembers as many.
const maxEndedRequests = 4096

// answerer names the peer that is asked, as errors and the log do.
type answerer string

const (
	answeredByNotebook answerer = "notebook" // the server's own document
	answeredByConsole  answerer = "console"  // the console that holds the document
	answeredByKernel   answerer = "kernel"
)

// answer is how a request ended: with a frame, or with a failure.
type answer struct {
	frame   frame
	failure string     // the error's text; empty: frame is the answer
	note    trace.Note // of the trace entry of the error: timed_out, or empty
}

// pendingRequest is a request in flight. Its fields are constant from
// [inFlight.add] on, but for the timers.
type pendingRequest struct {
	id           string   // under which the answerer was asked
	agentTxID    string   // the agent's own id for it; empty: it gave none, or another peer asks
	askedByAgent bool     // the agent asks the kernel
	action       string   // what was asked, in the words of who asks
	answerer     answerer // who was asked
	timeout      time.Duration
	reply        func(answer) // called once; the lock of inFlight is not held

	deadlineTimer *time.Timer // fires after timeout; set by add, guarded by inFlight.mu
	staleTimer    *time.Timer // see startStaleTimer; nil: not started; guarded by inFlight.mu
}

// endedRequest is what is remembered of a request that is no longer in flight.
type endedRequest struct {
	action     string
	answerNote trace.Note // of an answer that still comes: duplicate or late
}

// inFlight holds the requests that wait for an answer. No other place does.
//
//	add ──▶ open ──takeByID──▶ answered    a further answer is a duplicate
//	          ├────deadline──▶ timed out   an answer is late
//	          └────fail──────▶ failed      an answer is late
//
// A request leaves it exactly once: with its answer, with its deadline, or with the
// end of the peer that was asked or that waits, whichever comes first. Answers
// that come after that, and answers that match nothing (orphaned), are noted in
// the trace and dropped. It is safe for concurrent use.
type inFlight struct {
	mu         sync.Mutex
	open       map[string]*pendingRequest // by id
	byAgentID  map[string]*pendingRequest // those with an agentTxID, by that
	ended      map[string]endedRequest    // by id; at most maxEndedRequests
	endedOrder []string                   // the keys of ended, oldest first
	closed     bool
}

func newInFlight() *inFlight {
	return &inFlight{
		open: map[string]*pendingRequest{}, byAgentID: map[string]*pendingRequest{}, ended: map[string]endedRequest{},
	}
}

// add puts p in and starts its deadline, which removes p and calls timedOut. It
// returns false, and does nothing, if p's id or agentTxID is in flight already, or
// close was called.
func (t *inFlight) add(p *pendingRequest, timedOut func(*pendingRequest)) bool {
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

// stopDeadline stops the deadline of a request that will end with another request,
// which has a deadline itself.
func (t *inFlight) stopDeadline(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.open[id]; p != nil {
		p.deadlineTimer.Stop()
	}
}

// takeByID removes and returns the request that an answer with this id belongs to.
// If there is none, it returns nil and what is remembered of the request: the note
// for the answer (duplicate, late or orphaned) and the action, if known.
func (t *inFlight) takeByID(id string) (*pendingRequest, endedRequest) {
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

// remove ends p; answerNote is the note of an answer that comes after this. It
// returns false if p had ended already.
func (t *inFlight) remove(p *pendingRequest, answerNote trace.Note) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p.id] != p {
		return false
	}
	t.removeLocked(p, answerNote)
	return true
}

func (t *inFlight) removeLocked(p *pendingRequest, answerNote trace.Note) {
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

// kernelRequestID returns the id under which the kernel was asked for the agent's
// request; false if none of the agent's requests to the kernel in flight has this
// id.
func (t *inFlight) kernelRequestID(agentTxID string) (id string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byAgentID[agentTxID]
	if p == nil || p.answerer != answeredByKernel {
		return "", false
	}
	return p.id, true
}

// executeCodeIDs returns the ids of the agent's execute_code requests in flight.
func (t *inFlight) executeCodeIDs() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.open {
		if p.askedByAgent && p.action == protocol.TypeExecuteCode {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// isOpen reports whether a request with this id is in flight.
func (t *inFlight) isOpen(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id] != nil
}

// startStaleTimer calls giveStale after delay, unless p has ended by then.
func (t *inFlight) startStaleTimer(p *pendingRequest, delay time.Duration, giveStale func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[p.id] == p {
		p.staleTimer = time.AfterFunc(delay, giveStale)
	}
}

// fail ends every request for which matches returns true, with an error. matches
// is called with the lock held.
func (t *inFlight) fail(failure string, matches func(*pendingRequest) bool) {
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

// close fails every request, and makes every later add return false.
func (t *inFlight) close(failure string) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.fail(failure, func(*pendingRequest) bool { return true })
}
