package session

import (
	"context"
	"encoding/json"
	"os"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// NotebookFold computes a notebook from the entries of a session's trace. Pass it every entry
// in order with Apply. Entries that do not fit, as in a trace that somebody has edited, are
// ignored. It is not safe for concurrent use.
type NotebookFold struct {
	serverDocument    *notebook.Document   // the server's document
	executions        *notebook.Executions // what the kernels have run
	hasNotebookEvents bool                 // the trace has events of the server's document

	// consoleNotebook is the document of a console that holds it; nil from the entry on
	// that makes the server the holder.
	consoleNotebook *consoleNotebook
	holderIsConsole bool // false also while no holder is decided
}

// NewNotebookFold returns a fold to which no entry was applied: its notebook is empty.
func NewNotebookFold() *NotebookFold {
	f := &NotebookFold{executions: notebook.NewExecutions(notebook.ExecutionsConfig{}), consoleNotebook: newConsoleNotebook()}
	f.serverDocument = notebook.NewDocument(notebook.DocumentConfig{Executions: f.executions})
	return f
}

// CanChangeNotebook reports whether a NotebookFold needs this trace entry. It looks only at the
// entry's hop, type and action, so that a reader can skip the bodies of all others.
func CanChangeNotebook(r trace.Record) bool {
	switch r.Hop {
	case trace.HopNotebook, trace.KernelToServer, trace.ServerToKernel, trace.HopSession:
		return true
	case trace.AgentToServer, trace.ServerToConsole:
		return r.Type == protocol.TypeAgentAction && isDocumentAction(r.Action)
	case trace.ConsoleToServer:
		return r.Type == protocol.TypeActionResponse || r.Type == protocol.TypeRunCell || r.Type == protocol.TypeDisposeCell
	default:
		return false
	}
}

// Apply updates the notebook from the next entry of the trace, which must have its message.
func (f *NotebookFold) Apply(r trace.Record) {
	switch r.Hop {
	case trace.HopNotebook:
		f.applyNotebookEvent(r.Message)
	case trace.ServerToKernel:
		f.applyKernelCommand(r)
	case trace.KernelToServer:
		_ = f.executions.ApplyFrame(r.Seq, protocol.Envelope{Type: r.Type, CellID: r.CellID}, r.Message)
	case trace.HopSession:
		f.applySessionEntry(r)
	default:
		if f.consoleNotebook != nil {
			f.consoleNotebook.apply(r)
		}
	}
}

// applyKernelCommand processes an entry with a command to the kernel: run_cell marks the cell
// as waiting, dispose_cell forgets it. Commands that were dropped are ignored.
func (f *NotebookFold) applyKernelCommand(r trace.Record) {
	switch {
	case r.Note == trace.NoteDropped:
	case r.Type == protocol.TypeRunCell:
		f.executions.MarkRunSent(r.CellID)
	case r.Type == protocol.TypeDisposeCell:
		f.executions.MarkCellDisposed(r.CellID)
	}
}

// applySessionEntry processes an entry about the session: the end of the kernel's connection,
// or a new holder of the document.
func (f *NotebookFold) applySessionEntry(r trace.Record) {
	switch {
	case r.Type == router.EntryTypePeerEnded && r.Action == "kernel":
		f.executions.MarkKernelEnded()
	case r.Type == router.EntryTypeHolderChanged && r.ConsoleID == 0:
		f.consoleNotebook = nil
	case r.Type == router.EntryTypeHolderChanged:
		f.holderIsConsole = f.consoleNotebook != nil // the first holder entry decides for the whole session
	}
}

// applyNotebookEvent applies an event of the server's own document, given as JSON. Events that
// do not fit are ignored.
func (f *NotebookFold) applyNotebookEvent(text []byte) {
	var e notebook.Event
	if json.Unmarshal(text, &e) != nil || f.serverDocument.ApplyEvent(e) != nil {
		return
	}
	f.hasNotebookEvents = true
	if e.State != nil {
		f.executions.RestoreSnapshot(e.State.Executions)
	}
}

// Clone returns a copy of the fold; applying entries to one does not change the other.
func (f *NotebookFold) Clone() *NotebookFold {
	out := &NotebookFold{executions: f.executions.Clone(), hasNotebookEvents: f.hasNotebookEvents, holderIsConsole: f.holderIsConsole}
	out.serverDocument = notebook.NewDocument(notebook.DocumentConfig{Executions: out.executions})
	_ = out.serverDocument.ApplyEvent(notebook.Event{Kind: notebook.NotebookRestored, State: &notebook.State{Cells: f.serverDocument.Cells()}}) // an event with a state always fits
	if f.consoleNotebook != nil {
		out.consoleNotebook = f.consoleNotebook.clone()
	}
	return out
}

// MemoryBytes returns roughly how many bytes of memory the folded notebook takes.
func (f *NotebookFold) MemoryBytes() int {
	const perItem = 128 // bytes beside the texts
	size := f.executions.MemoryBytes()
	cells := f.serverDocument.Cells()
	if f.consoleNotebook != nil {
		cells = append(cells, f.consoleNotebook.cells...)
		size += len(f.consoleNotebook.pendingActions) * perItem
	}
	for _, c := range cells {
		size += perItem + len(c.Source)
	}
	return size
}

// IsHeldByConsole reports whether a console holds the document, by the entries so far.
func (f *NotebookFold) IsHeldByConsole() bool { return f.holderIsConsole }

// State returns the notebook after the entries so far. If a console holds the document, the
// cells are reconstructed from the console's answers.
func (f *NotebookFold) State() notebook.State {
	state := notebook.State{Cells: f.serverDocument.Cells(), Executions: f.executions.Snapshot()}
	if f.holderIsConsole {
		state.Cells = append([]notebook.Cell{}, f.consoleNotebook.cells...)
	}
	return state
}

// NotebookFromTrace reads the trace file at path and returns the notebook at its end, in which
// cells that were running have failed. The result is nil, without an error, if the trace has no
// event of the server's own document, as when a console held it. It fails if the file cannot be
// read, and with the cause of ctx.
func NotebookFromTrace(ctx context.Context, path string) (*notebook.State, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	fold := NewNotebookFold()
	if _, err := trace.ReadRecords(file, func(r trace.Record) error {
		fold.Apply(r)
		return context.Cause(ctx)
	}); err != nil {
		return nil, err
	}
	if !fold.hasNotebookEvents {
		return nil, nil //nolint:nilnil // no notebook is no error
	}
	fold.executions.MarkKernelEnded()
	return &notebook.State{Cells: fold.serverDocument.Cells(), Executions: fold.executions.Snapshot()}, nil
}
