// Package flow joins the entries of a trace into requests, and measures what took
// how long at which hop.
//
// A [Joiner] joins records as they are added. On it stand the ways to read a trace:
// [WalkFinished] for one that is over, [WalkLive] for one that grows, and an [Index]
// in memory, which is read at random. They yield a [Frame] for each entry; a
// [Filter] picks frames, [StatsCollector] counts them, and a [LineFormatter] shows them to
// people. [LogSessionMessages] writes a log record for each message that passes in a session.
package flow

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"assay/internal/trace"
)

// maxEndedRequests is how many ended requests a Joiner keeps, to recognize late and repeated
// replies to them. The router remembers as many.
const maxEndedRequests = 4096

// Joiner finds out which entries of a trace belong to the same request and its answer. It reads
// the entries once and in order, and keeps only the requests in flight and the last 4,096 that
// ended. Only one goroutine may use it.
//
// A request ends with its answer or failure. It is settled when no further reply to it can be
// recognized: when 4,096 others have ended after it, or by Finish.
type Joiner struct {
	onSettled func(*Request)
	current   []*Request // those that the record which was added last is part of

	byTxID        map[string]*Request // by the asker's tx_id, and by the id under which the kernel was asked
	refusedByTxID map[string]*Request // actions that the server refuses because of their tx_id
	bySeq         map[int64]*Request  // by the number of the first entry, and of the kernel's reply
	openByConsole map[int][]*Request  // requests of consoles to the kernel without an answer, by console
	runsByCell    map[string]*unfinishedCellRuns
	modelCalls    map[string]*Request // in flight, by tx_id
	openQueries   []*Request          // sent to the agent, which has sent nothing since
	endedRequests []*Request          // oldest first; at most maxEndedRequests

	modelRefused   EntryTime // end of the last call of a model, if that was refused for now and none is in flight
	serverHolds    bool      // the server holds the document
	actionsRefused bool      // the session is ending: the agent's actions are refused
}

// NewJoiner returns a Joiner that has read no entry. It calls onSettled, which may be nil, once
// for each request when that is settled; the request does not change after that.
func NewJoiner(onSettled func(*Request)) *Joiner {
	if onSettled == nil {
		onSettled = func(*Request) {}
	}
	return &Joiner{
		onSettled: onSettled, byTxID: map[string]*Request{}, refusedByTxID: map[string]*Request{}, bySeq: map[int64]*Request{},
		openByConsole: map[int][]*Request{}, runsByCell: map[string]*unfinishedCellRuns{},
		modelCalls: map[string]*Request{},
	}
}

// Add processes the next record of a trace and returns the requests that it is part of. Most
// records are part of none or one; the agent's first frame after queries is part of all these,
// and may be a request too. The slice may be used until the next Add; the requests in it may
// change with later records.
func (j *Joiner) Add(r trace.Record) []*Request {
	j.current = j.current[:0]
	var request *Request
	switch r.Hop {
	case trace.AgentToServer:
		request = j.joinRecordFromAgent(r)
	case trace.ServerToAgent:
		request = j.joinRecordToAgent(r)
	case trace.KernelToServer:
		request = j.joinRecordFromKernel(r)
	case trace.ServerToKernel:
		request = j.joinRecordToKernel(r)
	case trace.ConsoleToServer:
		request = j.joinRecordFromConsole(r)
	case trace.ServerToConsole:
		request = j.joinRecordToConsole(r)
	case trace.HopSession:
		j.applySessionEvent(r)
	case trace.AgentToModel, trace.ModelToAgent:
		request = j.joinRecordOfModel(r)
	case trace.HopNotebook:
	}
	if request != nil {
		j.current = append(j.current, request)
	}
	return j.current
}

// Finish settles all remaining requests, in the order in which they were asked, because the
// trace has ended. No record may be added after it.
func (j *Joiner) Finish() {
	for _, q := range j.unsettledRequests() {
		j.settleRequest(q)
	}
}

// unsettledRequests returns all requests that are not settled yet, in the order in which they
// were asked.
func (j *Joiner) unsettledRequests() []*Request {
	all := slices.SortedFunc(maps.Values(j.bySeq), compareAskedSeq)
	return slices.Compact(all) // some are in the map twice
}

// beginRequest begins a request that is asked with record r, and returns it. q has its kind and
// who answers it.
func (j *Joiner) beginRequest(r trace.Record, q Request) *Request {
	q.State, q.Asked = StateUnanswered, entryTime(r)
	q.Action, q.TxID, q.CellID = cmp.Or(r.Action, r.Type), r.TxID, r.CellID
	j.bySeq[r.Seq] = &q
	return &q
}

// findOpenRequestAt returns the request of one of these kinds that began with entry number seq and
// has not ended, or nil if there is none.
func (j *Joiner) findOpenRequestAt(seq int64, kinds ...RequestKind) *Request {
	if q := j.bySeq[seq]; q != nil && !q.hasEnded && slices.Contains(kinds, q.Kind) {
		return q
	}
	return nil
}

// endRequest ends the request q in this state with the answer in record r. It does nothing if q
// has ended.
func (j *Joiner) endRequest(q *Request, state RequestState, r trace.Record) {
	if !q.hasEnded {
		q.Answered = entryTime(r)
	}
	j.markRequestEnded(q, state)
}

// markRequestEnded ends the request q in this state, and settles the oldest ended request if there
// are more than maxEndedRequests. It does nothing if q has ended.
func (j *Joiner) markRequestEnded(q *Request, state RequestState) {
	if q.hasEnded {
		return
	}
	q.State, q.hasEnded = state, true
	j.removeOpenByConsole(q)
	j.endedRequests = append(j.endedRequests, q)
	if len(j.endedRequests) > maxEndedRequests {
		oldest := j.endedRequests[0]
		j.endedRequests = j.endedRequests[1:]
		j.settleRequest(oldest)
	}
}

// settleRequest makes the Joiner forget the request q, to which no reply can be recognized any
// more, and calls onSettled with it.
func (j *Joiner) settleRequest(q *Request) {
	for _, id := range []string{q.TxID, q.KernelTxID} {
		if j.byTxID[id] == q { // the agent may have used its id again
			delete(j.byTxID, id)
		}
	}
	for _, at := range []EntryTime{q.Asked, q.Replied} {
		if j.bySeq[at.Seq] == q {
			delete(j.bySeq, at.Seq)
		}
	}
	q.isSettled = true
	j.onSettled(q)
}

// removeOpenByConsole removes the request q from the list of its console's unanswered requests,
// if a console asked it.
func (j *Joiner) removeOpenByConsole(q *Request) {
	if q.Kind != KindConsoleRequest {
		return
	}
	j.openByConsole[q.ConsoleID] = slices.DeleteFunc(j.openByConsole[q.ConsoleID], func(other *Request) bool { return other == q })
}

// applySessionEvent takes from an entry about the session who holds the document and whether
// actions are refused, and ends the requests of a peer whose connection has ended.
func (j *Joiner) applySessionEvent(r trace.Record) {
	switch r.Type {
	case "holder":
		j.serverHolds = r.ConsoleID == 0
	case "state":
		var event struct {
			State string `json:"state"`
		}
		if json.Unmarshal(r.Message, &event) == nil {
			j.actionsRefused = event.State == "collecting" || event.State == "ended"
		}
	case "peer_ended":
		j.endRequestsOfPeer(r)
	}
}

// endRequestsOfPeer ends the requests that will never be answered because the connection of a
// peer, named in the peer_ended record r, has ended. It leaves the agent's requests to the
// kernel, because the server answers those with an error.
func (j *Joiner) endRequestsOfPeer(r trace.Record) {
	isLost := func(q *Request) bool { return q.Kind == KindConsoleRequest && q.ConsoleID == r.ConsoleID }
	state := StateUnanswered
	switch r.Action {
	case "agent":
		isLost = func(q *Request) bool { return q.Kind == KindAction || q.Kind == KindQuery }
		j.openQueries = nil
	case "kernel":
		isLost = func(q *Request) bool { return q.Kind != KindAction && q.Answerer == hopKernel }
		state = StateFailed
		clear(j.runsByCell)
	}
	for _, q := range j.unsettledRequests() {
		if !q.hasEnded && isLost(q) {
			j.markRequestEnded(q, state)
		}
	}
}

// compareAskedSeq compares two requests by the numbers of the entries that asked them, for
// sorting.
func compareAskedSeq(a, b *Request) int { return cmp.Compare(a.Asked.Seq, b.Asked.Seq) }

// entryTime returns the entry number of a record and its time since the trace began.
func entryTime(r trace.Record) EntryTime {
	return EntryTime{Seq: r.Seq, Elapsed: time.Duration(r.ElapsedNS)}
}
