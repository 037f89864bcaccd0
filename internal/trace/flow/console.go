package flow

import (
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinRecordFromConsole processes a record from a console: it begins a request if the console asks
// for something, or records the console's reply to an action. It returns the request, or nil.
func (j *Joiner) joinRecordFromConsole(r trace.Record) *Request {
	if r.Note == trace.NoteDropped {
		return nil
	}
	switch r.Type {
	case protocol.TypeActionResponse:
		return j.recordReply(r)
	case protocol.TypeAgentQuery:
		return j.beginRequest(r, Request{Kind: KindQuery, ConsoleID: r.ConsoleID, Answerer: hopAgent})
	case protocol.TypeRunCell:
		if j.serverHolds {
			return nil // the server edits the cell and sends its own run_cell
		}
		return j.beginRequest(r, Request{Kind: KindRun, ConsoleID: r.ConsoleID, Answerer: hopKernel})
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState,
		protocol.TypeExecuteCode, protocol.TypeSetWidgetValue:
		q := j.beginRequest(r, Request{Kind: KindConsoleRequest, ConsoleID: r.ConsoleID, Answerer: hopKernel})
		j.openByConsole[r.ConsoleID] = append(j.openByConsole[r.ConsoleID], q)
		return q
	default:
		return nil
	}
}

// joinRecordToConsole processes a record sent to a console. It returns the request for the action
// that r forwards to the holder, or the console's own request that r answers, or nil.
func (j *Joiner) joinRecordToConsole(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeAgentAction:
		return j.joinRecordToHolder(r)
	case r.CauseSeq != 0:
		return j.endConsoleRequest(r)
	default:
		return nil
	}
}

// joinRecordToHolder records that an action of the agent or of the server itself was sent to the
// console that holds the document, and returns its request; nil if there is none.
func (j *Joiner) joinRecordToHolder(r trace.Record) *Request {
	q := j.findOpenRequestAt(r.RefSeq, KindAction)
	if q == nil && r.TxID != "" && r.RefSeq == 0 {
		q = j.beginRequest(r, Request{Kind: KindServerRequest})
		j.byTxID[r.TxID] = q
	}
	if q == nil {
		return nil
	}
	q.Answerer = hopConsole
	if r.Note != trace.NoteDropped {
		q.Sent = entryTime(r)
	}
	return q
}

// endConsoleRequest ends and returns the console's request that r answers; nil if there is
// none. If r was made from the kernel's reply to another request, it is an older summary, and
// answers the console's first request of that type and id.
func (j *Joiner) endConsoleRequest(r trace.Record) *Request {
	q := j.findOpenRequestAt(r.CauseSeq, KindConsoleRequest)
	if q == nil {
		open := j.openByConsole[r.ConsoleID]
		i := slices.IndexFunc(open, func(q *Request) bool { return q.Action == r.Type && q.TxID == r.TxID })
		if i < 0 {
			return nil
		}
		q = open[i]
		q.IsStale = true
	}
	j.endRequest(q, StateAnswered, r)
	return q
}
