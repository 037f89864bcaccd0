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

// NotebookFold computes a notebook from the entries of its trace. Give it every entry in
// order with Apply; entries that do not fit, as in a trace that somebody has edited, are
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

// NewNotebookFold returns the fold of no entries.
func NewNotebookFold() *NotebookFold {
	f := &NotebookFold{executions: notebook.NewExecutions(notebook.ExecutionsConfig{}), consoleNotebook: newConsoleNotebook()}
	f.serverDocument = notebook.NewDocument(notebook.DocumentConfig{Executions: f.executions})
	return f
}

// CanChangeNotebook reports whether a NotebookFold needs an entry. It looks only at the entry's
// hop, type and action, so that a reader can skip the bodies of the others.
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

// Apply applies the next entry of the trace, which must have its message.
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

// applyKernelCommand marks a cell as sent to the kernel or disposed of. Commands that were not
// delivered are ignored.
func (f *NotebookFold) applyKernelCommand(r trace.Record) {
	switch {
	case r.Note == trace.NoteDropped:
	case r.Type == protocol.TypeRunCell:
		f.executions.MarkSent(r.CellID)
	case r.Type == protocol.TypeDisposeCell:
		f.executions.MarkDisposed(r.CellID)
	}
}

// applySessionEntry applies the end of a kernel, and who has become the document's holder.
func (f *NotebookFold) applySessionEntry(r trace.Record) {
	switch {
	case r.Type == router.TypePeerEnded && r.Action == "kernel":
		f.executions.MarkKernelEnded()
	case r.Type == router.TypeHolder && r.ConsoleID == 0:
		f.consoleNotebook = nil
	case r.Type == router.TypeHolder:
		f.holderIsConsole = f.consoleNotebook != nil // the first holder entry decides for the whole session
	}
}

// applyNotebookEvent applies an event of the server's document.
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

// Clone returns an independent copy.
func (f *NotebookFold) Clone() *NotebookFold {
	out := &NotebookFold{executions: f.executions.Clone(), hasNotebookEvents: f.hasNotebookEvents, holderIsConsole: f.holderIsConsole}
	out.serverDocument = notebook.NewDocument(notebook.DocumentConfig{Executions: out.executions})
	_ = out.serverDocument.ApplyEvent(notebook.Event{Kind: notebook.NotebookRestored, State: &notebook.State{Cells: f.serverDocument.Cells()}}) // an event with a state always fits
	if f.consoleNotebook != nil {
		out.consoleNotebook = f.consoleNotebook.clone()
	}
	return out
}

// MemoryBytes returns roughly how many bytes of memory the fold takes.
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

// IsHeldByConsole reports whether a console holds the document.
func (f *NotebookFold) IsHeldByConsole() bool { return f.holderIsConsole }

// State returns the notebook after the last entry. If a console holds the document, the cells are
// those that its answers tell of.
func (f *NotebookFold) State() notebook.State {
	state := notebook.State{Cells: f.serverDocument.Cells(), Executions: f.executions.Snapshot()}
	if f.holderIsConsole {
		state.Cells = append([]notebook.Cell{}, f.consoleNotebook.cells...)
	}
	return state
}

// NotebookFromTrace reads the trace file at path and returns the notebook at its end. A trace may
// end at any point; cells that ran then have failed. It returns nil without an error if the trace
// has no event of the server's document, as when a console held it.
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
