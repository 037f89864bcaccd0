package flow

import (
	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinRecordToKernel processes a record sent to the kernel. It returns the request that r forwards to
// the kernel, or the server's own request that begins with r, or nil.
func (j *Joiner) joinRecordToKernel(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeRunCell:
		return j.recordRunSent(r)
	case r.Type == protocol.TypeStopCell:
		return j.byTxID[r.TxID] // which it interrupts
	case r.TxID == "":
		return nil
	}
	q := j.findOpenRequestAt(r.CauseSeq, KindAction, KindConsoleRequest)
	if q == nil {
		q = j.beginRequest(r, Request{Kind: KindServerRequest})
	}
	q.Answerer, q.KernelTxID = hopKernel, r.TxID
	j.byTxID[r.TxID] = q
	switch {
	case r.Note != trace.NoteDropped:
		q.Sent = entryTime(r)
	case q.Kind == KindServerRequest:
		j.markRequestEnded(q, StateFailed)
	}
	return q
}

// joinRecordFromKernel processes a record from the kernel. It returns the run that r starts or ends,
// or the request to which r replies, or nil.
func (j *Joiner) joinRecordFromKernel(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeStartCell:
		return j.recordRunStart(r)
	case protocol.TypeCellResult:
		return j.recordRunEnd(r)
	default:
		return j.recordReply(r)
	}
}

// recordReply records a reply of the kernel or a console, which may be the first, late or
// repeated, and returns the request; nil if it is unknown.
func (j *Joiner) recordReply(r trace.Record) *Request {
	q := j.byTxID[r.TxID]
	if q == nil {
		return nil
	}
	first := !q.Replied.IsSet() && !q.LateReply.IsSet()
	switch {
	case r.Note == "" && first:
		q.Replied = entryTime(r)
		j.bySeq[r.Seq] = q
		if q.Kind == KindServerRequest {
			j.endRequest(q, StateAnswered, r)
		}
	case first && q.Kind == KindServerRequest && !q.hasEnded:
		q.LateReply = entryTime(r) // the server has given up; no other entry says so
		j.markRequestEnded(q, StateTimedOut)
	case r.Note == trace.NoteLate && !q.LateReply.IsSet():
		q.LateReply = entryTime(r)
	default:
		q.ExtraReplies++
	}
	return q
}

// unfinishedCellRuns are the runs of one cell that have not ended: those waiting in the kernel's queue
// and the running one.
type unfinishedCellRuns struct {
	queue   []*Request // sent to the kernel and not started, oldest first
	running *Request   // nil: none
}

// runsOfCell returns the unfinished runs of a cell; it adds an empty set for a new cell.
func (j *Joiner) runsOfCell(cellID string) *unfinishedCellRuns {
	runs := j.runsByCell[cellID]
	if runs == nil {
		runs = &unfinishedCellRuns{}
		j.runsByCell[cellID] = runs
	}
	return runs
}

// recordRunSent records that a run_cell of a console or of the server's own document was sent
// to the kernel, or was dropped, and returns its request.
func (j *Joiner) recordRunSent(r trace.Record) *Request {
	q := j.findOpenRequestAt(r.RefSeq, KindRun)
	if q == nil {
		q = j.beginRequest(r, Request{Kind: KindRun, Answerer: hopKernel})
	}
	if r.Note == trace.NoteDropped {
		j.markRequestEnded(q, StateFailed)
		return q
	}
	q.Sent = entryTime(r)
	runs := j.runsOfCell(r.CellID)
	runs.queue = append(runs.queue, q)
	return q
}

// recordRunStart records that the oldest waiting run of a cell has started, or a run that the
// kernel began by itself, and returns it. It returns nil for a start_cell without a cell, which
// says that the kernel is idle.
func (j *Joiner) recordRunStart(r trace.Record) *Request {
	if r.CellID == "" {
		return nil
	}
	runs := j.runsOfCell(r.CellID)
	var q *Request
	if len(runs.queue) > 0 {
		q, runs.queue = runs.queue[0], runs.queue[1:]
	} else {
		q = j.beginRequest(r, Request{Kind: KindRun, Answerer: hopKernel})
		q.Action, q.Sent = protocol.TypeRunCell, entryTime(r)
	}
	if lost := runs.running; lost != nil {
		j.markRequestEnded(lost, StateUnanswered)
	}
	q.Replied = entryTime(r)
	runs.running = q
	return q
}

// recordRunEnd ends and returns the running run of a cell; nil if there is none.
func (j *Joiner) recordRunEnd(r trace.Record) *Request {
	runs := j.runsByCell[r.CellID]
	if runs == nil || runs.running == nil {
		return nil
	}
	q := runs.running
	runs.running = nil
	if len(runs.queue) == 0 {
		delete(j.runsByCell, r.CellID)
	}
	j.endRequest(q, StateAnswered, r)
	return q
}
