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

// fold is a file of testdata/folds, whose README says what it means.
type fold struct {
	About     string            `json:"about"`
	TextLimit int               `json:"text_limit"` // of ExecutionsConfig; 0: its default
	Steps     []json.RawMessage `json:"steps"`
	Cells     json.RawMessage   `json:"cells"`
	Runs      json.RawMessage   `json:"runs"`
}

type step struct {
	Seq int64           `json:"seq"`
	Hop string          `json:"hop"`
	Msg json.RawMessage `json:"msg"`

	Refused bool `json:"refused"` // it does not fit: the fold complains
}

func TestFolds(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/folds/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var f fold
			require.NoError(t, json.Unmarshal(text, &f))
			golden(t, path, folded(t, f))
		})
	}
}

// folded returns f as a file with what its steps give.
func folded(t *testing.T, f fold) string {
	t.Helper()
	doc := notebook.NewDocument(notebook.DocumentConfig{})
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: f.TextLimit})
	var out strings.Builder
	fmt.Fprintf(&out, "{\n  \"about\": %s,\n", jsonOf(t, f.About))
	if f.TextLimit != 0 {
		fmt.Fprintf(&out, "  \"text_limit\": %d,\n", f.TextLimit)
	}
	out.WriteString("  \"steps\": [")
	for i, text := range f.Steps {
		var s step
		require.NoError(t, json.Unmarshal(text, &s))
		err := follow(t, doc, runs, s)
		require.Equal(t, s.Refused, err != nil, "step %d: %v", s.Seq, err)
		out.WriteString(strings.Repeat(",", min(i, 1)) + "\n    " + string(text))
	}
	out.WriteString("\n  ],\n  \"cells\": " + indentOf(t, doc.Cells()))
	out.WriteString(",\n  \"runs\": " + indentOf(t, runs.Snapshot()) + "\n}\n")
	return out.String()
}

// follow folds in a step. It returns why that does not fit.
func follow(t *testing.T, doc *notebook.Document, runs *notebook.Executions, s step) error {
	t.Helper()
	env, err := protocol.NewEnvelopeDecoder().Decode(s.Msg)
	require.NoError(t, err)
	switch {
	case s.Hop == "notebook":
		return change(doc, runs, s.Msg)
	case s.Hop == "kernel>server":
		return runs.ApplyFrame(s.Seq, env, s.Msg)
	case s.Hop == "server>kernel" && env.Type == protocol.TypeRunCell:
		runs.MarkSent(env.CellID)
	case s.Hop == "server>kernel" && env.Type == protocol.TypeDisposeCell:
		runs.MarkDisposed(env.CellID)
	case s.Hop == "server>console" && env.Type == protocol.TypeManagedProcessExit:
		runs.MarkKernelEnded()
	default:
		t.Fatalf("step %d: a hop that is in no fold: %s %s", s.Seq, s.Hop, env.Type)
	}
	return nil
}

func change(doc *notebook.Document, runs *notebook.Executions, event []byte) error {
	var e notebook.Event
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	if err := doc.ApplyEvent(e); err != nil {
		return err
	}
	if e.State != nil {
		runs.RestoreSnapshot(e.State.Executions)
	}
	return nil
}

func indentOf(t *testing.T, v any) string {
	t.Helper()
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	require.NoError(t, enc.Encode(v))
	return strings.TrimSpace(text.String())
}
