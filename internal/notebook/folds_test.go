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
	About string            `json:"about"`
	Steps []json.RawMessage `json:"steps"`
	Cells json.RawMessage   `json:"cells"`
	Runs  json.RawMessage   `json:"runs"`
}

type step struct {
	Seq int64           `json:"seq"`
	Hop string          `json:"hop"`
	Msg json.RawMessage `json:"msg"`
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
	runs := notebook.NewRuns(notebook.RunsConfig{})
	var out strings.Builder
	fmt.Fprintf(&out, "{\n  \"about\": %s,\n  \"steps\": [", jsonOf(t, f.About))
	for i, text := range f.Steps {
		var s step
		require.NoError(t, json.Unmarshal(text, &s))
		follow(t, doc, runs, s)
		out.WriteString(strings.Repeat(",", min(i, 1)) + "\n    " + string(text))
	}
	out.WriteString("\n  ],\n  \"cells\": " + indentOf(t, doc.Cells()))
	out.WriteString(",\n  \"runs\": " + indentOf(t, runs.Snapshot()) + "\n}\n")
	return out.String()
}

func follow(t *testing.T, doc *notebook.Document, runs *notebook.Runs, s step) {
	t.Helper()
	env, err := protocol.NewDecoder().Envelope(s.Msg)
	require.NoError(t, err)
	switch {
	case s.Hop == "notebook":
		var e notebook.Event
		require.NoError(t, json.Unmarshal(s.Msg, &e))
		require.NoError(t, doc.Apply(e))
	case s.Hop == "kernel>server":
		require.NoError(t, runs.Apply(s.Seq, env, s.Msg))
	case s.Hop == "server>kernel" && env.Type == protocol.TypeRunCell:
		runs.Sent(env.CellID)
	case s.Hop == "server>kernel" && env.Type == protocol.TypeDisposeCell:
		runs.Disposed(env.CellID)
	case s.Hop == "server>console" && env.Type == protocol.TypeManagedProcessExit:
		runs.Ended()
	default:
		t.Fatalf("step %d: a hop that is in no fold: %s %s", s.Seq, s.Hop, env.Type)
	}
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
