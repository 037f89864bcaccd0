package attempt

import (
	"context"
	"sync"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// personState is what the watcher remembers in an attempt in which a person does the agent's work.
type personState struct {
	waitEnded  chan struct{} // closed when the person has started, or nothing can be started any more
	endOnce    sync.Once
	hasStarted bool   // set before waitEnded is closed
	editedCell string // id of the cell that the last action edited; empty: the last action was no edit
}

func newPersonState() *personState { return &personState{waitEnded: make(chan struct{})} }

// endWait ends awaitStart, which returns hasStarted. Further calls do nothing.
func (p *personState) endWait(hasStarted bool) {
	p.endOnce.Do(func() {
		p.hasStarted = hasStarted
		close(p.waitEnded)
	})
}

// awaitStart waits for endWait, or until ctx ends, and reports whether the person has started.
func (p *personState) awaitStart(ctx context.Context) bool {
	select {
	case <-p.waitEnded:
		return p.hasStarted
	case <-ctx.Done():
		return false
	}
}

// isAttemptStart reports whether a trace entry says that a person who may do so has started the attempt.
func isAttemptStart(e *trace.Entry) bool {
	return e.Hop == trace.ConsoleToServer && e.Type == protocol.TypeAttemptStart && e.Note != trace.NoteDropped
}

// readPersonAction processes a console's frame in an attempt in which a person does the agent's work. What
// the person does with the notebook counts as an action of the agent; edits of one cell in a row count as
// one, because a page sends them while the person types. It returns a limit verdict if there are more
// actions than Limits.MaxActions.
func (w *completionWatcher) readPersonAction(e *trace.Entry) *watcherVerdict {
	if !isNotebookCommand(e) || w.submitted.isFrozen || w.isOver {
		return nil
	}
	w.noteAgentActive(e)
	if e.Type == protocol.TypeRunCell || isRunAction(e) {
		w.expectRun(e.CellID, e.WallTime)
	}
	edited := ""
	if e.Action == "edit_cell" {
		edited = e.CellID
	}
	isSameEdit := edited != "" && edited == w.person.editedCell
	w.person.editedCell = edited
	if isSameEdit {
		return nil
	}
	w.counts.usage.Actions++
	if limit := w.limits.MaxActions; limit > 0 && w.counts.usage.Actions > limit {
		return limitVerdict("actions", limit, w.counts.usage.Actions)
	}
	return nil
}
