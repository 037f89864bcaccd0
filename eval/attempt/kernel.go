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

// readKernelCommand opens a run when the kernel is told to run a cell.
func (w *watch) readKernelCommand(e *trace.Entry) *verdict {
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

// readKernelFrame follows the runs.
func (w *watch) readKernelFrame(e *trace.Entry) *verdict {
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
		w.usage.CellsRun++
		w.countMarkerIn(e)
		return w.closeRun(e, e.CellID, func(c *cellRuns) { c.End() })
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeExecuteCodeResponse:
		w.countMarkerIn(e)
	}
	return nil
}

// closeStartedRuns closes the runs that had started: a kernel that sends no cell_result
// says no more than this.
func (w *watch) closeStartedRuns(e *trace.Entry) *verdict {
	var v *verdict
	for id, c := range w.cells {
		if c.IsStarted() {
			w.usage.CellsRun++
			v = w.closeRun(e, id, func(c *cellRuns) { c.End() })
		}
	}
	return v
}

func (w *watch) closeRun(e *trace.Entry, id string, f func(*cellRuns)) *verdict {
	w.updateCell(id, f)
	w.noteAlive(e)
	if _, set := w.cells[widgetRerunsID]; set {
		w.expectRun(widgetRerunsID, e.WallTime) // its turn has come
	}
	return w.completionVerdict()
}

// noteAlive notes a sign of life.
func (w *watch) noteAlive(e *trace.Entry) { w.noteAliveAt(e.WallTime) }

// noteAliveAt notes that the agent is at work until then.
func (w *watch) noteAliveAt(at time.Time) {
	if at.After(w.aliveAt) {
		w.aliveAt = at
	}
}

// readSessionEntry notices the ends of the peers.
func (w *watch) readSessionEntry(e *trace.Entry) *verdict {
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
		return &verdict{outcome: runs.OutcomeHarnessError, detail: "another kernel could not be started in the place of one that was stuck"}
	case session.TypeLimitExceeded:
		var passed session.LimitExceeded
		if err := json.Unmarshal(e.Body, &passed); err != nil {
			panic(fmt.Sprintf("an entry of the session's: %v", err))
		}
		return &verdict{outcome: runs.OutcomeLimit, detail: passed.String()}
	default:
		return nil
	}
}

func (w *watch) readPeerEnded(e *trace.Entry) *verdict {
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
		w.actions = map[string]agentAction{} // nobody is there to be answered
		if v := w.useStreamedMessage(); v != nil && v.outcome != "" {
			return v
		}
		if w.isMarked {
			return w.completionVerdict()
		}
		return &verdict{outcome: runs.OutcomeAgentExit}
	default:
		return nil
	}
}

// kernelEndVerdict blames the agent's code when it was running.
func (w *watch) kernelEndVerdict() *verdict {
	ran := len(w.cells) > 0
	for _, action := range w.actions {
		ran = ran || action.name == protocol.TypeExecuteCode
	}
	w.cells = map[string]cellRuns{}
	if ran {
		return &verdict{outcome: runs.OutcomeKernelExit, detail: detailRanAgentCode}
	}
	return &verdict{outcome: runs.OutcomeKernelExit}
}

// detailRanAgentCode is the detail of a kernel's exit that counts as the agent's.
const detailRanAgentCode = "while it ran the agent's code"
