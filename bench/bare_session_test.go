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

// bare is a router with the server's own document, wired as a live session
// wires them, but with no processes: its agent, its kernel and its holder are
// the other ends of sockets of this process. Its trace goes to a file.
type bare struct {
	t       *testing.T
	journal *trace.Journal
	router  *router.Router
	written *watched
}

// cellID is that of the one cell that actions are about.
const cellID = "6f1c3b52-0d6e-4a4b-9a43-6d3f0a5a9c11"

func newBare(t *testing.T) *bare {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	s := &bare{t: t, journal: trace.NewJournal("bench"), written: &watched{file: file, up: make(chan struct{}, 1)}}
	writer := trace.NewWriter(s.journal, s.written)
	s.router = router.New(s.journal, notebook.NewExecutions(notebook.ExecutionsConfig{}), router.Config{})
	var writing sync.WaitGroup
	var failed error
	writing.Go(func() {
		failed = writer.Run(context.Background())
		close(s.written.up) // a settle that waits for what cannot be written goes on
	})
	t.Cleanup(func() {
		s.router.Close(protocol.CloseGoingAway, "the measure is over")
		s.journal.Close()
		writing.Wait()
		require.NoError(t, failed)
		require.NoError(t, file.Close())
	})
	return s
}

// agent attaches an agent and returns its end.
func (s *bare) agent() protocol.Conn {
	ours, theirs := sockets(s.t)
	_, err := s.router.AttachAgent(ours)
	require.NoError(s.t, err)
	return theirs
}

// holder attaches a console that holds the document and answers at once.
func (s *bare) holder() {
	ours, theirs := sockets(s.t)
	_, err := s.router.AttachHolder(ours, 1, "1", 0)
	require.NoError(s.t, err)
	inBackground(s.t, []protocol.Conn{theirs}, func() { answerEdits(theirs) })
}

// document attaches a document with so many cells, the first of which is
// cellID. Its changes go into the trace.
func (s *bare) document(cells int) {
	doc := notebook.NewDocument(notebook.DocumentConfig{OnEvent: s.noteEvent})
	for i := range cells {
		id := cellID[:len(cellID)-1] + string(rune('1'+i))
		cell := &notebook.Cell{ID: id, Type: notebook.CodeCell, Source: cellSource, Revision: 1}
		require.NoError(s.t, doc.ApplyEvent(notebook.Event{Kind: notebook.CellCreated, Cell: cell, Position: &i}))
	}
	ours, theirs := protocol.Pipe()
	_, err := s.router.AttachDocument(ours)
	require.NoError(s.t, err)
	inBackground(s.t, []protocol.Conn{theirs}, func() { _ = doc.Serve(theirs) })
}

// cellSource is the source of every cell.
const cellSource = "rows = load(\"rows.csv\")\ntotal = sum(row.amount for row in rows)\nprint(total)\n"

// noteEvent records a change of the document as a live session does.
func (s *bare) noteEvent(e notebook.Event) {
	s.journal.Append(trace.Entry{
		Hop: trace.HopNotebook, Body: e.JSON(),
		Envelope: protocol.Envelope{Type: notebook.EventType, Action: e.Kind, CellID: e.CellID},
	})
}

// mark ends the trace's line of settled.
const mark = `"msg":{"type":"settled"}}` + "\n"

// settle waits until everything that was appended is in the file.
func (s *bare) settle() {
	s.journal.Append(settled())
	<-s.written.up
}

func settled() trace.Entry {
	return trace.Entry{
		Hop: trace.HopSession, Envelope: protocol.Envelope{Type: "settled"}, Body: []byte(`{"type":"settled"}`),
	}
}

// watched is a file that says when a mark was written to it last.
type watched struct {
	file *os.File
	tail []byte
	up   chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.tail = append(w.tail, p[max(0, len(p)-len(mark)):]...)
	w.tail = w.tail[max(0, len(w.tail)-len(mark)):]
	if string(w.tail) == mark {
		w.up <- struct{}{}
	}
	return n, err
}
