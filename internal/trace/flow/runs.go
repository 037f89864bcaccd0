package flow

import (
	"assay/internal/protocol"
	"assay/internal/trace"
)

// cellRuns are the runs of a cell that have not ended.
type cellRuns struct {
	queue   []*Request // sent, oldest first
	running *Request   // nil: none
}

func (f *Joiner) runsOfCell(cell string) *cellRuns {
	of := f.runsByCell[cell]
	if of == nil {
		of = &cellRuns{}
		f.runsByCell[cell] = of
	}
	return of
}

// sendRun is a run_cell, which a console or the server's own document has sent.
func (f *Joiner) sendRun(r trace.Record) *Request {
	q := f.openRequestAt(r.RefSeq, KindRun)
	if q == nil {
		q = f.openRequest(r, Request{Kind: KindRun, Answerer: hopKernel})
	}
	if r.Note == trace.NoteDropped {
		f.retireRequest(q, StateFailed)
		return q
	}
	q.Sent = entryTime(r)
	of := f.runsOfCell(r.CellID)
	of.queue = append(of.queue, q)
	return q
}

// startRun is the start of the oldest run of its cell that waits, or of one
// that the kernel has decided on.
func (f *Joiner) startRun(r trace.Record) *Request {
	if r.CellID == "" {
		return nil // the kernel is idle
	}
	of := f.runsOfCell(r.CellID)
	var q *Request
	if len(of.queue) > 0 {
		q, of.queue = of.queue[0], of.queue[1:]
	} else {
		q = f.openRequest(r, Request{Kind: KindRun, Answerer: hopKernel})
		q.Action, q.Sent = protocol.TypeRunCell, entryTime(r)
	}
	if lost := of.running; lost != nil {
		f.retireRequest(lost, StateUnanswered)
	}
	q.Replied = entryTime(r)
	of.running = q
	return q
}

// endRun is the result of the run that goes on.
func (f *Joiner) endRun(r trace.Record) *Request {
	of := f.runsByCell[r.CellID]
	if of == nil || of.running == nil {
		return nil
	}
	q := of.running
	of.running = nil
	if len(of.queue) == 0 {
		delete(f.runsByCell, r.CellID)
	}
	f.endRequest(q, StateAnswered, r)
	return q
}
