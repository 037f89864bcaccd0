package notebook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

func TestTextOfACell(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	require.Empty(t, runs.TextOutput("a"))
	start := func(n string) {
		runs.MarkSent("a")
		apply(t, runs, `{"type":"start_cell","cell_id":"a","run_sequencer":`+n+`}`)
	}
	start("1")
	write(t, runs, protocol.Stdout, "of the run before\n")
	start("2")
	write(t, runs, protocol.Stdout, "one ")
	write(t, runs, protocol.Stderr, "two\n")
	show(t, runs, display(t, map[string]any{"text/plain": "<Figure>", "image/png": "aGk="}, ""))
	show(t, runs, display(t, map[string]any{"image/png": "aGk="}, ""))
	apply(t, runs, `{"type":"cell_output","cell_id":"a","run_sequencer":2,"output":{"output_type":"error","ename":"E","evalue":"v","traceback":["Traceback","E: v"]}}`)
	require.Equal(t, "one two\n<Figure>\nTraceback\nE: v\n", runs.TextOutput("a"))

	start("3")
	show(t, runs, display(t, map[string]any{"text/plain": strings.Repeat("x", 600<<10)}, ""))
	write(t, runs, protocol.Stdout, strings.Repeat("y", 2<<20))
	text := runs.TextOutput("a")
	require.True(t, strings.HasPrefix(text, "[text/plain, 614400 bytes]\n"), text[:60])
	require.Contains(t, text, "bytes left out")
	runs.MarkDisposed("a")
	require.Empty(t, runs.TextOutput("a"))
}
