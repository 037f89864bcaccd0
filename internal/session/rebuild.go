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

// Rebuild reads what a session's notebook was when its trace ended, which may be
// in the middle of things: what ran then has failed. It returns nil for a trace
// that says nothing of the notebook, as when a console held it.
func Rebuild(ctx context.Context, path string) (*notebook.State, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := &rebuilding{runs: notebook.NewRuns(notebook.RunsConfig{})}
	b.document = notebook.NewDocument(notebook.DocumentConfig{Runs: b.runs})
	if _, err := trace.Read(file, func(r trace.Record) error {
		b.add(r)
		return context.Cause(ctx)
	}); err != nil {
		return nil, err
	}
	if !b.told {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	b.runs.Ended()
	return &notebook.State{Cells: b.document.Cells(), Runs: b.runs.Snapshot()}, nil
}

// rebuilding folds a trace into a notebook. Entries that do not fit, of a trace
// that somebody has edited, are passed over.
type rebuilding struct {
	document *notebook.Document
	runs     *notebook.Runs
	told     bool // the trace has said something of the notebook
}

func (b *rebuilding) add(r trace.Record) {
	switch r.Hop {
	case trace.Notebook:
		b.event(r.Msg)
	case trace.ServerToKernel:
		switch {
		case r.Note == trace.Dropped:
		case r.Type == protocol.TypeRunCell:
			b.runs.Sent(r.CellID)
		case r.Type == protocol.TypeDisposeCell:
			b.runs.Disposed(r.CellID)
		}
	case trace.KernelToServer:
		_ = b.runs.Apply(r.Seq, protocol.Envelope{Type: r.Type, CellID: r.CellID}, r.Msg)
	case trace.Session:
		if r.Type == router.TypePeerEnded && r.Action == "kernel" {
			b.runs.Ended()
		}
	default:
	}
}

func (b *rebuilding) event(text []byte) {
	var e notebook.Event
	if json.Unmarshal(text, &e) != nil || b.document.Apply(e) != nil {
		return
	}
	b.told = true
	if e.State != nil {
		b.runs.Restore(e.State.Runs)
	}
}
