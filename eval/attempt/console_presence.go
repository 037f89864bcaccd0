package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// DefaultHolderGrace is how long a console that holds the notebook may be away until
// the attempt is lost with it, unless the [Config] says another time.
const DefaultHolderGrace = 30 * time.Second

// consolePresence is what is known of the console that holds the notebook.
type consolePresence struct {
	connID    int       // its number; 0: none, or the server, holds
	awaySince time.Time // since when it is away; zero: it is there
}

// setHolder notes who holds the notebook from here on.
func (w *watch) setHolder(e *trace.Entry) { w.holder = consolePresence{connID: e.ConsoleID} }

// markHolderAway notes that the console that holds the notebook has gone.
func (w *watch) markHolderAway(e *trace.Entry) {
	if e.ConsoleID != 0 && e.ConsoleID == w.holder.connID {
		w.holder.awaySince = e.WallTime
	}
}

func (w *watch) checkHolderAway(now time.Time) (v *verdict, due time.Time) {
	if w.holder.awaySince.IsZero() {
		return nil, due
	}
	if away := now.Sub(w.holder.awaySince); away >= w.holderGrace {
		detail := fmt.Sprintf("the console that holds the notebook was away for %v: configured %v", away.Round(time.Millisecond), w.holderGrace)
		return &verdict{outcome: runs.OutcomeConsoleLost, detail: detail}, due
	}
	return nil, w.holder.awaySince.Add(w.holderGrace)
}

// countIntervention counts what a person has changed in the agent's work. What a
// console runs whose notebook it is may be what the agent has asked it for.
func (w *watch) countIntervention(e *trace.Entry) {
	if e.Note == trace.NoteDropped {
		return
	}
	switch e.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		w.interventions++
	case protocol.TypeNotebookAction:
		switch e.Action {
		case "get_context", "get_global_info", "request_globals_summary", "request_reactivity_summary":
		default:
			w.interventions++
		}
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue, protocol.TypeExecuteCode:
		if w.holder.connID == 0 {
			w.interventions++
		}
	}
}
