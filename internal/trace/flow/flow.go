package flow

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"assay/internal/trace"
)

// maxEndedRequests is how many requests that have ended are kept, so that what comes
// too late, or twice, is found to be theirs. The router remembers as many.
const maxEndedRequests = 4096

// Joiner joins the entries of a trace into requests, in one pass and in order. It
// keeps what is in flight and the last 4,096 requests that ended, however long
// the trace is. It is for one goroutine.
//
// Every request is settled once, when nothing more can come to it: long after
// its answer, or at the End.
type Joiner struct {
	onSettled func(*Request)
	current   []*Request // of the entry that was added last

	byTxID        map[string]*Request // by the id under which it was asked, and that under which the kernel was
	refusedByTxID map[string]*Request // those that the server refuses for their id
	bySeq         map[int64]*Request  // by the entries that others name as Ref or Cause
	openByConsole map[int][]*Request  // of each console, unanswered
	runsByCell    map[string]*cellRuns
	openQueries   []*Request // that the agent has said nothing to yet
	endedRequests []*Request // oldest first

	serverHolds    bool // the server holds the notebook
	actionsRefused bool // the agent's actions are refused
}

// NewJoiner returns a Flow. It calls settled, unless that is nil, with each
// request of which nothing more is to come, and does not touch it again.
func NewJoiner(settled func(*Request)) *Joiner {
	if settled == nil {
		settled = func(*Request) {}
	}
	return &Joiner{
		onSettled: settled, byTxID: map[string]*Request{}, refusedByTxID: map[string]*Request{}, bySeq: map[int64]*Request{},
		openByConsole: map[int][]*Request{}, runsByCell: map[string]*cellRuns{},
	}
}

// Add takes in the next entry and returns the requests that it is part of, as
// far as they have come: most entries have none, and one that is the agent's
// first word to a query may be a request too. The slice may be used until the
// next Add, and the requests in it go on changing.
func (f *Joiner) Add(r trace.Record) []*Request {
	f.current = f.current[:0]
	var own *Request
	switch r.Hop {
	case trace.AgentToServer:
		own = f.joinFromAgent(r)
	case trace.ServerToAgent:
		own = f.joinToAgent(r)
	case trace.KernelToServer:
		own = f.joinFromKernel(r)
	case trace.ServerToKernel:
		own = f.joinToKernel(r)
	case trace.ConsoleToServer:
		own = f.joinFromConsole(r)
	case trace.ServerToConsole:
		own = f.joinToConsole(r)
	case trace.HopSession:
		f.applySessionEvent(r)
	case trace.HopNotebook:
	}
	if own != nil {
		f.current = append(f.current, own)
	}
	return f.current
}

// Finish settles what is left, in the order in which it was asked. Nothing may be
// added after it.
func (f *Joiner) Finish() {
	for _, q := range f.unsettledRequests() {
		f.settleRequest(q)
	}
}

// unsettledRequests are all requests, in the order in which they were asked.
func (f *Joiner) unsettledRequests() []*Request {
	all := slices.SortedFunc(maps.Values(f.bySeq), compareAskedSeq)
	return slices.Compact(all) // some stand under their reply too
}

// openRequest begins a request with r.
func (f *Joiner) openRequest(r trace.Record, q Request) *Request {
	q.State, q.Asked = StateUnanswered, entryTime(r)
	q.Action, q.TxID, q.CellID = cmp.Or(r.Action, r.Type), r.TxID, r.CellID
	f.bySeq[r.Seq] = &q
	return &q
}

// openRequestAt is the request of this kind that began with the entry seq and has not
// ended; nil: none.
func (f *Joiner) openRequestAt(seq int64, kinds ...RequestKind) *Request {
	if q := f.bySeq[seq]; q != nil && !q.hasEnded && slices.Contains(kinds, q.Kind) {
		return q
	}
	return nil
}

// endRequest ends q, whose answer is r.
func (f *Joiner) endRequest(q *Request, state RequestState, r trace.Record) {
	if !q.hasEnded {
		q.Answered = entryTime(r)
	}
	f.retireRequest(q, state)
}

// retireRequest keeps q, which has ended, until remembered others have.
func (f *Joiner) retireRequest(q *Request, state RequestState) {
	if q.hasEnded {
		return
	}
	q.State, q.hasEnded = state, true
	f.removeOpenByConsole(q)
	f.endedRequests = append(f.endedRequests, q)
	if len(f.endedRequests) > maxEndedRequests {
		oldest := f.endedRequests[0]
		f.endedRequests = f.endedRequests[1:]
		f.settleRequest(oldest)
	}
}

// settleRequest settles q: nothing finds it any more.
func (f *Joiner) settleRequest(q *Request) {
	for _, id := range []string{q.TxID, q.KernelTxID} {
		if f.byTxID[id] == q { // the agent may have used its id again
			delete(f.byTxID, id)
		}
	}
	for _, mark := range []EntryTime{q.Asked, q.Replied} {
		if f.bySeq[mark.Seq] == q {
			delete(f.bySeq, mark.Seq)
		}
	}
	q.isSettled = true
	f.onSettled(q)
}

func (f *Joiner) removeOpenByConsole(q *Request) {
	if q.Kind != KindConsoleRequest {
		return
	}
	f.openByConsole[q.ConsoleID] = slices.DeleteFunc(f.openByConsole[q.ConsoleID], func(other *Request) bool { return other == q })
}

// applySessionEvent follows who holds the notebook, whether actions are refused, and who
// is gone.
func (f *Joiner) applySessionEvent(r trace.Record) {
	switch r.Type {
	case "holder":
		f.serverHolds = r.ConsoleID == 0
	case "state":
		var entered struct {
			State string `json:"state"`
		}
		if json.Unmarshal(r.Message, &entered) == nil {
			f.actionsRefused = entered.State == "collecting" || entered.State == "ended"
		}
	case "peer_ended":
		f.endRequestsOfPeer(r)
	}
}

// endRequestsOfPeer ends what nobody will answer now, or wait for, as no other entry will
// say. What the agent has asked the kernel is answered with an error.
func (f *Joiner) endRequestsOfPeer(r trace.Record) {
	lost := func(q *Request) bool { return q.Kind == KindConsoleRequest && q.ConsoleID == r.ConsoleID } // a console's end
	state := StateUnanswered
	switch r.Action {
	case "agent":
		lost = func(q *Request) bool { return q.Kind == KindAction || q.Kind == KindQuery }
		f.openQueries = nil
	case "kernel":
		lost = func(q *Request) bool { return q.Kind != KindAction && q.Answerer == hopKernel }
		state = StateFailed
		clear(f.runsByCell)
	}
	for _, q := range f.unsettledRequests() {
		if !q.hasEnded && lost(q) {
			f.retireRequest(q, state)
		}
	}
}

func compareAskedSeq(a, b *Request) int { return cmp.Compare(a.Asked.Seq, b.Asked.Seq) }

func entryTime(r trace.Record) EntryTime {
	return EntryTime{Seq: r.Seq, Elapsed: time.Duration(r.ElapsedNS)}
}
