package flow

import (
	"cmp"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinFromAgent ends the queries that wait for the agent, and begins a request if r
// is an action with a tx_id, which wants an answer.
func (j *Joiner) joinFromAgent(r trace.Record) *Request {
	if r.Note == trace.NoteMalformed {
		return nil
	}
	j.endQueries(r)
	if r.Type != protocol.TypeAgentAction || r.TxID == "" {
		return nil
	}
	q := j.openRequest(r, Request{Kind: KindAction, Answerer: j.answererOf(r)})
	if r.Note == trace.NoteTamper {
		j.refusedByTxID[r.TxID] = q
	} else {
		j.byTxID[r.TxID] = q
	}
	return q
}

// answererOf returns who answers an action of the agent. For an action that the
// kernel answers it is the server, until the kernel is asked.
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

// isHolderAction reports whether the holder of the document answers an action, and
// whether the server refuses it without a cell id. It must agree with the router's
// routeOfAction.
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

// joinToAgent returns the action that r answers, or the query that it is.
func (j *Joiner) joinToAgent(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeActionResponse:
		return j.recordActionAnswer(r)
	case protocol.TypeAgentQuery:
		return j.recordQuerySent(r)
	default:
		return nil
	}
}

// recordActionAnswer ends the action that r answers, unless r was dropped.
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

// actionAnsweredBy returns the action that r answers. While an action with the same
// id is in flight, an action that is refused because of its id is answered first:
// its answer has no cause, no body elsewhere and no note.
func (j *Joiner) actionAnsweredBy(r trace.Record) *Request {
	if q := j.refusedByTxID[r.TxID]; q != nil && r.CauseSeq == 0 && r.RefSeq == 0 && r.Note == "" {
		delete(j.refusedByTxID, r.TxID)
		return q
	}
	return j.byTxID[r.TxID]
}

// recordQuerySent records that a query, the server's own or a console's, was sent to the
// agent, or was dropped.
func (j *Joiner) recordQuerySent(r trace.Record) *Request {
	q := j.openRequestAt(r.RefSeq, KindQuery)
	if q == nil {
		q = j.openRequest(r, Request{Kind: KindQuery, Answerer: hopAgent})
	}
	if r.Note == trace.NoteDropped {
		j.retireRequest(q, StateFailed)
		return q
	}
	q.Sent = entryTime(r)
	j.openQueries = append(j.openQueries, q)
	return q
}

// endQueries ends the queries that were sent to the agent: r is its first frame
// after them.
func (j *Joiner) endQueries(r trace.Record) {
	for _, q := range j.openQueries {
		q.Replied = entryTime(r)
		j.endRequest(q, StateAnswered, r)
	}
	j.current = append(j.current, j.openQueries...)
	j.openQueries = nil
}
