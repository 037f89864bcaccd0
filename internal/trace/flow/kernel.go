package flow

import (
	"assay/internal/protocol"
	"assay/internal/trace"
)

// joinToKernel returns the request that r passes on to the kernel, or the server's
// own request that it begins.
func (j *Joiner) joinToKernel(r trace.Record) *Request {
	switch {
	case r.Type == protocol.TypeRunCell:
		return j.recordRunSent(r)
	case r.Type == protocol.TypeStopCell:
		return j.byTxID[r.TxID] // which it interrupts
	case r.TxID == "":
		return nil
	}
	q := j.openRequestAt(r.CauseSeq, KindAction, KindConsoleRequest)
	if q == nil {
		q = j.openRequest(r, Request{Kind: KindServerRequest})
	}
	q.Answerer, q.KernelTxID = hopKernel, r.TxID
	j.byTxID[r.TxID] = q
	switch {
	case r.Note != trace.NoteDropped:
		q.Sent = entryTime(r)
	case q.Kind == KindServerRequest:
		j.retireRequest(q, StateFailed)
	}
	return q
}

// joinFromKernel returns the run that r starts or ends, or the request that r
// replies to.
func (j *Joiner) joinFromKernel(r trace.Record) *Request {
	switch r.Type {
	case protocol.TypeStartCell:
		return j.recordRunStart(r)
	case protocol.TypeCellResult:
		return j.recordRunEnd(r)
	default:
		return j.recordReply(r)
	}
}

// recordReply records the reply of the kernel or a console to a request: its first
// one, a late one, or a further one.
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
		j.retireRequest(q, StateTimedOut)
	case r.Note == trace.NoteLate && !q.LateReply.IsSet():
		q.LateReply = entryTime(r)
	default:
		q.ExtraReplies++
	}
	return q
}

// cellRuns are the runs of one cell that have not ended.
type cellRuns struct {
	queue   []*Request // sent to the kernel and not started, oldest first
	running *Request   // nil: none
}

// runsOfCell returns the runs of a cell, and makes them if there are none.
func (j *Joiner) runsOfCell(cellID string) *cellRuns {
	runs := j.runsByCell[cellID]
	if runs == nil {
		runs = &cellRuns{}
		j.runsByCell[cellID] = runs
	}
	return runs
}

// recordRunSent records that a run_cell, of a console or of the server's own document, was
// sent to the kernel, or was dropped.
func (j *Joiner) recordRunSent(r trace.Record) *Request {
	q := j.openRequestAt(r.RefSeq, KindRun)
	if q == nil {
		q = j.openRequest(r, Request{Kind: KindRun, Answerer: hopKernel})
	}
	if r.Note == trace.NoteDropped {
		j.retireRequest(q, StateFailed)
		return q
	}
	q.Sent = entryTime(r)
	runs := j.runsOfCell(r.CellID)
	runs.queue = append(runs.queue, q)
	return q
}

// recordRunStart records the start of the cell's oldest run in the queue, or of a run that
// the kernel begins by itself. A start_cell without a cell says that the kernel is
// idle.
func (j *Joiner) recordRunStart(r trace.Record) *Request {
	if r.CellID == "" {
		return nil
	}
	runs := j.runsOfCell(r.CellID)
	var q *Request
	if len(runs.queue) > 0 {
		q, runs.queue = runs.queue[0], runs.queue[1:]
	} else {
		q = j.openRequest(r, Request{Kind: KindRun, Answerer: hopKernel})
		q.Action, q.Sent = protocol.TypeRunCell, entryTime(r)
	}
	if lost := runs.running; lost != nil {
		j.retireRequest(lost, StateUnanswered)
	}
	q.Replied = entryTime(r)
	runs.running = q
	return q
}

// recordRunEnd ends the cell's running run.
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
