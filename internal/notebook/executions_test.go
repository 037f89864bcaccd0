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

// apply applies a frame as entry 1 of a trace.
func apply(t require.TestingT, runs *notebook.Executions, frame string) { applyAt(t, runs, 1, frame) }

func applyAt(t require.TestingT, runs *notebook.Executions, seq int64, frame string) {
	env, err := protocol.NewEnvelopeDecoder().Decode([]byte(frame))
	require.NoError(t, err)
	require.NoError(t, runs.ApplyFrame(seq, env, []byte(frame)))
}

// show applies a frame of display; large ones are not read for their envelope.
func show(t require.TestingT, runs *notebook.Executions, frame string) {
	require.NoError(t, runs.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeCellOutput, CellID: "a"}, []byte(frame)))
}

func write(t require.TestingT, runs *notebook.Executions, stream, text string) {
	apply(t, runs, string(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: "a", Text: []byte(text)})))
}

// display returns the frame of a display_data in cell a.
func display(t require.TestingT, data map[string]any, displayID string) string {
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(map[string]any{"type": "cell_output", "cell_id": "a", "output": map[string]any{
		"output_type": "display_data", "data": data, "metadata": map[string]any{}, "transient": map[string]any{"display_id": displayID},
	}}))
	return text.String()
}

// output is an nbformat output as a console reads it.
type output struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"`
	Text      string                     `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Traceback []string                   `json:"traceback"`
	EValue    string                     `json:"evalue"`
}

func outputs(t require.TestingT, list []json.RawMessage) []output {
	out := make([]output, len(list))
	for i, text := range list {
		require.NoError(t, json.Unmarshal(text, &out[i]))
	}
	return out
}

func TestTextIsKeptHeadAndTailWhateverItsPortions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(4<<10, 80<<10).Draw(t, "limit")
		text := strings.Repeat(rapid.StringN(1, 40, 90).Draw(t, "line"), rapid.IntRange(1, 4000).Draw(t, "times"))
		whole := printed(t, limit, text, len(text))
		parts := printed(t, limit, text, rapid.IntRange(utf8.UTFMax, 8<<10).Draw(t, "portion"))
		require.Equal(t, whole, parts)
		require.True(t, utf8.ValidString(whole))
		if len(text) < limit/2-(pieceOverheadBytes+pieceOverheadBytes*len(text)/maxPieceBytes) {
			require.Equal(t, text, whole)
			return
		}
		head, rest, cut := strings.Cut(whole, "\n[... ")
		if !cut {
			require.Equal(t, text, whole)
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

// What a tape counts for each piece of text, and the size of a piece.
const (
	pieceOverheadBytes = 128
	maxPieceBytes      = 32 << 10
)

// printed returns text as it is kept when it was printed in portions.
func printed(t require.TestingT, limit int, text string, portion int) string {
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: limit})
	for len(text) > 0 {
		n := min(portion, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		write(t, runs, protocol.Stdout, text[:n])
		text = text[n:]
	}
	list := outputs(t, runs.Snapshot().Outputs["a"])
	if len(list) == 0 {
		return ""
	}
	require.Len(t, list, 1)
	return list[0].Text
}

//nolint:paralleltest // it reads the heap of the whole process
func TestHundredMegabytesOfOneCellStaySmall(t *testing.T) {
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	frame := protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "a", Text: []byte(strings.Repeat("all work and no play\n", 3121))})
	env := protocol.Envelope{Type: protocol.TypeKernelStdio, CellID: "a"}
	before := heap()
	printed := 0
	for ; printed < 100<<20; printed += len(frame) - len("a") - 4 {
		require.NoError(t, runs.ApplyFrame(1, env, frame))
	}
	require.Less(t, heap()-before, int64(4<<20))
	text := outputs(t, runs.Snapshot().Outputs["a"])[0].Text
	require.Less(t, len(text), 1<<20+100)
	require.Greater(t, len(text), 1<<20-16<<10)
	_, rest, _ := strings.Cut(text, "\n[... ")
	number, _, _ := strings.Cut(rest, " ")
	require.InDelta(t, printed-len(text), atoi(t, number), 100)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func atoi(t require.TestingT, text string) int {
	var n int
	require.NoError(t, json.Unmarshal([]byte(text), &n))
	return n
}

func TestOutputsStayInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runs := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 16 << 10})
		count := rapid.IntRange(1, 60).Draw(t, "count")
		for i := range count {
			mark := fmt.Sprintf("<%d>", i)
			text := mark + strings.Repeat("x", rapid.SampledFrom([]int{0, 100, 3 << 10, 5 << 10, 20 << 10}).Draw(t, "size"))
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				write(t, runs, protocol.Stdout, text+mark)
			case 1:
				write(t, runs, protocol.Stderr, text+mark)
			default:
				show(t, runs, display(t, map[string]any{"text/html": text, "text/plain": mark}, ""))
			}
		}
		var marks []int
		for _, m := range regexp.MustCompile(`<(\d+)>`).FindAllStringSubmatch(jsonOf(t, runs.Snapshot().Outputs["a"]), -1) {
			marks = append(marks, atoi(t, m[1]))
		}
		require.True(t, slices.IsSorted(marks), "%v", marks)
		require.Equal(t, 0, marks[0])
		require.Equal(t, count-1, marks[len(marks)-1])
	})
}

func TestDisplaysThatGrowGiveWay(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 64 << 10})
	for range 40 {
		show(t, runs, display(t, map[string]any{"text/plain": "small"}, "id"))
	}
	grown := display(t, map[string]any{"text/plain": strings.Repeat("y", 6<<10)}, "id")
	show(t, runs, strings.Replace(grown, "display_data", "update_display_data", 1))
	list := runs.Snapshot().Outputs["a"]
	require.Len(t, list, 40)
	whole := 0
	for _, o := range outputs(t, list) {
		if len(o.Data["text/plain"]) > 6<<10 {
			whole++
		}
	}
	require.InDelta(t, 4, whole, 1) // as many as half of the limit has room for
}

func TestClearedOutputsMakeRoom(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 64 << 10})
	text := strings.Repeat("x", 40<<10)
	for range 3 {
		apply(t, runs, `{"type":"cell_output","cell_id":"a","output":{"output_type":"clear_output"}}`)
		write(t, runs, protocol.Stdout, text)
		require.Equal(t, text, outputs(t, runs.Snapshot().Outputs["a"])[0].Text)
	}
}

func TestNothingIsKeptOfAFrame(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
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
		require.NoError(t, runs.ApplyFrame(1, env, body))
		before := jsonOf(t, runs.Snapshot())
		for i := range body {
			body[i] = '#'
		}
		require.Equal(t, before, jsonOf(t, runs.Snapshot()))
	}
}

func TestLargeImageIsKeptAsReference(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	image := strings.Repeat("QUJD", 1<<20) // 3 MiB
	write(t, runs, protocol.Stdout, "before\n")
	applyAt(t, runs, 17, display(t, map[string]any{"image/png": image, "text/plain": "<Figure>"}, ""))
	write(t, runs, protocol.Stdout, "after\n")
	list := outputs(t, runs.Snapshot().Outputs["a"])
	require.Len(t, list, 3)
	require.Equal(t, []string{"before\n", "after\n"}, []string{list[0].Text, list[2].Text})
	require.Equal(t, map[string]json.RawMessage{
		"text/plain": json.RawMessage(`"<Figure>\n[image/png, 3145728 bytes: in the trace, entry 17]"`),
	}, list[1].Data)
}

func TestSmallImageBesideMuchTextIsKept(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	text := strings.Repeat("line\n", 1<<20)
	image := map[string]any{"image/png": strings.Repeat("QUJD", 20<<10)}
	write(t, runs, protocol.Stdout, text)
	applyAt(t, runs, 2, display(t, image, ""))
	write(t, runs, protocol.Stderr, "x")
	applyAt(t, runs, 3, display(t, image, ""))
	list := outputs(t, runs.Snapshot().Outputs["a"])
	require.Len(t, list, 4)
	require.Contains(t, list[0].Text, "bytes left out")
	require.Len(t, list[1].Data["image/png"], 80<<10+2)
	require.Len(t, list[3].Data["image/png"], 80<<10+2)

	// More text pushes the images out of the tail; a reference to each stays.
	write(t, runs, protocol.Stdout, text)
	list = outputs(t, runs.Snapshot().Outputs["a"])
	require.Len(t, list, 5)
	require.Contains(t, string(list[1].Data["text/plain"]), "in the trace, entry 2]")
	require.Equal(t, "stream", list[2].Type)
	require.Contains(t, list[2].Text, "1 bytes left out")
	require.Contains(t, string(list[3].Data["text/plain"]), "in the trace, entry 3]")
	require.Contains(t, list[4].Text, "bytes left out")
}

func TestWidgetsHaveALimit(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: 4 << 10})
	states := map[string]any{}
	for i := range 100 {
		states[fmt.Sprintf("w%02d", i)] = map[string]any{"type": "text", "value": strings.Repeat("v", 80)}
	}
	frame, err := json.Marshal(map[string]any{"type": "cell_widgets", "cell_id": "a", "widget_state": states})
	require.NoError(t, err)
	err = runs.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeCellWidgets, CellID: "a"}, frame)
	require.ErrorContains(t, err, "of 100 widgets are not kept")
	require.NotEmpty(t, runs.Snapshot().Widgets["a"])
	require.Less(t, len(runs.Snapshot().Widgets["a"]), 50)
}

func TestSnapshotOfManyFullCellsFitsIntoAFrame(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	line := strings.Repeat("x", 63) + "\n"
	for i := range 20 {
		cell := fmt.Sprintf("cell-%d", i)
		apply(t, runs, string(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: cell, Text: []byte(strings.Repeat(line, 16<<10))})))
	}
	size := 0
	for _, list := range runs.Snapshot().Outputs {
		require.Len(t, list, 1)
		require.Contains(t, string(list[0]), "bytes left out")
		size += len(list[0])
	}
	require.Less(t, size, protocol.DefaultMaxFrameBytes/2)
	require.Greater(t, size, protocol.DefaultMaxFrameBytes/8)
}

func TestMalformedFramesAreErrors(t *testing.T) {
	t.Parallel()
	runs := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for frame, says := range map[string]string{
		"\x00\x07\x00\x00":        "kernel_stdio frame: malformed message: raw frame for stream 7",
		"[1,2]":                   "kernel_stdio frame: expected an object, found [1,2]",
		`"` + long("x", 99) + `"`: `kernel_stdio frame: expected an object, found "` + long("x", 59) + "...",
		"[" + long("0", 99) + "]": "kernel_stdio frame: expected an object, found an array",
		`{"stream":"stdout","data":` + "{" + long(" ", 99) + "}}": "kernel_stdio frame: data: expected a string, found an object",
		`{"stream":`:            "kernel_stdio frame: ",
		`{"stream" "stdout"}`:   "kernel_stdio frame: ",
		`{"stream":"stdout"`:    "kernel_stdio frame: ",
		`{"stream":"stdout",]}`: "kernel_stdio frame: ",
	} {
		err := runs.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeKernelStdio}, []byte(frame))
		require.ErrorContains(t, err, says, frame)
	}
}

func long(text string, times int) string { return strings.Repeat(text, times) }
