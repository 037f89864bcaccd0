package flow

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"assay/internal/trace"
)

// remembered is how many requests that have ended are kept, so that what comes
// too late, or twice, is found to be theirs. The router remembers as many.
const remembered = 4096

// Joiner joins the entries of a trace into requests, in one pass and in order. It
// keeps what is in flight and the last 4,096 requests that ended, however long
// the trace is. It is for one goroutine.
//
// Every request is settled once, when nothing more can come to it: long after
// its answer, or at the End.
type Joiner struct {
	settled func(*Request)
	owners  []*Request // of the entry that was added last

	ids     map[string]*Request // by the id under which it was asked, and that under which the kernel was
	refused map[string]*Request // those that the server refuses for their id
	seqs    map[int64]*Request  // by the entries that others name as Ref or Cause
	asks    map[int][]*Request  // of each console, unanswered
	cells   map[string]*cellRuns
	queries []*Request // that the agent has said nothing to yet
	ended   []*Request // oldest first

	ownDocument bool // the server holds the notebook
	ending      bool // the agent's actions are refused
}

// NewJoiner returns a Flow. It calls settled, unless that is nil, with each
// request of which nothing more is to come, and does not touch it again.
func NewJoiner(settled func(*Request)) *Joiner {
	if settled == nil {
		settled = func(*Request) {}
	}
	return &Joiner{
		settled: settled, ids: map[string]*Request{}, refused: map[string]*Request{}, seqs: map[int64]*Request{},
		asks: map[int][]*Request{}, cells: map[string]*cellRuns{},
	}
}

// Add takes in the next entry and returns the requests that it is part of, as
// far as they have come: most entries have none, and one that is the agent's
// first word to a query may be a request too. The slice may be used until the
// next Add, and the requests in it go on changing.
func (f *Joiner) Add(r trace.Record) []*Request {
	f.owners = f.owners[:0]
	var own *Request
	switch r.Hop {
	case trace.AgentToServer:
		own = f.fromAgent(r)
	case trace.ServerToAgent:
		own = f.toAgent(r)
	case trace.KernelToServer:
		own = f.fromKernel(r)
	case trace.ServerToKernel:
		own = f.toKernel(r)
	case trace.ConsoleToServer:
		own = f.fromConsole(r)
	case trace.ServerToConsole:
		own = f.toConsole(r)
	case trace.HopSession:
		f.session(r)
	case trace.HopNotebook:
	}
	if own != nil {
		f.owners = append(f.owners, own)
	}
	return f.owners
}

// End settles what is left, in the order in which it was asked. Nothing may be
// added after it.
func (f *Joiner) End() {
	for _, q := range f.unsettled() {
		f.forget(q)
	}
}

// unsettled are all requests, in the order in which they were asked.
func (f *Joiner) unsettled() []*Request {
	all := slices.SortedFunc(maps.Values(f.seqs), byAsked)
	return slices.Compact(all) // some stand under their reply too
}

// open begins a request with r.
func (f *Joiner) open(r trace.Record, q Request) *Request {
	q.State, q.Asked = StateUnanswered, at(r)
	q.Action, q.TxID, q.CellID = cmp.Or(r.Action, r.Type), r.TxID, r.CellID
	f.seqs[r.Seq] = &q
	return &q
}

// openAt is the request of this kind that began with the entry seq and has not
// ended; nil: none.
func (f *Joiner) openAt(seq int64, kinds ...RequestKind) *Request {
	if q := f.seqs[seq]; q != nil && !q.over && slices.Contains(kinds, q.Kind) {
		return q
	}
	return nil
}

// end ends q, whose answer is r.
func (f *Joiner) end(q *Request, state RequestState, r trace.Record) {
	if !q.over {
		q.Answered = at(r)
	}
	f.retire(q, state)
}

// retire keeps q, which has ended, until remembered others have.
func (f *Joiner) retire(q *Request, state RequestState) {
	if q.over {
		return
	}
	q.State, q.over = state, true
	f.dropAsk(q)
	f.ended = append(f.ended, q)
	if len(f.ended) > remembered {
		oldest := f.ended[0]
		f.ended = f.ended[1:]
		f.forget(oldest)
	}
}

// forget settles q: nothing finds it any more.
func (f *Joiner) forget(q *Request) {
	for _, id := range []string{q.TxID, q.KernelTxID} {
		if f.ids[id] == q { // the agent may have used its id again
			delete(f.ids, id)
		}
	}
	for _, mark := range []EntryTime{q.Asked, q.Replied} {
		if f.seqs[mark.Seq] == q {
			delete(f.seqs, mark.Seq)
		}
	}
	q.settled = true
	f.settled(q)
}

func (f *Joiner) dropAsk(q *Request) {
	if q.Kind != KindConsoleRequest {
		return
	}
	f.asks[q.ConsoleID] = slices.DeleteFunc(f.asks[q.ConsoleID], func(other *Request) bool { return other == q })
}

// session follows who holds the notebook, whether actions are refused, and who
// is gone.
func (f *Joiner) session(r trace.Record) {
	switch r.Type {
	case "holder":
		f.ownDocument = r.ConsoleID == 0
	case "state":
		var entered struct {
			State string `json:"state"`
		}
		if json.Unmarshal(r.Message, &entered) == nil {
			f.ending = entered.State == "collecting" || entered.State == "ended"
		}
	case "peer_ended":
		f.gone(r)
	}
}

// gone ends what nobody will answer now, or wait for, as no other entry will
// say. What the agent has asked the kernel is answered with an error.
func (f *Joiner) gone(r trace.Record) {
	lost := func(q *Request) bool { return q.Kind == KindConsoleRequest && q.ConsoleID == r.ConsoleID } // a console's end
	state := StateUnanswered
	switch r.Action {
	case "agent":
		lost = func(q *Request) bool { return q.Kind == KindAction || q.Kind == KindQuery }
		f.queries = nil
	case "kernel":
		lost = func(q *Request) bool { return q.Kind != KindAction && q.Answerer == atKernel }
		state = StateFailed
		clear(f.cells)
	}
	for _, q := range f.unsettled() {
		if !q.over && lost(q) {
			f.retire(q, state)
		}
	}
}

func byAsked(a, b *Request) int { return cmp.Compare(a.Asked.Seq, b.Asked.Seq) }

func at(r trace.Record) EntryTime { return EntryTime{Seq: r.Seq, Elapsed: time.Duration(r.ElapsedNS)} }
