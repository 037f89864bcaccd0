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

// presence is what is known of the console that holds the notebook.
type presence struct {
	conn int       // its number; 0: none, or the server, holds
	away time.Time // since when it is away; zero: it is there
}

// holds notes who holds the notebook from here on.
func (w *watch) holds(e *trace.Entry) { w.holder = presence{conn: e.ConsoleID} }

// left notes that the console that holds the notebook has gone.
func (w *watch) left(e *trace.Entry) {
	if e.ConsoleID != 0 && e.ConsoleID == w.holder.conn {
		w.holder.away = e.WallTime
	}
}

func (w *watch) onAway(now time.Time) (v *verdict, due time.Time) {
	if w.holder.away.IsZero() {
		return nil, due
	}
	if away := now.Sub(w.holder.away); away >= w.grace {
		detail := fmt.Sprintf("the console that holds the notebook was away for %v: configured %v", away.Round(time.Millisecond), w.grace)
		return &verdict{outcome: runs.OutcomeConsoleLost, detail: detail}, due
	}
	return nil, w.holder.away.Add(w.grace)
}

// fromConsole counts what a person has changed in the agent's work. What a
// console runs whose notebook it is may be what the agent has asked it for.
func (w *watch) fromConsole(e *trace.Entry) {
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
		if w.holder.conn == 0 {
			w.interventions++
		}
	}
}
