package notebook_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// TestTranscripts plays the files in testdata/transcripts: prose, and then lines. The
// input:
//
//	action  a message to the document
//	kernel  a frame of the kernel, for the executions
//	ended   the kernel ends
//
// After each line, and rewritten by -update, what must come of it:
//
//	event   an event of the document
//	answer  a message that the document sends; run_cell and dispose_cell go to the executions
//	agent   the kernel message about the frame
//	error   the error of the executions about the frame
//
// Prose must not begin a line with one of the last four words and, but for "error", a
// brace.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/transcripts/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			compareGolden(t, path, playTranscript(t, string(text)))
		})
	}
}

// playTranscript carries out the input lines of a transcript and returns its text with the
// results after each line.
func playTranscript(t *testing.T, text string) string {
	t.Helper()
	h := newHarness(t)
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "event", "answer", "agent", "error":
			if strings.HasPrefix(rest, "{") || word == "error" {
				continue
			}
			h.out.WriteString(line) // prose that begins like a line
			continue
		}
		h.out.WriteString(line)
		switch {
		case word == "action" && strings.HasPrefix(rest, "{"):
			h.sendAction(rest)
		case word == "kernel" && strings.HasPrefix(rest, "{"):
			h.applyFrame([]byte(rest))
		case word == "ended" && rest == "":
			h.executions.MarkKernelEnded()
		}
	}
	return h.out.String()
}

// harness joins a document and its executions as a session does, and writes a transcript of
// what they send.
type harness struct {
	t          *testing.T
	document   *notebook.Document
	executions *notebook.Executions
	peer       *testPeer
	seq        int64
	out        strings.Builder
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{t: t}
	h.executions = notebook.NewExecutions(notebook.ExecutionsConfig{CellTitle: func(id string) string { return h.document.CellTitle(id) }})
	cells := 0
	h.document = notebook.NewDocument(notebook.DocumentConfig{
		Executions: h.executions,
		OnEvent:    func(e notebook.Event) { h.writeLine("event", compactJSONOf(t, e)) },
		NewCellID:  func() string { cells++; return fmt.Sprintf("c%d", cells) },
	})
	h.peer = serveDocument(t, h.document)
	return h
}

// writeLine writes one line of results to the transcript.
func (h *harness) writeLine(word, rest string) { fmt.Fprintf(&h.out, "%-7s %s\n", word, rest) }

// sendAction sends the document an action, and writes the answer and the events to the
// transcript.
func (h *harness) sendAction(body string) {
	for _, answer := range h.peer.exchange(body) {
		h.writeLine("answer", string(answer))
		var command protocol.CellCommand
		require.NoError(h.t, json.Unmarshal(answer, &command))
		switch command.Type {
		case protocol.TypeRunCell:
			h.executions.MarkRunSent(command.CellID)
		case protocol.TypeDisposeCell:
			h.executions.MarkCellDisposed(command.CellID)
		}
	}
}

// applyFrame applies a frame of the kernel, and writes the message to the agent, or the error,
// to the transcript.
func (h *harness) applyFrame(body []byte) {
	h.seq++
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	require.NoError(h.t, err)
	if err := h.executions.ApplyFrame(h.seq, env, body); err != nil {
		h.writeLine("error", err.Error())
	}
	if message, ok := h.executions.KernelMessage(env, body); ok {
		h.writeLine("agent", string(message))
	}
}

// compactJSONOf returns v as JSON in one line.
func compactJSONOf(t require.TestingT, v any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(v))
	return strings.TrimSpace(text.String())
}
