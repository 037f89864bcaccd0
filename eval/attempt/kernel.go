package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/router"
)

// readKernelCommand processes a message to the kernel: run_cell opens a run, dispose_cell
// closes all runs of a cell, set_widget_value may make the kernel run cells again, and init
// means that a replaced kernel is there.
func (w *completionWatcher) readKernelCommand(e *trace.Entry) {
	if e.Note == trace.NoteDropped {
		return
	}
	if w.person != nil && !w.taskSentAt.IsZero() && (e.Type == protocol.TypeRunCell || e.Type == protocol.TypeExecuteCode) {
		w.hasRunCode = true
	}
	switch e.Type {
	case protocol.TypeRunCell:
		w.updateCellRuns(e.CellID, func(c *cellRuns) {
			c.Queue()
			c.expectedSince = time.Time{}
		})
	case protocol.TypeDisposeCell:
		w.closeRun(e, e.CellID, func(c *cellRuns) { *c = cellRuns{} })
	case protocol.TypeSetWidgetValue:
		w.expectRun(widgetRerunsID, e.WallTime)
	case protocol.TypeInit:
		w.isKernelReplaced = false
	}
}

// readKernelFrame processes a message from the kernel, which may open or close runs of cells.
func (w *completionWatcher) readKernelFrame(e *trace.Entry) {
	switch e.Type {
	case protocol.TypeStartCell:
		delete(w.cells, widgetRerunsID)
		if e.CellID == "" {
			w.closeStartedRuns(e)
			return
		}
		w.updateCellRuns(e.CellID, func(c *cellRuns) { c.Start() })
	case protocol.TypeRunQueue:
		delete(w.cells, widgetRerunsID)
		queue, _ := notebook.QueuedCells(e.Body) // the session logs what is wrong with it
		for _, id := range queue {
			w.updateCellRuns(id, func(c *cellRuns) { c.Queue() })
		}
	case protocol.TypeCellResult:
		w.counts.usage.CellsRun++
		w.countMarkerIn(e)
		w.closeRun(e, e.CellID, func(c *cellRuns) { c.End() })
	case protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeExecuteCodeResponse:
		w.countMarkerIn(e)
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary:
	default:
		// The answer to a request may show values. All else, such as a message that only agents send, comes
		// from code in a cell.
		if isAnswer := e.TxID != "" || e.AgentTxID != ""; !isAnswer || e.Note == trace.NoteOrphaned {
			w.countMarkerIn(e)
		}
	}
}

// closeStartedRuns closes all runs of cells that have started. It is called for a start_cell
// without a cell id, which says that the kernel is idle, because some kernels send no
// cell_result.
func (w *completionWatcher) closeStartedRuns(e *trace.Entry) {
	for id, c := range w.cells {
		if c.IsStarted() {
			w.counts.usage.CellsRun++
			w.closeRun(e, id, func(c *cellRuns) { c.End() })
		}
	}
}

// closeRun calls f, which closes runs of the cell id, and counts that as activity of the agent.
func (w *completionWatcher) closeRun(e *trace.Entry, id string, f func(*cellRuns)) {
	w.updateCellRuns(id, f)
	w.noteAgentActive(e)
	if _, areExpected := w.cells[widgetRerunsID]; areExpected {
		w.expectRun(widgetRerunsID, e.WallTime) // these runs come after the one that has ended: wait anew
	}
}

// noteAgentActive notes the time of a trace entry as the agent's last activity, from which the
// idle limit counts.
func (w *completionWatcher) noteAgentActive(e *trace.Entry) { w.agentReports.lastActiveAt = e.WallTime }

// readSessionEntry processes an event of the session and returns its verdict, or nil: a new
// holder of the notebook, the end of a connection, a kernel that is replaced, an exceeded
// limit.
func (w *completionWatcher) readSessionEntry(e *trace.Entry) *watcherVerdict {
	switch e.Type {
	case router.EntryTypeHolderChanged:
		w.setHolder(e)
		return nil
	case router.EntryTypePeerEnded:
		return w.readPeerEnded(e)
	case session.TypeKernelStuck:
		w.isKernelReplaced = true
		return nil
	case session.TypeKernelLost:
		if w.hasRunCode {
			return &watcherVerdict{outcome: runs.OutcomeKernelExit, detail: kernelNotReplaced}
		}
		return &watcherVerdict{outcome: runs.OutcomeHarnessError, detail: "the kernel was killed because its code did not stop, and no new kernel could be started"}
	case session.TypeLimitExceeded:
		var exceeded session.LimitExceeded
		if err := json.Unmarshal(e.Body, &exceeded); err != nil {
			panic(fmt.Sprintf("a malformed event of the session: %v", err))
		}
		return &watcherVerdict{outcome: runs.OutcomeLimit, detail: exceeded.String()}
	default:
		return nil
	}
}

// readPeerEnded processes the end of the connection of a console, the kernel or the agent, and
// returns the verdict if that ends the attempt; otherwise nil.
func (w *completionWatcher) readPeerEnded(e *trace.Entry) *watcherVerdict {
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
		if w.submitted.isMarked() {
			w.freezeSubmission()
			return nil
		}
		return &watcherVerdict{outcome: runs.OutcomeAgentExit}
	default:
		return nil
	}
}

// kernelEndVerdict returns the verdict kernel_exit. Its detail is kernelDiedInAgentCode if a
// cell or an execute_code of the agent was running, kernelDiedAfterSubmission or kernelDiedAfterAgentCode if one had
// run before, and otherwise empty.
func (w *completionWatcher) kernelEndVerdict() *watcherVerdict {
	ranAgentCode := len(w.cells) > 0
	for _, action := range w.actions {
		ranAgentCode = ranAgentCode || action.name == protocol.TypeExecuteCode
	}
	w.cells = map[string]cellRuns{}
	switch {
	case ranAgentCode:
		return &watcherVerdict{outcome: runs.OutcomeKernelExit, detail: kernelDiedInAgentCode}
	case w.hasRunCode && w.submitted.isMarked():
		return &watcherVerdict{outcome: runs.OutcomeKernelExit, detail: kernelDiedAfterSubmission}
	case w.hasRunCode:
		return &watcherVerdict{outcome: runs.OutcomeKernelExit, detail: kernelDiedAfterAgentCode}
	}
	return &watcherVerdict{outcome: runs.OutcomeKernelExit}
}

// Details of the outcome kernel_exit. Such an attempt is graded, because the failure is the agent's; but
// after the agent's code, and before its submission, a SIGKILL may have come from outside.
const (
	kernelDiedInAgentCode     = "while it ran the agent's code"
	kernelDiedAfterAgentCode  = "after it had run the agent's code"
	kernelDiedAfterSubmission = "after the agent had submitted"
	kernelNotReplaced         = "because its code did not stop; no new kernel could be started"
)

// isKernelKilledByAgent reports whether the end of the kernel, with err, is the agent's fault. detail is that
// of the watcher's verdict.
func isKernelKilledByAgent(detail string, err error) bool {
	if othersTookMemory(err) {
		return false
	}
	exit, hasDied := errors.AsType[*subprocess.ExitError](err)
	mayBeFromOutside := hasDied && exit.Exit.Signal == "SIGKILL" && exit.Exit.MemoryKill == 0
	return detail == kernelDiedInAgentCode || detail == kernelDiedAfterSubmission || detail == kernelNotReplaced || detail == kernelDiedAfterAgentCode && !mayBeFromOutside && !errors.Is(err, trace.ErrCannotWrite)
}

// othersTookMemory reports whether err is the end of a process that Linux has killed to get memory, although it
// had used less than its share.
func othersTookMemory(err error) bool {
	exit, hasDied := errors.AsType[*subprocess.ExitError](err)
	return hasDied && exit.Exit.MemoryKill == subprocess.UnderShare
}
