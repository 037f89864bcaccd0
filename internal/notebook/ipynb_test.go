package notebook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// cellsWithAllOutputs returns cells that have run, with each kind of output, well-formed and
// odd ones.
func cellsWithAllOutputs(t *testing.T) ([]notebook.Cell, *notebook.Executions) {
	t.Helper()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for i, frame := range []string{
		`{"type":"start_cell","cell_id":"a","run_sequencer":3}`,
		`{"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"one\ntwo"}`,
		`{"type":"kernel_stdio","active_cell":"a","stream":"stderr","data":"<&> \ud800\n"}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"display_data","data":{"image/png":"iVBORw0KGgo=","text/plain":"<Figure>"},"metadata":{"image/png":{"width":2}},"transient":{"display_id":"d"}}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"display_data","data":{"text/html":["<b>\n","</b>"],"text/plain":{"odd":1},"image/svg+xml":"<svg/>","text/latex":null,"text/x":7,"application/json":[1,{"a":null}],"application/vnd.plotly.v1+json":{"data":[]}}}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"execute_result","data":{"text/plain":"42"},"execution_count":3}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"execute_result","data":{},"metadata":null,"execution_count":null}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"execute_result","data":{},"execution_count":-1}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"E","evalue":"v"}}`,
		`{"type":"cell_result","cell_id":"a","run_sequencer":3,"status":"error","exception":"E: v"}`,
		`{"type":"start_cell","cell_id":"d/1","run_sequencer":4}`,
		`{"type":"cell_result","cell_id":"d/1","run_sequencer":4,"exception":"Trace\nKeyError"}`,
	} {
		applyFrameAt(t, executions, int64(i), frame)
	}
	return []notebook.Cell{
		{ID: "a", Type: notebook.CodeCell, Source: "x = 1\n\ny = '<&>'", Title: "Load"},
		{ID: "b", Type: notebook.MarkdownCell, Source: "# Größe\n"},
		{ID: "c", Type: notebook.CodeCell},
		{ID: "d/1", Type: notebook.CodeCell, Source: "{}['x']"},
	}, executions
}

// writeIPYNBText returns the notebook file that IPYNB.Write writes, and fails the test if it is not
// JSON.
func writeIPYNBText(t *testing.T, cells []notebook.Cell, executions *notebook.Executions, load func(int64) ([]byte, error)) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, notebook.IPYNB{Cells: cells, Executions: executions, Metadata: notebook.FileMetadata{LanguageVersion: "3.11.2"}, LoadEntry: load}.Write(&out))
	require.True(t, json.Valid(out.Bytes()))
	return out.String()
}

func TestIPYNBMatchesGoldenFile(t *testing.T) {
	t.Parallel()
	cells, executions := cellsWithAllOutputs(t)
	compareGolden(t, "testdata/everything.ipynb", writeIPYNBText(t, cells, executions, nil))
}

func TestIPYNBIsValidForNbformat(t *testing.T) {
	t.Parallel()
	cells, executions := cellsWithAllOutputs(t)
	odd := []notebook.Cell{{ID: "", Type: notebook.CodeCell}, {ID: "", Type: notebook.MarkdownCell}, {ID: "x y", Type: notebook.CodeCell}}
	large := notebook.NewExecutions(notebook.ExecutionsConfig{})
	applyFrameAt(t, large, 7, newDisplayFrame(t, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18)}, ""))
	only := []notebook.Cell{{ID: "a", Type: notebook.CodeCell}}
	for name, text := range map[string]string{
		"everything":     writeIPYNBText(t, cells, executions, nil),
		"nothing":        writeIPYNBText(t, nil, nil, nil),
		"never run":      writeIPYNBText(t, cells, nil, nil),
		"odd ids":        writeIPYNBText(t, odd, nil, nil),
		"reference":      writeIPYNBText(t, only, large, nil),
		"cannot be read": writeIPYNBText(t, only, large, func(int64) ([]byte, error) { return nil, errors.New("disk on fire") }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			validateWithNbformat(t, text)
		})
	}
}

// validateWithNbformat validates a notebook file with Jupyter's Python package nbformat. It
// skips the test if that is not installed.
func validateWithNbformat(t *testing.T, text string) {
	t.Helper()
	const python = "/usr/bin/python3"
	if err := exec.CommandContext(t.Context(), python, "-c", "import nbformat").Run(); err != nil {
		t.Skipf("NOT CHECKED against nbformat: %s -c 'import nbformat': %v; install Debian's python3-nbformat", python, err)
	}
	path := filepath.Join(t.TempDir(), "notebook.ipynb")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	const script = `
import sys, warnings, nbformat
warnings.simplefilter("error")  # it only warns of missing and duplicate ids
nb = nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT)
nbformat.validate(nb)
assert (nb.nbformat, nb.nbformat_minor) == (4, 5), nb
ids = [cell.id for cell in nb.cells]
assert len(set(ids)) == len(ids), ids
`
	out, err := exec.CommandContext(t.Context(), python, "-c", script, path).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, text)
}

// notebookFile has the fields of a parsed notebook file that tests look at.
type notebookFile struct {
	Cells []struct {
		ID       string          `json:"id"`
		Count    *int            `json:"execution_count"`
		Metadata json.RawMessage `json:"metadata"`
		Source   []string        `json:"source"`
		Outputs  []struct {
			Type      string                     `json:"output_type"`
			Data      map[string]json.RawMessage `json:"data"`
			Text      []string                   `json:"text"`
			EValue    string                     `json:"evalue"`
			Traceback []string                   `json:"traceback"`
		} `json:"outputs"`
	} `json:"cells"`
}

// parseNotebookFile parses a notebook file, and fails the test if it is not JSON.
func parseNotebookFile(t *testing.T, text string) notebookFile {
	t.Helper()
	var f notebookFile
	require.NoError(t, json.Unmarshal([]byte(text), &f))
	return f
}

func TestIPYNBLoadsReferences(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	frames := map[int64]string{
		5: newDisplayFrame(t, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18), "text/plain": "<Figure>"}, "plot"),
		6: `{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"E","evalue":"v","traceback":["` + strings.Repeat("t", 1<<20) + `"]}}`,
		7: strings.Replace(newDisplayFrame(t, map[string]any{"image/png": strings.Repeat("RUZH", 1<<18)}, "plot"), "display_data", "update_display_data", 1),
	}
	for seq := int64(5); seq <= 7; seq++ {
		applyFrameAt(t, executions, seq, frames[seq])
	}
	cells := []notebook.Cell{{ID: "a", Type: notebook.CodeCell}}
	load := func(seq int64) ([]byte, error) { return []byte(frames[seq]), nil }
	out := parseNotebookFile(t, writeIPYNBText(t, cells, executions, load)).Cells[0].Outputs
	require.Len(t, out, 2)
	require.Equal(t, "display_data", out[0].Type)
	require.Equal(t, `"`+strings.Repeat("RUZH", 1<<18)+`"`, string(out[0].Data["image/png"]))
	require.Equal(t, []string{strings.Repeat("t", 1<<20)}, out[1].Traceback)

	for name, c := range map[string]struct {
		load func(int64) ([]byte, error)
		says string
	}{
		"no trace":  {nil, "[image/png, 786432 bytes: in the trace, entry 7]"},
		"no entry":  {func(int64) ([]byte, error) { return nil, errors.New("disk on fire") }, "disk on fire"},
		"not JSON":  {func(int64) ([]byte, error) { return []byte(`{"output":`), nil }, "entry 7"},
		"no output": {func(int64) ([]byte, error) { return []byte(`{"output":{"output_type":"stream","name":"x"}}`), nil }, "output.data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := parseNotebookFile(t, writeIPYNBText(t, cells, executions, c.load)).Cells[0].Outputs
			require.NotContains(t, out[0].Data, "image/png")
			require.Contains(t, string(out[0].Data["text/plain"]), c.says)
			require.Contains(t, out[1].Traceback[0], "bytes left out")
		})
	}
}

func TestIPYNBCellIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("l", 70)
	ids := []string{"a b", "a-b", "a-b", "", "", "0f8c-11_Z", long, long, "größe"}
	cells := make([]notebook.Cell, len(ids))
	for i, id := range ids {
		cells[i] = notebook.Cell{ID: id, Type: notebook.CodeCell}
	}
	var found []string
	f := parseNotebookFile(t, writeIPYNBText(t, cells, nil, nil))
	for _, cell := range f.Cells {
		found = append(found, cell.ID)
	}
	require.Equal(t, []string{
		"a-b-2", "a-b", "a-b-3", "cell", "cell-2", "0f8c-11_Z", long[:64], long[:62] + "-2", "gr--e",
	}, found)
	require.JSONEq(t, `{"assay":{"cell_id":"a b"}}`, string(f.Cells[0].Metadata))
	require.JSONEq(t, `{}`, string(f.Cells[1].Metadata))
}

func TestIPYNBHasExecutionCountsOfEndedKernel(t *testing.T) {
	t.Parallel()
	cells, executions := cellsWithAllOutputs(t)
	executions.MarkKernelEnded()
	f := parseNotebookFile(t, writeIPYNBText(t, cells, executions, nil))
	require.Equal(t, 3, *f.Cells[0].Count)
	require.Nil(t, f.Cells[2].Count)
}

// fullDisk is a writer that fails every write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestIPYNBReturnsWriteErrors(t *testing.T) {
	t.Parallel()
	cells := []notebook.Cell{{ID: "a", Type: notebook.CodeCell, Source: strings.Repeat("x", 1<<16)}}
	require.ErrorContains(t, notebook.IPYNB{Cells: cells}.Write(fullDisk{}), "no space left")
}

func TestCellsFromContext(t *testing.T) {
	t.Parallel()
	cells, err := notebook.CellsFromContext([]byte(`{"cell_count":2,"cells":[
		{"cell_id":"x/1","cell_type":"code","source":"1","display_name":"One","outputs":[],"rev":4},
		{"cell_id":"x/2","cell_type":"markdown","source":"two"},
		{"cell_id":"x/3","cell_type":"plot"}]}`))
	require.NoError(t, err)
	require.Equal(t, []notebook.Cell{
		{ID: "x/1", Type: "code", Source: "1", Title: "One", Revision: 4},
		{ID: "x/2", Type: "markdown", Source: "two"},
		{ID: "x/3", Type: "code"},
	}, cells)
	validateWithNbformat(t, writeIPYNBText(t, cells, nil, nil))
}

func TestCellsFromContextRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ context, says string }{
		"EH-6 a cell without id":  {`{"cells":[{"cell_id":"a"},{"source":"1"}]}`, "cell 1: cell_id: expected a string that is not empty, found nothing"},
		"EH-6 a cell with no id":  {`{"cells":[{"cell_id":""}]}`, `cell 0: cell_id: expected a string that is not empty, found ""`},
		"EH-6 a null id":          {`{"cells":[{"cell_id":null}]}`, "cell 0: cell_id"},
		"a cell that is none":     {`{"cells":["a"]}`, `cell 0: expected an object, found "a"`},
		"a source that is none":   {`{"cells":[{"cell_id":"a","source":["1"]}]}`, "cell 0: source: expected a string"},
		"cells that are none":     {`{"cells":{"a":1}}`, `cells: expected an array, found {"a":1}`},
		"no cells":                {`{}`, "cells: expected an array, found nothing"},
		"a context that is none":  {`[]`, "context: expected an object"},
		"a context that was cut":  {`{"cells":[`, "context: "},
		"no context, as in error": {``, "found nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := notebook.CellsFromContext([]byte(c.context))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestIPYNBOfKeptOutputsLoadsNothing(t *testing.T) {
	t.Parallel()
	cells, executions := cellsWithAllOutputs(t)
	applyStreamText(t, executions, protocol.Stdout, strings.Repeat("much text\n", 1<<18))
	load := func(seq int64) ([]byte, error) { t.Errorf("entry %d was loaded", seq); return nil, nil }
	require.Contains(t, writeIPYNBText(t, cells, executions, load), "bytes left out")
}

// A cell that shows large values again and again does not fill the memory: after MaxLoadedBytes the
// file has lines about them instead.
func TestIPYNBLoadsAtMostSoManyBytes(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	frames := map[int64][]byte{}
	for seq := range int64(10) {
		frame := newDisplayFrame(t, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18)}, "")
		frames[seq] = []byte(frame)
		applyFrameAt(t, executions, seq, frame)
	}
	loads := 0
	var out bytes.Buffer
	require.NoError(t, notebook.IPYNB{
		Cells: []notebook.Cell{{ID: "a", Type: notebook.CodeCell}}, Executions: executions, MaxLoadedBytes: 2 << 20,
		LoadEntry: func(seq int64) ([]byte, error) { loads++; return frames[seq], nil },
	}.Write(&out))
	require.Equal(t, 2, loads, "the second begins below the limit")
	require.Equal(t, 2, strings.Count(out.String(), strings.Repeat("QUJD", 1<<18)))
	require.Equal(t, 8, strings.Count(out.String(), "of the trace has it; this file has large outputs enough"))
	validateWithNbformat(t, out.String())
}

// A title or a source that looks like the empty list of outputs is kept.
func TestIPYNBWithTextLikeOutputs(t *testing.T) {
	t.Parallel()
	cells := []notebook.Cell{{ID: "a", Type: notebook.CodeCell, Title: `"outputs": []`, Source: "{\"outputs\": []}\n   \"outputs\": []"}}
	text := writeIPYNBText(t, cells, nil, nil)
	var file notebookFile
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	require.Equal(t, 3, strings.Count(text, `outputs\": []`))
}

// A deeply nested JSON value, as code in a kernel can send, is not indented: it would take hundreds of times its size.
func TestIPYNBDoesNotIndentDeepOutputs(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 250) + strings.TrimSuffix(strings.Repeat("0,", 4_000), ",") + strings.Repeat("]", 250)
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	applyFrameAt(t, executions, 1, newDisplayFrame(t, map[string]any{"application/json": json.RawMessage(deep)}, ""))
	text := writeIPYNBText(t, []notebook.Cell{{ID: "a", Type: notebook.CodeCell}}, executions, nil)
	require.True(t, json.Valid([]byte(text)))
	require.Less(t, len(text), len(deep)+2000)
}

// A text of very many lines is not a list of them: each would take a dozen bytes more.
func TestIPYNBHasManyLinesInOneString(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("\n", 20_000)
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	applyFrameAt(t, executions, 1, newDisplayFrame(t, map[string]any{"text/html": lines}, ""))
	text := writeIPYNBText(t, []notebook.Cell{{ID: "a", Type: notebook.CodeCell}}, executions, nil)
	require.Less(t, len(text), 3*len(lines))
	validateWithNbformat(t, text)
}
