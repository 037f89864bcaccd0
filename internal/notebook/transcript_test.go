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

// A transcript under testdata is prose, then lines. Told:
//
//	action  a message to the document
//	kernel  a frame of the kernel, applied to the runs
//	ended   the kernel is gone
//
// Expected behind them, and rewritten by -update:
//
//	event   what the document gives out
//	answer  what it sends back; run_cell and dispose_cell are noted by the runs
//	agent   the kernel message made of a frame
//	error   what the runs say of a frame
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
			golden(t, path, play(t, string(text)))
		})
	}
}

// play returns text with its expectations as they are found.
func play(t *testing.T, text string) string {
	t.Helper()
	s := newStage(t)
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "event", "answer", "agent", "error":
			if strings.HasPrefix(rest, "{") || word == "error" {
				continue
			}
			s.out.WriteString(line) // prose that begins like a line
			continue
		}
		s.out.WriteString(line)
		switch {
		case word == "action" && strings.HasPrefix(rest, "{"):
			s.act(rest)
		case word == "kernel" && strings.HasPrefix(rest, "{"):
			s.frame([]byte(rest))
		case word == "ended" && rest == "":
			s.runs.MarkKernelEnded()
		}
	}
	return s.out.String()
}

// stage is a document and its runs as a session would join them.
type stage struct {
	t    *testing.T
	doc  *notebook.Document
	runs *notebook.Executions
	peer *peer
	seq  int64
	out  strings.Builder
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t}
	s.runs = notebook.NewExecutions(notebook.ExecutionsConfig{CellTitle: func(id string) string { return s.doc.CellTitle(id) }})
	cells := 0
	s.doc = notebook.NewDocument(notebook.DocumentConfig{
		Executions: s.runs,
		OnEvent:    func(e notebook.Event) { s.line("event", jsonOf(t, e)) },
		NewCellID:  func() string { cells++; return fmt.Sprintf("c%d", cells) },
	})
	s.peer = serve(t, s.doc)
	return s
}

func (s *stage) line(word, rest string) { fmt.Fprintf(&s.out, "%-7s %s\n", word, rest) }

func (s *stage) act(body string) {
	for _, answer := range s.peer.exchange(body) {
		s.line("answer", string(answer))
		var command protocol.CellCommand
		require.NoError(s.t, json.Unmarshal(answer, &command))
		switch command.Type {
		case protocol.TypeRunCell:
			s.runs.MarkSent(command.CellID)
		case protocol.TypeDisposeCell:
			s.runs.MarkDisposed(command.CellID)
		}
	}
}

func (s *stage) frame(body []byte) {
	s.seq++
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	require.NoError(s.t, err)
	if err := s.runs.ApplyFrame(s.seq, env, body); err != nil {
		s.line("error", err.Error())
	}
	if message, ok := s.runs.KernelMessage(env, body); ok {
		s.line("agent", string(message))
	}
}

func jsonOf(t require.TestingT, v any) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(v))
	return strings.TrimSpace(text.String())
}
