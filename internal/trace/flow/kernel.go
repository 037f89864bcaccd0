package flow

import (
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// toKernel is a request on its way to the kernel, or one of the server's own.
func (f *Flow) toKernel(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeRunCell:
		return f.sendRun(r)
	case r.Type == protocol.TypeStopCell:
		return f.ids[r.TxID] // which it is to end
	case r.TxID == "":
		return nil
	}
	q := f.openAt(r.Cause, Action, Ask)
	if q == nil {
		q = f.open(r, Request{Kind: Probe})
	}
	q.Whom, q.KernelTx = atKernel, r.TxID
	f.ids[r.TxID] = q
	switch {
	case r.Note != trace.Dropped:
		q.Sent = at(r)
	case q.Kind == Probe:
		f.retire(q, Failed)
	}
	return q
}

// fromKernel is a step of a run, or a reply.
func (f *Flow) fromKernel(r trace.Record) *Request {
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
func (f *Flow) reply(r trace.Record) *Request {
	q := f.ids[r.TxID]
	if q == nil {
		return nil
	}
	first := !q.Replied.Set() && !q.Late.Set()
	switch {
	case r.Note == "" && first:
		q.Replied = at(r)
		f.seqs[r.Seq] = q
		if q.Kind == Probe {
			f.end(q, Answered, r)
		}
	case first && q.Kind == Probe && !q.over:
		q.Late = at(r) // whoever wanted to know has given up
		f.retire(q, Expired)
	case r.Note == trace.Late && !q.Late.Set():
		q.Late = at(r)
	default:
		q.Replies++
	}
	return q
}

// fromConsole begins what a console asks, or is its reply.
func (f *Flow) fromConsole(r trace.Record) *Request {
	if r.Note == trace.Dropped {
		return nil
	}
	switch r.Type {
	case protocol.TypeActionResponse:
		return f.reply(r)
	case protocol.TypeAgentQuery:
		return f.open(r, Request{Kind: Query, Conn: r.Conn, Whom: atAgent})
	case protocol.TypeRunCell:
		if f.ownDocument {
			return nil // which edits the cell, and runs it itself
		}
		return f.open(r, Request{Kind: Run, Conn: r.Conn, Whom: atKernel})
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState,
		protocol.TypeExecuteCode, protocol.TypeSetWidgetValue:
		q := f.open(r, Request{Kind: Ask, Conn: r.Conn, Whom: atKernel})
		f.asks[r.Conn] = append(f.asks[r.Conn], q)
		return q
	default:
		return nil
	}
}

// toConsole is an action for who holds the notebook, or the answer to what a
// console has asked.
func (f *Flow) toConsole(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeAgentAction:
		return f.toHolder(r)
	case r.Cause != 0:
		return f.answerAsk(r)
	default:
		return nil
	}
}

func (f *Flow) toHolder(r trace.Record) *Request {
	q := f.openAt(r.Ref, Action)
	if q == nil && r.TxID != "" && r.Ref == 0 {
		q = f.open(r, Request{Kind: Probe})
		f.ids[r.TxID] = q
	}
	if q == nil {
		return nil
	}
	q.Whom = atConsole
	if r.Note != trace.Dropped {
		q.Sent = at(r)
	}
	return q
}

// answerAsk ends what a console has asked. Where the answer is made of a reply
// to somebody else, it is an earlier one, given to the first who asked so.
func (f *Flow) answerAsk(r trace.Record) *Request {
	q := f.openAt(r.Cause, Ask)
	if q == nil {
		of := f.asks[r.Conn]
		i := slices.IndexFunc(of, func(q *Request) bool { return q.Action == r.Type && q.TxID == r.TxID })
		if i < 0 {
			return nil
		}
		q = of[i]
		q.Stale = true
	}
	f.end(q, Answered, r)
	return q
}
