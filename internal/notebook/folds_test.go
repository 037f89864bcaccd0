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

// foldCase is the content of a file in testdata/folds: frames and events, and the notebook that
// they must give. The README there explains it.
type foldCase struct {
	About     string            `json:"about"`
	TextLimit int               `json:"text_limit"` // MaxOutputBytes of ExecutionsConfig; 0: the default
	Steps     []json.RawMessage `json:"steps"`
	Cells     json.RawMessage   `json:"cells"`
	Runs      json.RawMessage   `json:"runs"`
}

// foldStep is one entry of a foldCase: a frame of the kernel, a command to it, or an event of
// the document.
type foldStep struct {
	Seq int64           `json:"seq"`
	Hop string          `json:"hop"`
	Msg json.RawMessage `json:"msg"`

	Refused bool `json:"refused"` // the step does not fit: the fold returns an error
}

// TestFoldCases checks that the steps of each file in testdata/folds give the notebook in that
// file.
func TestFoldCases(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/folds/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			var f foldCase
			require.NoError(t, json.Unmarshal(text, &f))
			compareGolden(t, path, runFoldCase(t, f))
		})
	}
}

// runFoldCase returns the fold case f as JSON, with the notebook that its steps give in place of
// the expected one.
func runFoldCase(t *testing.T, f foldCase) string {
	t.Helper()
	doc := notebook.NewDocument(notebook.DocumentConfig{})
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: f.TextLimit})
	var out strings.Builder
	fmt.Fprintf(&out, "{\n  \"about\": %s,\n", compactJSONOf(t, f.About))
	if f.TextLimit != 0 {
		fmt.Fprintf(&out, "  \"text_limit\": %d,\n", f.TextLimit)
	}
	out.WriteString("  \"steps\": [")
	for i, text := range f.Steps {
		var s foldStep
		require.NoError(t, json.Unmarshal(text, &s))
		err := applyFoldStep(t, doc, executions, s)
		require.Equal(t, s.Refused, err != nil, "step %d: %v", s.Seq, err)
		out.WriteString(strings.Repeat(",", min(i, 1)) + "\n    " + string(text))
	}
	out.WriteString("\n  ],\n  \"cells\": " + indentedJSONOf(t, doc.Cells()))
	out.WriteString(",\n  \"runs\": " + indentedJSONOf(t, executions.Snapshot()) + "\n}\n")
	return out.String()
}

// applyFoldStep applies one step of a fold case. It fails if the step does not fit.
func applyFoldStep(t *testing.T, doc *notebook.Document, executions *notebook.Executions, s foldStep) error {
	t.Helper()
	env, err := protocol.NewEnvelopeDecoder().Decode(s.Msg)
	require.NoError(t, err)
	switch {
	case s.Hop == "notebook":
		return applyEventBody(doc, executions, s.Msg)
	case s.Hop == "kernel>server":
		return executions.ApplyFrame(s.Seq, env, s.Msg)
	case s.Hop == "server>kernel" && env.Type == protocol.TypeRunCell:
		executions.MarkRunSent(env.CellID)
	case s.Hop == "server>kernel" && env.Type == protocol.TypeDisposeCell:
		executions.MarkCellDisposed(env.CellID)
	case s.Hop == "server>console" && env.Type == protocol.TypeManagedProcessExit:
		executions.MarkKernelEnded()
	default:
		t.Fatalf("step %d: a hop that is in no fold: %s %s", s.Seq, s.Hop, env.Type)
	}
	return nil
}

// applyEventBody applies an event of the document, given as JSON.
func applyEventBody(doc *notebook.Document, executions *notebook.Executions, event []byte) error {
	var e notebook.Event
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	if err := doc.ApplyEvent(e); err != nil {
		return err
	}
	if e.State != nil {
		executions.RestoreSnapshot(e.State.Executions)
	}
	return nil
}

// indentedJSONOf returns v as indented JSON.
func indentedJSONOf(t *testing.T, v any) string {
	t.Helper()
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	require.NoError(t, enc.Encode(v))
	return strings.TrimSpace(text.String())
}
