//go:build bench

package bench_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// bareSession is a router with the server's own document, connected as in a live session
// but without processes: agent, kernel and holder are the other ends of sockets in this
// process. Its trace is written to a file.
type bareSession struct {
	t         *testing.T
	journal   *trace.Journal
	router    *router.Router
	traceFile *markerDetectingFile
}

// editedCellID is the id of the cell that all edit_cell actions change.
const editedCellID = "6f1c3b52-0d6e-4a4b-9a43-6d3f0a5a9c11"

// newBareSession starts a bareSession that is closed when the test ends.
func newBareSession(t *testing.T) *bareSession {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	s := &bareSession{t: t, journal: trace.NewJournal("bench"), traceFile: &markerDetectingFile{file: file, markerWritten: make(chan struct{}, 1)}}
	writer := trace.NewWriter(s.journal, s.traceFile, nil)
	s.router = router.New(s.journal, notebook.NewExecutions(notebook.ExecutionsConfig{}), router.Config{})
	var writing sync.WaitGroup
	var failed error
	writing.Go(func() {
		failed = writer.Run(context.Background())
		close(s.traceFile.markerWritten) // ends a waitForTrace whose marker can no longer be written
	})
	t.Cleanup(func() {
		s.router.Close(protocol.CloseGoingAway, "the measurement is over")
		s.journal.Close()
		writing.Wait()
		require.NoError(t, failed)
		require.NoError(t, file.Close())
	})
	return s
}

// attachAgent attaches an agent and returns the agent's end of its socket.
func (s *bareSession) attachAgent() protocol.Conn {
	ours, theirs := socketPair(s.t)
	_, err := s.router.AttachAgent(ours)
	require.NoError(s.t, err)
	return theirs
}

// attachHolder attaches a console that holds the document and answers each action at
// once.
func (s *bareSession) attachHolder() {
	ours, theirs := socketPair(s.t)
	_, err := s.router.AttachHolder(ours, 1, "1", 0)
	require.NoError(s.t, err)
	runTasksUntilCleanup(s.t, []protocol.Conn{theirs}, func() { answerEdits(theirs) })
}

// attachDocument attaches a document of the server with the given number of cells, at
// most 9; the first has the id editedCellID. Its changes are recorded in the trace.
func (s *bareSession) attachDocument(cells int) {
	doc := notebook.NewDocument(notebook.DocumentConfig{OnEvent: s.recordNotebookEvent})
	for i := range cells {
		id := editedCellID[:len(editedCellID)-1] + string(rune('1'+i))
		cell := &notebook.Cell{ID: id, Type: notebook.CodeCell, Source: cellSource, Revision: 1}
		require.NoError(s.t, doc.ApplyEvent(notebook.Event{Kind: notebook.CellCreated, Cell: cell, Position: &i}))
	}
	ours, theirs := protocol.Pipe()
	_, err := s.router.AttachDocument(ours)
	require.NoError(s.t, err)
	runTasksUntilCleanup(s.t, []protocol.Conn{theirs}, func() { _ = doc.Serve(theirs) })
}

// cellSource is the source code of every cell.
const cellSource = "rows = load(\"rows.csv\")\ntotal = sum(row.amount for row in rows)\nprint(total)\n"

// recordNotebookEvent appends a change of the document to the trace, as a live session
// does.
func (s *bareSession) recordNotebookEvent(e notebook.Event) {
	s.journal.Append(trace.Entry{
		Hop: trace.HopNotebook, Body: e.JSON(),
		Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind, CellID: e.CellID},
	})
}

// traceMarkerSuffix is the end of the line that traceMarker leaves in a trace file.
const traceMarkerSuffix = `"msg":{"type":"settled"}}` + "\n"

// waitForTrace appends a marker to the trace and waits until the file contains it, and so
// everything recorded before. It returns early if the trace writer fails.
func (s *bareSession) waitForTrace() {
	s.journal.Append(traceMarker())
	<-s.traceFile.markerWritten
}

// traceMarker returns a trace entry that waitForTrace and newTraceWaiter look for in the
// file.
func traceMarker() trace.Entry {
	return trace.Entry{
		Hop: trace.HopSession, Envelope: protocol.Envelope{Type: "settled"}, Body: []byte(`{"type":"settled"}`),
	}
}

// markerDetectingFile is a trace file that signals on markerWritten whenever a marker was written
// to it.
type markerDetectingFile struct {
	file          *os.File
	tail          []byte
	markerWritten chan struct{}
}

// Write writes p to the file and signals if the file now ends with a marker.
func (w *markerDetectingFile) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.tail = append(w.tail, p[max(0, len(p)-len(traceMarkerSuffix)):]...)
	w.tail = w.tail[max(0, len(w.tail)-len(traceMarkerSuffix)):]
	if string(w.tail) == traceMarkerSuffix {
		w.markerWritten <- struct{}{}
	}
	return n, err
}
