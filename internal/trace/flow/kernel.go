package flow

import (
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// toKernel is a request on its way to the kernel, or one of the server's own.
func (f *Joiner) toKernel(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeRunCell:
		return f.sendRun(r)
	case r.Type == protocol.TypeStopCell:
		return f.ids[r.TxID] // which it is to end
	case r.TxID == "":
		return nil
	}
	q := f.openAt(r.CauseSeq, KindAction, KindConsoleRequest)
	if q == nil {
		q = f.open(r, Request{Kind: KindServerRequest})
	}
	q.Answerer, q.KernelTxID = atKernel, r.TxID
	f.ids[r.TxID] = q
	switch {
	case r.Note != trace.NoteDropped:
		q.Sent = at(r)
	case q.Kind == KindServerRequest:
		f.retire(q, StateFailed)
	}
	return q
}

// fromKernel is a step of a run, or a reply.
func (f *Joiner) fromKernel(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeStartCell:
		return f.startRun(r)
	case protocol.TypeCellResult:
		return f.endRun(r)
	default:
		return f.reply(r)
	}
}

// reply is what the one who was asked says, in time or not.
func (f *Joiner) reply(r trace.Record) *Request {
	q := f.ids[r.TxID]
	if q == nil {
		return nil
	}
	first := !q.Replied.IsSet() && !q.LateReply.IsSet()
	switch {
	case r.Note == "" && first:
		q.Replied = at(r)
		f.seqs[r.Seq] = q
		if q.Kind == KindServerRequest {
			f.end(q, StateAnswered, r)
		}
	case first && q.Kind == KindServerRequest && !q.over:
		q.LateReply = at(r) // whoever wanted to know has given up
		f.retire(q, StateTimedOut)
	case r.Note == trace.NoteLate && !q.LateReply.IsSet():
		q.LateReply = at(r)
	default:
		q.ExtraReplies++
	}
	return q
}

// fromConsole begins what a console asks, or is its reply.
func (f *Joiner) fromConsole(r trace.Record) *Request {
	if r.Note == trace.NoteDropped {
		return nil
	}
	switch r.Type {
	case protocol.TypeActionResponse:
		return f.reply(r)
	case protocol.TypeAgentQuery:
		return f.open(r, Request{Kind: KindQuery, ConsoleID: r.ConsoleID, Answerer: atAgent})
	case protocol.TypeRunCell:
		if f.ownDocument {
			return nil // which edits the cell, and runs it itself
		}
		return f.open(r, Request{Kind: KindRun, ConsoleID: r.ConsoleID, Answerer: atKernel})
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState,
		protocol.TypeExecuteCode, protocol.TypeSetWidgetValue:
		q := f.open(r, Request{Kind: KindConsoleRequest, ConsoleID: r.ConsoleID, Answerer: atKernel})
		f.asks[r.ConsoleID] = append(f.asks[r.ConsoleID], q)
		return q
	default:
		return nil
	}
}

// toConsole is an action for who holds the notebook, or the answer to what a
// console has asked.
func (f *Joiner) toConsole(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeAgentAction:
		return f.toHolder(r)
	case r.CauseSeq != 0:
		return f.answerAsk(r)
	default:
		return nil
	}
}

func (f *Joiner) toHolder(r trace.Record) *Request {
	q := f.openAt(r.RefSeq, KindAction)
	if q == nil && r.TxID != "" && r.RefSeq == 0 {
		q = f.open(r, Request{Kind: KindServerRequest})
		f.ids[r.TxID] = q
	}
	if q == nil {
		return nil
	}
	q.Answerer = atConsole
	if r.Note != trace.NoteDropped {
		q.Sent = at(r)
	}
	return q
}

// answerAsk ends what a console has asked. Where the answer is made of a reply
// to somebody else, it is an earlier one, given to the first who asked so.
func (f *Joiner) answerAsk(r trace.Record) *Request {
	q := f.openAt(r.CauseSeq, KindConsoleRequest)
	if q == nil {
		of := f.asks[r.ConsoleID]
		i := slices.IndexFunc(of, func(q *Request) bool { return q.Action == r.Type && q.TxID == r.TxID })
		if i < 0 {
			return nil
		}
		q = of[i]
		q.Stale = true
	}
	f.end(q, StateAnswered, r)
	return q
}
