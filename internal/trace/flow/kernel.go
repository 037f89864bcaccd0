package flow

import (
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinToKernel is a request on its way to the kernel, or one of the server's own.
func (f *Joiner) joinToKernel(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeRunCell:
		return f.sendRun(r)
	case r.Type == protocol.TypeStopCell:
		return f.byTxID[r.TxID] // which it is to end
	case r.TxID == "":
		return nil
	}
	q := f.openRequestAt(r.CauseSeq, KindAction, KindConsoleRequest)
	if q == nil {
		q = f.openRequest(r, Request{Kind: KindServerRequest})
	}
	q.Answerer, q.KernelTxID = hopKernel, r.TxID
	f.byTxID[r.TxID] = q
	switch {
	case r.Note != trace.NoteDropped:
		q.Sent = entryTime(r)
	case q.Kind == KindServerRequest:
		f.retireRequest(q, StateFailed)
	}
	return q
}

// joinFromKernel is a step of a run, or a reply.
func (f *Joiner) joinFromKernel(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeStartCell:
		return f.startRun(r)
	case protocol.TypeCellResult:
		return f.endRun(r)
	default:
		return f.recordReply(r)
	}
}

// recordReply is what the one who was asked says, in time or not.
func (f *Joiner) recordReply(r trace.Record) *Request {
	q := f.byTxID[r.TxID]
	if q == nil {
		return nil
	}
	first := !q.Replied.IsSet() && !q.LateReply.IsSet()
	switch {
	case r.Note == "" && first:
		q.Replied = entryTime(r)
		f.bySeq[r.Seq] = q
		if q.Kind == KindServerRequest {
			f.endRequest(q, StateAnswered, r)
		}
	case first && q.Kind == KindServerRequest && !q.hasEnded:
		q.LateReply = entryTime(r) // whoever wanted to know has given up
		f.retireRequest(q, StateTimedOut)
	case r.Note == trace.NoteLate && !q.LateReply.IsSet():
		q.LateReply = entryTime(r)
	default:
		q.ExtraReplies++
	}
	return q
}

// directionFromConsole begins what a console asks, or is its reply.
func (f *Joiner) joinFromConsole(r trace.Record) *Request {
	if r.Note == trace.NoteDropped {
		return nil
	}
	switch r.Type {
	case protocol.TypeActionResponse:
		return f.recordReply(r)
	case protocol.TypeAgentQuery:
		return f.openRequest(r, Request{Kind: KindQuery, ConsoleID: r.ConsoleID, Answerer: hopAgent})
	case protocol.TypeRunCell:
		if f.serverHolds {
			return nil // which edits the cell, and runs it itself
		}
		return f.openRequest(r, Request{Kind: KindRun, ConsoleID: r.ConsoleID, Answerer: hopKernel})
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState,
		protocol.TypeExecuteCode, protocol.TypeSetWidgetValue:
		q := f.openRequest(r, Request{Kind: KindConsoleRequest, ConsoleID: r.ConsoleID, Answerer: hopKernel})
		f.openByConsole[r.ConsoleID] = append(f.openByConsole[r.ConsoleID], q)
		return q
	default:
		return nil
	}
}

// directionToConsole is an action for who holds the notebook, or the answer to what a
// console has asked.
func (f *Joiner) joinToConsole(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeAgentAction:
		return f.joinToHolder(r)
	case r.CauseSeq != 0:
		return f.endConsoleRequest(r)
	default:
		return nil
	}
}

func (f *Joiner) joinToHolder(r trace.Record) *Request {
	q := f.openRequestAt(r.RefSeq, KindAction)
	if q == nil && r.TxID != "" && r.RefSeq == 0 {
		q = f.openRequest(r, Request{Kind: KindServerRequest})
		f.byTxID[r.TxID] = q
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

// endConsoleRequest ends what a console has asked. Where the answer is made of a reply
// to somebody else, it is an earlier one, given to the first who asked so.
func (f *Joiner) endConsoleRequest(r trace.Record) *Request {
	q := f.openRequestAt(r.CauseSeq, KindConsoleRequest)
	if q == nil {
		of := f.openByConsole[r.ConsoleID]
		i := slices.IndexFunc(of, func(q *Request) bool { return q.Action == r.Type && q.TxID == r.TxID })
		if i < 0 {
			return nil
		}
		q = of[i]
		q.IsStale = true
	}
	f.endRequest(q, StateAnswered, r)
	return q
}
