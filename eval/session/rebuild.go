package session

import (
	"context"
	"os"

	"assay/internal/notebook"
	"assay/internal/trace"
)

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
	if _, err := trace.Read(file, func(r trace.Record) error {
		fold.Add(r)
		return context.Cause(ctx)
	}); err != nil {
		return nil, err
	}
	if !fold.told {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	fold.runs.Ended()
	return &notebook.State{Cells: fold.document.Cells(), Executions: fold.runs.Snapshot()}, nil
}
