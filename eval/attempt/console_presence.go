package attempt

import (
	"fmt"
	"time"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// DefaultHolderGrace is how long a console that holds the notebook may be disconnected before
// the attempt ends with the outcome console_lost. [Config].HolderGrace replaces it.
const DefaultHolderGrace = 30 * time.Second

// consolePresence says which console holds the notebook, and since when it has been
// disconnected.
type consolePresence struct {
	connID    int       // number of its connection; 0: the server or nobody holds the notebook
	awaySince time.Time // when it disconnected; zero: it is connected
}

// setHolder takes from a trace entry of type holder which console, or the server, holds the
// notebook from now on.
func (w *completionWatcher) setHolder(e *trace.Entry) {
	w.holderPresence = consolePresence{connID: e.ConsoleID}
}

// markHolderAway notes the time at which the console that holds the notebook has disconnected.
// It ignores the end of any other console's connection.
func (w *completionWatcher) markHolderAway(e *trace.Entry) {
	if e.ConsoleID != 0 && e.ConsoleID == w.holderPresence.connID {
		w.holderPresence.awaySince = e.WallTime
	}
}

// checkHolderAway returns the verdict console_lost if the console that holds the notebook has
// been disconnected for holderGrace. If it is disconnected for less, due is when that time will
// be over; a zero due means that it is connected.
func (w *completionWatcher) checkHolderAway(now time.Time) (v *watcherVerdict, due time.Time) {
	if w.holderPresence.awaySince.IsZero() {
		return nil, due
	}
	if away := now.Sub(w.holderPresence.awaySince); away >= w.holderGrace {
		detail := fmt.Sprintf("the console that holds the notebook was away for %v: configured %v", away.Round(time.Millisecond), w.holderGrace)
		return &watcherVerdict{outcome: runs.OutcomeConsoleLost, detail: detail}, due
	}
	return nil, w.holderPresence.awaySince.Add(w.holderGrace)
}

// countIntervention counts a frame by which a person at a console intervenes in the agent's
// work, such as a query or an edit. While a console holds the notebook, commands for cells do
// not count, because the agent may have caused them.
func (w *completionWatcher) countIntervention(e *trace.Entry) {
	switch e.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		if e.Note != trace.NoteDropped {
			w.counts.interventions++
		}
	default:
		if isNotebookCommand(e) && (e.Type == protocol.TypeNotebookAction || w.holderPresence.connID == 0) {
			w.counts.interventions++
		}
	}
}

// isNotebookCommand reports whether a console's frame, which was not dropped, may change the notebook or the
// kernel's state.
func isNotebookCommand(e *trace.Entry) bool {
	if e.Note == trace.NoteDropped {
		return false
	}
	switch e.Type {
	case protocol.TypeNotebookAction:
		return isChange(e.Action)
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue, protocol.TypeExecuteCode:
		return true
	default:
		return false
	}
}
