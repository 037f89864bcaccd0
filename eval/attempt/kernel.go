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

// toKernel opens a run when the kernel is told to run a cell.
func (w *watch) toKernel(e *trace.Entry) *verdict {
	if e.Note == trace.NoteDropped {
		return nil
	}
	switch e.Type {
	case protocol.TypeRunCell:
		w.change(e.CellID, func(c *cell) {
			c.Queue()
			c.promised = time.Time{}
		})
	case protocol.TypeDisposeCell:
		return w.closed(e, e.CellID, func(c *cell) { *c = cell{} })
	case protocol.TypeSetWidgetValue:
		w.promise(reruns, e.WallTime)
	case protocol.TypeInit:
		w.replaced = false
		return w.settle()
	}
	return nil
}

// fromKernel follows the runs.
func (w *watch) fromKernel(e *trace.Entry) *verdict {
	switch e.Type {
	case protocol.TypeStartCell:
		delete(w.cells, reruns)
		if e.CellID == "" {
			return w.allIdle(e)
		}
		w.change(e.CellID, func(c *cell) { c.Start() })
	case protocol.TypeRunQueue:
		delete(w.cells, reruns)
		for _, id := range queueOf(e.Body) {
			w.change(id, func(c *cell) { c.Queue() })
		}
	case protocol.TypeCellResult:
		w.counts.CellsRun++
		w.suspect(e)
		return w.closed(e, e.CellID, func(c *cell) { c.End() })
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeExecuteCodeResponse:
		w.suspect(e)
	}
	return nil
}

// allIdle closes the runs that had started: a kernel that sends no cell_result
// says no more than this.
func (w *watch) allIdle(e *trace.Entry) *verdict {
	var v *verdict
	for id, c := range w.cells {
		if c.IsStarted() {
			w.counts.CellsRun++
			v = w.closed(e, id, func(c *cell) { c.End() })
		}
	}
	return v
}

func (w *watch) closed(e *trace.Entry, id string, f func(*cell)) *verdict {
	w.change(id, f)
	w.listen(e)
	if _, set := w.cells[reruns]; set {
		w.promise(reruns, e.WallTime) // its turn has come
	}
	return w.settle()
}

// listen notes a sign of life.
func (w *watch) listen(e *trace.Entry) { w.hear(e.WallTime) }

// hear notes that the agent is at work until then.
func (w *watch) hear(at time.Time) {
	if at.After(w.heard) {
		w.heard = at
	}
}

// fromSession notices the ends of the peers.
func (w *watch) fromSession(e *trace.Entry) *verdict {
	switch e.Type {
	case router.TypeHolder:
		w.holds(e)
		return nil
	case router.TypePeerEnded:
		return w.peerEnded(e)
	case session.TypeKernelStuck:
		w.replaced = true
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

func (w *watch) peerEnded(e *trace.Entry) *verdict {
	switch e.Action {
	case "console":
		w.left(e)
		return nil
	case "kernel":
		if w.replaced {
			w.cells = map[string]cell{}
			return nil
		}
		return w.kernelEnded()
	case "agent":
		w.actions = map[string]action{} // nobody is there to be answered
		if v := w.useStream(); v != nil && v.outcome != "" {
			return v
		}
		if w.marked {
			return w.settle()
		}
		return &verdict{outcome: runs.OutcomeAgentExit}
	default:
		return nil
	}
}

// kernelEnded blames the agent's code when it was running.
func (w *watch) kernelEnded() *verdict {
	ran := len(w.cells) > 0
	for _, action := range w.actions {
		ran = ran || action.name == protocol.TypeExecuteCode
	}
	w.cells = map[string]cell{}
	if ran {
		return &verdict{outcome: runs.OutcomeKernelExit, detail: ranCode}
	}
	return &verdict{outcome: runs.OutcomeKernelExit}
}

// ranCode is the detail of a kernel's exit that counts as the agent's.
const ranCode = "while it ran the agent's code"
