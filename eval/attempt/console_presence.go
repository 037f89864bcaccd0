package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// DefaultHolderGrace is how long a console that holds the notebook may be away, unless the [Config]
// has another value. After that the attempt ends with the outcome console_lost.
const DefaultHolderGrace = 30 * time.Second

// consolePresence says which console holds the notebook, and whether it is connected.
type consolePresence struct {
	connID    int       // number of its connection; 0: the server or nobody holds the notebook
	awaySince time.Time // when it disconnected; zero: it is connected
}

// setHolder notes who holds the notebook from now on.
func (w *completionWatcher) setHolder(e *trace.Entry) {
	w.holderPresence = consolePresence{connID: e.ConsoleID}
}

// markHolderAway notes that a console has disconnected, if it is the one that holds the notebook.
func (w *completionWatcher) markHolderAway(e *trace.Entry) {
	if e.ConsoleID != 0 && e.ConsoleID == w.holderPresence.connID {
		w.holderPresence.awaySince = e.WallTime
	}
}

// checkHolderAway returns a verdict if the console that holds the notebook has been away for
// holderGrace; due is when it will have been.
func (w *completionWatcher) checkHolderAway(now time.Time) (v *verdict, due time.Time) {
	if w.holderPresence.awaySince.IsZero() {
		return nil, due
	}
	if away := now.Sub(w.holderPresence.awaySince); away >= w.holderGrace {
		detail := fmt.Sprintf("the console that holds the notebook was away for %v: configured %v", away.Round(time.Millisecond), w.holderGrace)
		return &verdict{outcome: runs.OutcomeConsoleLost, detail: detail}, due
	}
	return nil, w.holderPresence.awaySince.Add(w.holderGrace)
}

// countIntervention counts a frame by which a person at a console changes the agent's work. While a
// console holds the notebook, commands for cells do not count, because the agent may have caused
// them.
func (w *completionWatcher) countIntervention(e *trace.Entry) {
	if e.Note == trace.NoteDropped {
		return
	}
	switch e.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		w.counts.interventions++
	case protocol.TypeNotebookAction:
		switch e.Action {
		case "get_context", "get_global_info", "request_globals_summary", "request_reactivity_summary":
		default:
			w.counts.interventions++
		}
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue, protocol.TypeExecuteCode:
		if w.holderPresence.connID == 0 {
			w.counts.interventions++
		}
	}
}
