package notebook_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// applyFrame applies a kernel frame as entry 1 of a trace, and fails the test if that fails.
func applyFrame(t require.TestingT, executions *notebook.Executions, frame string) {
	applyFrameAt(t, executions, 1, frame)
}

// applyFrameAt applies a kernel frame as entry seq of a trace, and fails the test if that
// fails.
func applyFrameAt(t require.TestingT, executions *notebook.Executions, seq int64, frame string) {
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(frame))
	require.NoError(t, err)
	require.NoError(t, executions.ApplyFrame(seq, env, []byte(frame)))
}

// applyOutputWithoutDecoding applies a cell_output frame about cell a without decoding its envelope,
// which takes long for a large frame.
func applyOutputWithoutDecoding(t require.TestingT, executions *notebook.Executions, frame string) {
	require.NoError(t, executions.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeCellOutput, CellID: "a"}, []byte(frame)))
}

// applyStreamText applies a kernel_stdio frame with text that cell a printed.
func applyStreamText(t require.TestingT, executions *notebook.Executions, stream, text string) {
	applyFrame(t, executions, string(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: "a", Text: []byte(text)})))
}

// newDisplayFrame returns a cell_output frame with a display_data of cell a.
func newDisplayFrame(t require.TestingT, data map[string]any, displayID string) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(map[string]any{"type": "cell_output", "cell_id": "a", "output": map[string]any{
		"output_type": "display_data", "data": data, "metadata": map[string]any{}, "transient": map[string]any{"display_id": displayID},
	}}))
	return text.String()
}

// decodedOutput is a decoded nbformat output of a cell.
type decodedOutput struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"`
	Text      string                     `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Traceback []string                   `json:"traceback"`
	EValue    string                     `json:"evalue"`
}

// decodeOutputs decodes a list of nbformat outputs from JSON.
func decodeOutputs(t require.TestingT, list []json.RawMessage) []decodedOutput {
	out := make([]decodedOutput, len(list))
	for i, text := range list {
		require.NoError(t, json.Unmarshal(text, &out[i]))
	}
	return out
}

func TestKeptTextDoesNotDependOnPortions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(4<<10, 80<<10).Draw(t, "limit")
		text := strings.Repeat(rapid.StringN(1, 40, 90).Draw(t, "line"), rapid.IntRange(1, 4000).Draw(t, "times"))
		kept := printAndReturnKeptText(t, limit, text, len(text))
		parts := printAndReturnKeptText(t, limit, text, rapid.IntRange(utf8.UTFMax, 8<<10).Draw(t, "portion"))
		require.Equal(t, kept, parts)
		require.True(t, utf8.ValidString(kept))
		if len(text) < limit/2-(pieceOverheadBytes+pieceOverheadBytes*len(text)/maxPieceBytes) {
			require.Equal(t, text, kept)
			return
		}
		head, rest, cut := strings.Cut(kept, "\n[... ")
		if !cut {
			require.Equal(t, text, kept)
			return
		}
		number, tail, ok := strings.Cut(rest, " bytes left out ...]\n")
		require.True(t, ok)
		require.True(t, strings.HasPrefix(text, head))
		require.True(t, strings.HasSuffix(text, tail))
		require.Equal(t, fmt.Sprint(len(text)-len(head)-len(tail)), number)
		require.LessOrEqual(t, len(head), limit/2)
		require.LessOrEqual(t, len(tail), limit/2)
		require.Greater(t, len(head)+len(tail), limit-4*pieceOverheadBytes-2*utf8.UTFMax-limit/maxPieceBytes*pieceOverheadBytes)
	})
}

// What an outputBuffer counts for each piece of text, and the size of a piece.
const (
	pieceOverheadBytes = 128
	maxPieceBytes      = 32 << 10
)

// printAndReturnKeptText prints text in portions of the given number of bytes and returns what the
// executions keep of it.
func printAndReturnKeptText(t require.TestingT, limit int, text string, portion int) string {
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: limit})
	for len(text) > 0 {
		n := min(portion, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		applyStreamText(t, executions, protocol.Stdout, text[:n])
		text = text[n:]
	}
	list := decodeOutputs(t, executions.Snapshot().Outputs["a"])
	if len(list) == 0 {
		return ""
	}
	require.Len(t, list, 1)
	return list[0].Text
}

//nolint:paralleltest // it reads the heap of the whole process
func TestTextOfOneCellIsBounded(t *testing.T) {
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	frame := protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "a", Text: []byte(strings.Repeat("all work and no play\n", 3121))})
	env := protocol.Envelope{Type: protocol.TypeKernelStdio, CellID: "a"}
	before := heapBytes()
	printed := 0
	for ; printed < 100<<20; printed += len(frame) - len("a") - 4 {
		require.NoError(t, executions.ApplyFrame(1, env, frame))
	}
	require.Less(t, heapBytes()-before, int64(4<<20))
	text := decodeOutputs(t, executions.Snapshot().Outputs["a"])[0].Text
	require.Less(t, len(text), 1<<20+100)
	require.Greater(t, len(text), 1<<20-16<<10)
	_, rest, _ := strings.Cut(text, "\n[... ")
	number, _, _ := strings.Cut(rest, " ")
	require.InDelta(t, printed-len(text), parseInteger(t, number), 100)
}

// heapBytes returns the size of the Go heap in bytes after a garbage collection.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func parseInteger(t require.TestingT, text string) int {
	var n int
	require.NoError(t, json.Unmarshal([]byte(text), &n))
	return n
}

func TestOutputsStayInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 16 << 10})
		count := rapid.IntRange(1, 60).Draw(t, "count")
		for i := range count {
			mark := fmt.Sprintf("<%d>", i)
			text := mark + strings.Repeat("x", rapid.SampledFrom([]int{0, 100, 3 << 10, 5 << 10, 20 << 10}).Draw(t, "size"))
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				applyStreamText(t, executions, protocol.Stdout, text+mark)
			case 1:
				applyStreamText(t, executions, protocol.Stderr, text+mark)
			default:
				applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/html": text, "text/plain": mark}, ""))
			}
		}
		var marks []int
		for _, m := range regexp.MustCompile(`<(\d+)>`).FindAllStringSubmatch(compactJSONOf(t, executions.Snapshot().Outputs["a"]), -1) {
			marks = append(marks, parseInteger(t, m[1]))
		}
		require.True(t, slices.IsSorted(marks), "%v", marks)
		require.Equal(t, 0, marks[0])
		require.Equal(t, count-1, marks[len(marks)-1])
	})
}

func TestGrownDisplaysBecomeReferences(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 64 << 10})
	for range 40 {
		applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": "small"}, "id"))
	}
	grown := newDisplayFrame(t, map[string]any{"text/plain": strings.Repeat("y", 6<<10)}, "id")
	applyOutputWithoutDecoding(t, executions, strings.Replace(grown, "display_data", "update_display_data", 1))
	list := executions.Snapshot().Outputs["a"]
	require.Len(t, list, 40)
	fullDisplays := 0
	for _, o := range decodeOutputs(t, list) {
		if len(o.Data["text/plain"]) > 6<<10 {
			fullDisplays++
		}
	}
	require.InDelta(t, 4, fullDisplays, 1) // as many as fit into half of the limit
}

func TestClearedOutputsMakeRoom(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 64 << 10})
	text := strings.Repeat("x", 40<<10)
	for range 3 {
		applyFrame(t, executions, `{"type":"cell_output","cell_id":"a","output":{"output_type":"clear_output"}}`)
		applyStreamText(t, executions, protocol.Stdout, text)
		require.Equal(t, text, decodeOutputs(t, executions.Snapshot().Outputs["a"])[0].Text)
	}
}

func TestFramesAreNotRetained(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for _, frame := range []string{
		`{"type":"start_cell","cell_id":"a","run_sequencer":1}`,
		`{"type":"kernel_stdio","active_cell":"a","stream":"stdout","data":"text"}`,
		string(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stderr, CellID: "a", Text: []byte("raw text")})),
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"execute_result","data":{"text/plain":"value"},"metadata":{"m":"data"},"execution_count":12,"transient":{"display_id":"d"}}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"name","evalue":"value","traceback":["line"]}}`,
		`{"type":"cell_widgets","cell_id":"a","widget_state":{"key":{"type":"slider"}}}`,
		`{"type":"run_queue","queue":["b","c"]}`,
	} {
		body := []byte(frame)
		env, err := protocol.NewEnvelopeDecoder().Decode(body)
		require.NoError(t, err)
		require.NoError(t, executions.ApplyFrame(1, env, body))
		before := compactJSONOf(t, executions.Snapshot())
		for i := range body {
			body[i] = '#'
		}
		require.Equal(t, before, compactJSONOf(t, executions.Snapshot()))
	}
}

func TestLargeImageIsKeptAsReference(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	image := strings.Repeat("QUJD", 1<<20) // 3 MiB
	applyStreamText(t, executions, protocol.Stdout, "before\n")
	applyFrameAt(t, executions, 17, newDisplayFrame(t, map[string]any{"image/png": image, "text/plain": "<Figure>"}, ""))
	applyStreamText(t, executions, protocol.Stdout, "after\n")
	list := decodeOutputs(t, executions.Snapshot().Outputs["a"])
	require.Len(t, list, 3)
	require.Equal(t, []string{"before\n", "after\n"}, []string{list[0].Text, list[2].Text})
	require.Equal(t, map[string]json.RawMessage{
		"text/plain": json.RawMessage(`"<Figure>\n[image/png, 3145728 bytes: in the trace, entry 17]"`),
	}, list[1].Data)
}

func TestSmallImageBesideMuchTextIsKept(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	text := strings.Repeat("line\n", 1<<20)
	image := map[string]any{"image/png": strings.Repeat("QUJD", 20<<10)}
	applyStreamText(t, executions, protocol.Stdout, text)
	applyFrameAt(t, executions, 2, newDisplayFrame(t, image, ""))
	applyStreamText(t, executions, protocol.Stderr, "x")
	applyFrameAt(t, executions, 3, newDisplayFrame(t, image, ""))
	list := decodeOutputs(t, executions.Snapshot().Outputs["a"])
	require.Len(t, list, 4)
	require.Contains(t, list[0].Text, "bytes left out")
	require.Len(t, list[1].Data["image/png"], 80<<10+2)
	require.Len(t, list[3].Data["image/png"], 80<<10+2)

	// More text pushes the images out of the tail; a reference to each stays.
	applyStreamText(t, executions, protocol.Stdout, text)
	list = decodeOutputs(t, executions.Snapshot().Outputs["a"])
	require.Len(t, list, 5)
	require.Contains(t, string(list[1].Data["text/plain"]), "in the trace, entry 2]")
	require.Equal(t, "stream", list[2].Type)
	require.Contains(t, list[2].Text, "1 bytes left out")
	require.Contains(t, string(list[3].Data["text/plain"]), "in the trace, entry 3]")
	require.Contains(t, list[4].Text, "bytes left out")
}

func TestWidgetsAreBounded(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 4 << 10})
	states := map[string]any{}
	for i := range 100 {
		states[fmt.Sprintf("w%02d", i)] = map[string]any{"type": "text", "value": strings.Repeat("v", 80)}
	}
	frame, err := json.Marshal(map[string]any{"type": "cell_widgets", "cell_id": "a", "widget_state": states})
	require.NoError(t, err)
	err = executions.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeCellWidgets, CellID: "a"}, frame)
	require.ErrorContains(t, err, "of 100 widgets are not kept")
	require.NotEmpty(t, executions.Snapshot().Widgets["a"])
	require.Less(t, len(executions.Snapshot().Widgets["a"]), 50)
}

func TestSnapshotOfManyFullCellsFitsIntoAFrame(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	line := strings.Repeat("x", 63) + "\n"
	for i := range 20 {
		cell := fmt.Sprintf("cell-%d", i)
		applyFrame(t, executions, string(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: cell, Text: []byte(strings.Repeat(line, 16<<10))})))
	}
	size := 0
	for _, list := range executions.Snapshot().Outputs {
		require.Len(t, list, 1)
		require.Contains(t, string(list[0]), "bytes left out")
		size += len(list[0])
	}
	require.Less(t, size, protocol.DefaultMaxFrameBytes/2)
	require.Greater(t, size, protocol.DefaultMaxFrameBytes/8)
}

func TestMalformedFramesAreErrors(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for frame, says := range map[string]string{
		"\x00\x07\x00\x00":              "kernel_stdio frame: malformed message: raw frame for stream 7",
		"[1,2]":                         "kernel_stdio frame: expected an object, found [1,2]",
		`"` + repeatText("x", 99) + `"`: `kernel_stdio frame: expected an object, found "` + repeatText("x", 59) + "...",
		"[" + repeatText("0", 99) + "]": "kernel_stdio frame: expected an object, found an array",
		`{"stream":"stdout","data":` + "{" + repeatText(" ", 99) + "}}": "kernel_stdio frame: data: expected a string, found an object",
		`{"stream":`:            "kernel_stdio frame: ",
		`{"stream" "stdout"}`:   "kernel_stdio frame: ",
		`{"stream":"stdout"`:    "kernel_stdio frame: ",
		`{"stream":"stdout",]}`: "kernel_stdio frame: ",
	} {
		err := executions.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeKernelStdio}, []byte(frame))
		require.ErrorContains(t, err, says, frame)
	}
}

func repeatText(text string, times int) string { return strings.Repeat(text, times) }

func TestTextOutputOfCell(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	require.Empty(t, executions.TextOutput("a"))
	start := func(n string) {
		executions.MarkRunSent("a")
		applyFrame(t, executions, `{"type":"start_cell","cell_id":"a","run_sequencer":`+n+`}`)
	}
	start("1")
	applyStreamText(t, executions, protocol.Stdout, "of the run before\n")
	start("2")
	applyStreamText(t, executions, protocol.Stdout, "one ")
	applyStreamText(t, executions, protocol.Stderr, "two\n")
	applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": "<Figure>", "image/png": "aGk="}, ""))
	applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"image/png": "aGk="}, ""))
	applyFrame(t, executions, `{"type":"cell_output","cell_id":"a","run_sequencer":2,"output":{"output_type":"error","ename":"E","evalue":"v","traceback":["Traceback","E: v"]}}`)
	require.Equal(t, "one two\n<Figure>\nTraceback\nE: v\n", executions.TextOutput("a"))

	start("3")
	applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": strings.Repeat("x", 600<<10)}, ""))
	applyStreamText(t, executions, protocol.Stdout, strings.Repeat("y", 2<<20))
	text := executions.TextOutput("a")
	require.True(t, strings.HasPrefix(text, "[text/plain, 614400 bytes]\n"), text[:60])
	require.Contains(t, text, "bytes left out")
	executions.MarkCellDisposed("a")
	require.Empty(t, executions.TextOutput("a"))
}
