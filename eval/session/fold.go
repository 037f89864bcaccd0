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

// NotebookFold makes a notebook of the entries of a trace, one after the other. Entries
// that do not fit, of a trace that somebody has edited, are passed over. It is
// for one goroutine.
type NotebookFold struct {
	document          *notebook.Document
	executions        *notebook.Executions
	hasNotebookEvents bool // the trace has said something of the document

	ofConsole       *consoleNotebook // the notebook of a console that holds it, or may; nil: the server does
	holderIsConsole bool             // a console does
}

// NewNotebookFold returns the fold of no entries.
func NewNotebookFold() *NotebookFold {
	f := &NotebookFold{executions: notebook.NewExecutions(notebook.ExecutionsConfig{}), ofConsole: &consoleNotebook{pending: map[string]documentAction{}}}
	f.document = notebook.NewDocument(notebook.DocumentConfig{Executions: f.executions})
	return f
}

// CanChangeNotebook tells whether a Fold may have a use for an entry, for which it needs no
// more than its hop, type and action: of others nothing has to be read.
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

// Apply takes in the next entry, whole.
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
		if f.ofConsole != nil {
			f.ofConsole.apply(r)
		}
	}
}

func (f *NotebookFold) applyKernelCommand(r trace.Record) {
	switch {
	case r.Note == trace.NoteDropped:
	case r.Type == protocol.TypeRunCell:
		f.executions.MarkSent(r.CellID)
	case r.Type == protocol.TypeDisposeCell:
		f.executions.MarkDisposed(r.CellID)
	}
}

// applySessionEntry follows who holds the notebook, and the ends of kernels.
func (f *NotebookFold) applySessionEntry(r trace.Record) {
	switch {
	case r.Type == router.TypePeerEnded && r.Action == "kernel":
		f.executions.MarkKernelEnded()
	case r.Type == router.TypeHolder && r.ConsoleID == 0:
		f.ofConsole = nil
	case r.Type == router.TypeHolder:
		f.holderIsConsole = f.ofConsole != nil // it is settled once
	}
}

func (f *NotebookFold) applyNotebookEvent(text []byte) {
	var e notebook.Event
	if json.Unmarshal(text, &e) != nil || f.document.ApplyEvent(e) != nil {
		return
	}
	f.hasNotebookEvents = true
	if e.State != nil {
		f.executions.RestoreSnapshot(e.State.Executions)
	}
}

// Clone returns a fold that goes on from here by itself.
func (f *NotebookFold) Clone() *NotebookFold {
	out := &NotebookFold{executions: f.executions.Clone(), hasNotebookEvents: f.hasNotebookEvents, holderIsConsole: f.holderIsConsole}
	out.document = notebook.NewDocument(notebook.DocumentConfig{Executions: out.executions})
	_ = out.document.ApplyEvent(notebook.Event{Kind: notebook.NotebookRestored, State: &notebook.State{Cells: f.document.Cells()}}) // it has a state, and so fits
	if f.ofConsole != nil {
		out.ofConsole = f.ofConsole.clone()
	}
	return out
}

// MemoryBytes is what the fold keeps in memory, in bytes, about.
func (f *NotebookFold) MemoryBytes() int {
	const each = 128 // beside the texts
	size := f.executions.MemoryBytes()
	cells := f.document.Cells()
	if f.ofConsole != nil {
		cells = append(cells, f.ofConsole.cells...)
		size += len(f.ofConsole.pending) * each
	}
	for _, c := range cells {
		size += each + len(c.Source)
	}
	return size
}

// IsHeldByConsole tells whether a console holds the notebook.
func (f *NotebookFold) IsHeldByConsole() bool { return f.holderIsConsole }

// State is the notebook after the last entry. Of one that a console holds, cells
// are as its answers tell.
func (f *NotebookFold) State() notebook.State {
	state := notebook.State{Cells: f.document.Cells(), Executions: f.executions.Snapshot()}
	if f.holderIsConsole {
		state.Cells = append([]notebook.Cell{}, f.ofConsole.cells...)
	}
	return state
}

// NotebookFromTrace reads what a session's notebook was when its trace ended, which may be
// in the middle of things: what ran then has failed. It returns nil for a trace
// that says nothing of the notebook, as when a console held it.
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
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	fold.executions.MarkKernelEnded()
	return &notebook.State{Cells: fold.document.Cells(), Executions: fold.executions.Snapshot()}, nil
}
