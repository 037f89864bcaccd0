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
	document *notebook.Document
	runs     *notebook.Executions
	told     bool // the trace has said something of the document

	foreign *foreign // the notebook of a console that holds it, or may; nil: the server does
	held    bool     // a console does
}

// NewNotebookFold returns the fold of no entries.
func NewNotebookFold() *NotebookFold {
	f := &NotebookFold{runs: notebook.NewExecutions(notebook.ExecutionsConfig{}), foreign: &foreign{asked: map[string]action{}}}
	f.document = notebook.NewDocument(notebook.DocumentConfig{Executions: f.runs})
	return f
}

// CanChangeNotebook tells whether a Fold may have a use for an entry, for which it needs no
// more than its hop, type and action: of others nothing has to be read.
func CanChangeNotebook(r trace.Record) bool {
	switch r.Hop {
	case trace.HopNotebook, trace.KernelToServer, trace.ServerToKernel, trace.HopSession:
		return true
	case trace.AgentToServer, trace.ServerToConsole:
		return r.Type == protocol.TypeAgentAction && ofDocument(r.Action)
	case trace.ConsoleToServer:
		return r.Type == protocol.TypeActionResponse || r.Type == protocol.TypeRunCell || r.Type == protocol.TypeDisposeCell
	default:
		return false
	}
}

// Add takes in the next entry, whole.
func (f *NotebookFold) Add(r trace.Record) {
	switch r.Hop {
	case trace.HopNotebook:
		f.event(r.Message)
	case trace.ServerToKernel:
		f.toKernel(r)
	case trace.KernelToServer:
		_ = f.runs.ApplyFrame(r.Seq, protocol.Envelope{Type: r.Type, CellID: r.CellID}, r.Message)
	case trace.HopSession:
		f.session(r)
	default:
		if f.foreign != nil {
			f.foreign.add(r)
		}
	}
}

func (f *NotebookFold) toKernel(r trace.Record) {
	switch {
	case r.Note == trace.NoteDropped:
	case r.Type == protocol.TypeRunCell:
		f.runs.MarkSent(r.CellID)
	case r.Type == protocol.TypeDisposeCell:
		f.runs.MarkDisposed(r.CellID)
	}
}

// session follows who holds the notebook, and the ends of kernels.
func (f *NotebookFold) session(r trace.Record) {
	switch {
	case r.Type == router.TypePeerEnded && r.Action == "kernel":
		f.runs.MarkKernelEnded()
	case r.Type == router.TypeHolder && r.ConsoleID == 0:
		f.foreign = nil
	case r.Type == router.TypeHolder:
		f.held = f.foreign != nil // it is settled once
	}
}

func (f *NotebookFold) event(text []byte) {
	var e notebook.Event
	if json.Unmarshal(text, &e) != nil || f.document.ApplyEvent(e) != nil {
		return
	}
	f.told = true
	if e.State != nil {
		f.runs.RestoreSnapshot(e.State.Executions)
	}
}

// Clone returns a fold that goes on from here by itself.
func (f *NotebookFold) Clone() *NotebookFold {
	out := &NotebookFold{runs: f.runs.Clone(), told: f.told, held: f.held}
	out.document = notebook.NewDocument(notebook.DocumentConfig{Executions: out.runs})
	_ = out.document.ApplyEvent(notebook.Event{Kind: notebook.NotebookRestored, State: &notebook.State{Cells: f.document.Cells()}}) // it has a state, and so fits
	if f.foreign != nil {
		out.foreign = f.foreign.clone()
	}
	return out
}

// MemoryBytes is what the fold keeps in memory, in bytes, about.
func (f *NotebookFold) MemoryBytes() int {
	const each = 128 // beside the texts
	size := f.runs.MemoryBytes()
	cells := f.document.Cells()
	if f.foreign != nil {
		cells = append(cells, f.foreign.cells...)
		size += len(f.foreign.asked) * each
	}
	for _, c := range cells {
		size += each + len(c.Source)
	}
	return size
}

// IsHeldByConsole tells whether a console holds the notebook.
func (f *NotebookFold) IsHeldByConsole() bool { return f.held }

// State is the notebook after the last entry. Of one that a console holds, cells
// are as its answers tell.
func (f *NotebookFold) State() notebook.State {
	state := notebook.State{Cells: f.document.Cells(), Executions: f.runs.Snapshot()}
	if f.held {
		state.Cells = append([]notebook.Cell{}, f.foreign.cells...)
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
		fold.Add(r)
		return context.Cause(ctx)
	}); err != nil {
		return nil, err
	}
	if !fold.told {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	fold.runs.MarkKernelEnded()
	return &notebook.State{Cells: fold.document.Cells(), Executions: fold.runs.Snapshot()}, nil
}
