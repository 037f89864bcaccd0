package flow

import (
	"cmp"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// fromAgent begins the request that an action is, if it wants an answer.
func (f *Joiner) fromAgent(r trace.Record) *Request {
	if r.Note == trace.NoteMalformed {
		return nil
	}
	f.firstWord(r)
	if r.Type != protocol.TypeAgentAction || r.TxID == "" {
		return nil
	}
	q := f.open(r, Request{Kind: KindAction, Answerer: f.whom(r)})
	if r.Note == trace.NoteTamper {
		f.refused[r.TxID] = q
	} else {
		f.ids[r.TxID] = q
	}
	return q
}

// whom tells who is to answer an action of the agent. One for the kernel is the
// server's until it is passed on.
func (f *Joiner) whom(r trace.Record) string {
	known, needsCell := documentAction(r.Action)
	switch {
	case f.ending, r.Note != "", !known, needsCell && r.CellID == "":
		return atServer
	case f.ownDocument:
		return atNotebook
	default:
		return atConsole
	}
}

// documentAction tells whether who holds the notebook answers an action, and
// whether the server first looks for a cell id in it.
func documentAction(action string) (known, needsCell bool) {
	switch action {
	case "get_context", "create_cell", "create_markdown_cell", "set_widget":
		return true, false
	case "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell":
		return true, true
	default:
		return false, false
	}
}

// toAgent is an answer, a query, or what no request is about.
func (f *Joiner) toAgent(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeActionResponse:
		return f.answer(r)
	case protocol.TypeAgentQuery:
		return f.query(r)
	default:
		return nil
	}
}

// answer ends an action.
func (f *Joiner) answer(r trace.Record) *Request {
	q := f.answered(r)
	if q == nil || q.over {
		return q
	}
	q.CellID = cmp.Or(q.CellID, r.CellID)
	q.Stale = r.CauseSeq != 0 && r.CauseSeq != q.Replied.Seq
	state := StateAnswered
	switch {
	case r.Note == trace.NoteTimedOut:
		state = StateTimedOut
	case !q.Replied.IsSet() && !q.Stale && (q.Answerer == atKernel || q.Answerer == atConsole):
		state = StateFailed
	}
	f.end(q, state, r)
	return q
}

// answered is the action that r answers. An id that is in flight may be refused
// a second time: the refusal comes at once, is made of nothing and has no note.
func (f *Joiner) answered(r trace.Record) *Request {
	if q := f.refused[r.TxID]; q != nil && r.CauseSeq == 0 && r.RefSeq == 0 && r.Note == "" {
		delete(f.refused, r.TxID)
		return q
	}
	return f.ids[r.TxID]
}

// query is a prompt for the agent, the server's own or a console's.
func (f *Joiner) query(r trace.Record) *Request {
	q := f.openAt(r.RefSeq, KindQuery)
	if q == nil {
		q = f.open(r, Request{Kind: KindQuery, Answerer: atAgent})
	}
	q.Sent = at(r)
	f.queries = append(f.queries, q)
	return q
}

// firstWord ends the queries that were waiting for the agent.
func (f *Joiner) firstWord(r trace.Record) {
	for _, q := range f.queries {
		q.Replied = at(r)
		f.end(q, StateAnswered, r)
	}
	f.owners = append(f.owners, f.queries...)
	f.queries = nil
}
