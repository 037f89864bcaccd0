package attempt

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// readKernelCommand reads a message to the kernel: run_cell opens a run, dispose_cell closes all
// runs of a cell, and set_widget_value may make the kernel run cells again.
func (w *completionWatcher) readKernelCommand(e *trace.Entry) *verdict {
	if e.Note == trace.NoteDropped {
		return nil
	}
	switch e.Type {
	case protocol.TypeRunCell:
		w.updateCell(e.CellID, func(c *cellRuns) {
			c.Queue()
			c.promisedAt = time.Time{}
		})
	case protocol.TypeDisposeCell:
		return w.closeRun(e, e.CellID, func(c *cellRuns) { *c = cellRuns{} })
	case protocol.TypeSetWidgetValue:
		w.expectRun(widgetRerunsID, e.WallTime)
	case protocol.TypeInit:
		w.isKernelReplaced = false
		return w.completionVerdict()
	}
	return nil
}

// readKernelFrame reads a message of the kernel, which opens and closes runs.
func (w *completionWatcher) readKernelFrame(e *trace.Entry) *verdict {
	switch e.Type {
	case protocol.TypeStartCell:
		delete(w.cells, widgetRerunsID)
		if e.CellID == "" {
			return w.closeStartedRuns(e)
		}
		w.updateCell(e.CellID, func(c *cellRuns) { c.Start() })
	case protocol.TypeRunQueue:
		delete(w.cells, widgetRerunsID)
		for _, id := range queuedCells(e.Body) {
			w.updateCell(id, func(c *cellRuns) { c.Queue() })
		}
	case protocol.TypeCellResult:
		w.counts.usage.CellsRun++
		w.countMarkerIn(e)
		return w.closeRun(e, e.CellID, func(c *cellRuns) { c.End() })
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeExecuteCodeResponse:
		w.countMarkerIn(e)
	}
	return nil
}

// closeStartedRuns closes all runs that have started, after a start_cell without a cell: the kernel
// is idle. Some kernels send no cell_result.
func (w *completionWatcher) closeStartedRuns(e *trace.Entry) *verdict {
	var v *verdict
	for id, c := range w.cells {
		if c.IsStarted() {
			w.counts.usage.CellsRun++
			v = w.closeRun(e, id, func(c *cellRuns) { c.End() })
		}
	}
	return v
}

// closeRun applies f, which closes runs, to a cell, and returns the verdict if the attempt is
// completed by that.
func (w *completionWatcher) closeRun(e *trace.Entry, id string, f func(*cellRuns)) *verdict {
	w.updateCell(id, f)
	w.noteAgentActive(e)
	if _, areExpected := w.cells[widgetRerunsID]; areExpected {
		w.expectRun(widgetRerunsID, e.WallTime) // these runs come after the one that has ended: wait anew
	}
	return w.completionVerdict()
}

// noteAgentActive notes that the agent was active at the time of an entry.
func (w *completionWatcher) noteAgentActive(e *trace.Entry) { w.noteAgentActiveAt(e.WallTime) }

// noteAgentActiveAt notes that the agent was, or will be, active at a time, which matters for the
// idle limit.
func (w *completionWatcher) noteAgentActiveAt(at time.Time) {
	if at.After(w.agentReports.lastActiveAt) {
		w.agentReports.lastActiveAt = at
	}
}

// readSessionEntry reads an event of the session: the holder of the notebook, the end of a
// connection, a kernel that is replaced, an exceeded limit.
func (w *completionWatcher) readSessionEntry(e *trace.Entry) *verdict {
	switch e.Type {
	case router.TypeHolder:
		w.setHolder(e)
		return nil
	case router.TypePeerEnded:
		return w.readPeerEnded(e)
	case session.TypeKernelStuck:
		w.isKernelReplaced = true
		return nil
	case session.TypeKernelLost:
		return &verdict{outcome: runs.OutcomeHarnessError, detail: "the kernel was killed because its code did not stop, and no new kernel could be started"}
	case session.TypeLimitExceeded:
		var exceeded session.LimitExceeded
		if err := json.Unmarshal(e.Body, &exceeded); err != nil {
			panic(fmt.Sprintf("a malformed event of the session: %v", err))
		}
		return &verdict{outcome: runs.OutcomeLimit, detail: exceeded.String()}
	default:
		return nil
	}
}

// readPeerEnded reads the end of a connection to the router.
func (w *completionWatcher) readPeerEnded(e *trace.Entry) *verdict {
	switch e.Action {
	case "console":
		w.markHolderAway(e)
		return nil
	case "kernel":
		if w.isKernelReplaced {
			w.cells = map[string]cellRuns{}
			return nil
		}
		return w.kernelEndVerdict()
	case "agent":
		w.actions = map[string]agentAction{} // there is nobody to answer
		if v := w.useStreamedMessage(); v != nil && v.outcome != "" {
			return v
		}
		if w.submitted.isMarked {
			return w.completionVerdict()
		}
		return &verdict{outcome: runs.OutcomeAgentExit}
	default:
		return nil
	}
}

// kernelEndVerdict returns the verdict on the end of the kernel. The detail says if the agent's
// code was running.
func (w *completionWatcher) kernelEndVerdict() *verdict {
	ranAgentCode := len(w.cells) > 0
	for _, action := range w.actions {
		ranAgentCode = ranAgentCode || action.name == protocol.TypeExecuteCode
	}
	w.cells = map[string]cellRuns{}
	if ranAgentCode {
		return &verdict{outcome: runs.OutcomeKernelExit, detail: detailRanAgentCode}
	}
	return &verdict{outcome: runs.OutcomeKernelExit}
}

// detailRanAgentCode is the detail of a kernel_exit that counts as a failure of the agent: such an
// attempt is graded.
const detailRanAgentCode = "while it ran the agent's code"
