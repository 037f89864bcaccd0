package flow

import (
	"cmp"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinRecordFromAgent processes a record from the agent: it ends the queries that the agent was sent
// before. If r is an action with a tx_id, which wants an answer, it begins a request and
// returns it; otherwise it returns nil.
func (j *Joiner) joinRecordFromAgent(r trace.Record) *Request {
	if r.Note == trace.NoteMalformed {
		return nil
	}
	j.endQueries(r)
	if r.Type != protocol.TypeAgentAction || r.TxID == "" {
		return nil
	}
	q := j.beginRequest(r, Request{Kind: KindAction, Answerer: j.answererOf(r)})
	if r.Note == trace.NoteTamper {
		j.refusedByTxID[r.TxID] = q
	} else {
		j.byTxID[r.TxID] = q
	}
	return q
}

// answererOf returns the name of the peer that answers an action of the agent. For an action
// that the kernel answers it is the server, until the record of the request to the kernel
// comes.
func (j *Joiner) answererOf(r trace.Record) string {
	known, needsCell := isHolderAction(r.Action)
	switch {
	case j.actionsRefused, r.Note != "", !known, needsCell && r.CellID == "":
		return hopServer
	case j.serverHolds:
		return hopNotebook
	default:
		return hopConsole
	}
}

// isHolderAction reports whether the holder of the document answers the action of this name
// (known), and whether the server refuses it without a cell id (needsCell). It must agree with
// the router's routeOfAction.
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

// joinRecordToAgent processes a record sent to the agent. It returns the request that r answers, or
// the query that r is, or nil.
func (j *Joiner) joinRecordToAgent(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeActionResponse:
		return j.recordActionAnswer(r)
	case protocol.TypeAgentQuery:
		return j.recordQuerySent(r)
	default:
		return nil
	}
}

// recordActionAnswer ends and returns the request that the agent_action_response r answers; nil
// if there is none. If r was dropped the request does not end.
func (j *Joiner) recordActionAnswer(r trace.Record) *Request {
	q := j.actionAnsweredBy(r)
	if q == nil || q.hasEnded || r.Note == trace.NoteDropped {
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
	j.endRequest(q, state, r)
	return q
}

// actionAnsweredBy returns the request that the agent_action_response r answers, or nil. If an
// action was refused because another one with its id is in flight, the refusal comes first: it
// has no cause, no body in another entry and no note.
func (j *Joiner) actionAnsweredBy(r trace.Record) *Request {
	if q := j.refusedByTxID[r.TxID]; q != nil && r.CauseSeq == 0 && r.RefSeq == 0 && r.Note == "" {
		delete(j.refusedByTxID, r.TxID)
		return q
	}
	return j.byTxID[r.TxID]
}

// recordQuerySent records that a query of a console or of the server itself was sent to the
// agent, or was dropped, and returns its request.
func (j *Joiner) recordQuerySent(r trace.Record) *Request {
	q := j.findOpenRequestAt(r.RefSeq, KindQuery)
	if q == nil {
		q = j.beginRequest(r, Request{Kind: KindQuery, Answerer: hopAgent})
	}
	if r.Note == trace.NoteDropped {
		j.markRequestEnded(q, StateFailed)
		return q
	}
	q.Sent = entryTime(r)
	j.openQueries = append(j.openQueries, q)
	return q
}

// endQueries ends the queries that were sent to the agent, because r is the first frame that
// the agent sends after them.
func (j *Joiner) endQueries(r trace.Record) {
	for _, q := range j.openQueries {
		q.Replied = entryTime(r)
		j.endRequest(q, StateAnswered, r)
	}
	j.current = append(j.current, j.openQueries...)
	j.openQueries = nil
}
