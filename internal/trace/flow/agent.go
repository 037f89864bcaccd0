package flow

import (
	"cmp"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinFromAgent begins the request that an action is, if it wants an answer.
func (f *Joiner) joinFromAgent(r trace.Record) *Request {
	if r.Note == trace.NoteMalformed {
		return nil
	}
	f.endQueries(r)
	if r.Type != protocol.TypeAgentAction || r.TxID == "" {
		return nil
	}
	q := f.openRequest(r, Request{Kind: KindAction, Answerer: f.answererOf(r)})
	if r.Note == trace.NoteTamper {
		f.refusedByTxID[r.TxID] = q
	} else {
		f.byTxID[r.TxID] = q
	}
	return q
}

// answererOf tells who is to answer an action of the agent. One for the kernel is the
// server's until it is passed on.
func (f *Joiner) answererOf(r trace.Record) string {
	known, needsCell := isHolderAction(r.Action)
	switch {
	case f.actionsRefused, r.Note != "", !known, needsCell && r.CellID == "":
		return hopServer
	case f.serverHolds:
		return hopNotebook
	default:
		return hopConsole
	}
}

// isHolderAction tells whether who holds the notebook answers an action, and
// whether the server first looks for a cell id in it.
func isHolderAction(action string) (known, needsCell bool) {
	switch action {
	case "get_context", "create_cell", "create_markdown_cell", "set_widget":
		return true, false
	case "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell":
		return true, true
	default:
		return false, false
	}
}

// joinToAgent is an answer, a query, or what no request is about.
func (f *Joiner) joinToAgent(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeActionResponse:
		return f.endAction(r)
	case protocol.TypeAgentQuery:
		return f.sendQuery(r)
	default:
		return nil
	}
}

// endAction ends an action.
func (f *Joiner) endAction(r trace.Record) *Request {
	q := f.actionAnsweredBy(r)
	if q == nil || q.hasEnded {
		return q
	}
	q.CellID = cmp.Or(q.CellID, r.CellID)
	q.IsStale = r.CauseSeq != 0 && r.CauseSeq != q.Replied.Seq
	state := StateAnswered
	switch {
	case r.Note == trace.NoteTimedOut:
		state = StateTimedOut
	case !q.Replied.IsSet() && !q.IsStale && (q.Answerer == hopKernel || q.Answerer == hopConsole):
		state = StateFailed
	}
	f.endRequest(q, state, r)
	return q
}

// actionAnsweredBy is the action that r answers. An id that is in flight may be refused
// a second time: the refusal comes at once, is made of nothing and has no note.
func (f *Joiner) actionAnsweredBy(r trace.Record) *Request {
	if q := f.refusedByTxID[r.TxID]; q != nil && r.CauseSeq == 0 && r.RefSeq == 0 && r.Note == "" {
		delete(f.refusedByTxID, r.TxID)
		return q
	}
	return f.byTxID[r.TxID]
}

// sendQuery is a prompt for the agent, the server's own or a console's.
func (f *Joiner) sendQuery(r trace.Record) *Request {
	q := f.openRequestAt(r.RefSeq, KindQuery)
	if q == nil {
		q = f.openRequest(r, Request{Kind: KindQuery, Answerer: hopAgent})
	}
	q.Sent = entryTime(r)
	f.openQueries = append(f.openQueries, q)
	return q
}

// endQueries ends the queries that were waiting for the agent.
func (f *Joiner) endQueries(r trace.Record) {
	for _, q := range f.openQueries {
		q.Replied = entryTime(r)
		f.endRequest(q, StateAnswered, r)
	}
	f.current = append(f.current, f.openQueries...)
	f.openQueries = nil
}
