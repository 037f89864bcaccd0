package notebook_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// kernelMessageOfResult has the fields of a kernel_message about a cell_result that tests look at.
type kernelMessageOfResult struct {
	Logs    string            `json:"logs"`
	Outputs []json.RawMessage `json:"cell_outputs"`
}

// endRunOfCellA applies a cell_result of cell a and returns the kernel_message about it.
func endRunOfCellA(t *testing.T, executions *notebook.Executions) kernelMessageOfResult {
	t.Helper()
	const result = `{"type":"cell_result","cell_id":"a","run_sequencer":1,"status":"ok"}`
	applyFrame(t, executions, result)
	return newKernelMessageOfResult(t, executions, result)
}

// newKernelMessageOfResult returns the kernel_message about a cell_result of cell a that was applied
// before.
func newKernelMessageOfResult(t *testing.T, executions *notebook.Executions, result string) kernelMessageOfResult {
	t.Helper()
	text, ok := executions.KernelMessage(protocol.Envelope{Type: protocol.TypeCellResult, CellID: "a"}, []byte(result))
	require.True(t, ok)
	var m kernelMessageOfResult
	require.NoError(t, json.Unmarshal(text, &m))
	return m
}

// startedExecutions returns an Executions in which cell a is running.
func startedExecutions(t *testing.T) *notebook.Executions {
	t.Helper()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	applyFrame(t, executions, `{"type":"start_cell","cell_id":"a","run_sequencer":1}`)
	return executions
}

func TestKernelMessageCutsLogs(t *testing.T) {
	t.Parallel()
	executions := startedExecutions(t)
	line := strings.Repeat("o", 99) + "\n"
	applyStreamText(t, executions, protocol.Stdout, "first\n")
	for range 500 {
		applyStreamText(t, executions, protocol.Stdout, line)
		applyStreamText(t, executions, protocol.Stderr, line)
	}
	applyStreamText(t, executions, protocol.Stderr, "last\n")
	logs := endRunOfCellA(t, executions).Logs
	require.True(t, strings.HasPrefix(logs, "first\n"))
	require.True(t, strings.HasSuffix(logs, "last\n"))
	head, rest, cut := strings.Cut(logs, "\n[... ")
	require.True(t, cut)
	number, tail, _ := strings.Cut(rest, " bytes left out ...]\n")
	require.Equal(t, len("first\nlast\n")+1000*len(line), len(head)+len(tail)+parseInteger(t, number))
	require.LessOrEqual(t, len(head)+len(tail), 16<<10)
	require.Greater(t, len(head)+len(tail), 15<<10)
}

func TestKernelMessageHasImagesUpTo4MiB(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	executions := startedExecutions(t)
	for _, c := range []struct {
		mime string
		size int
	}{{"image/png", 30}, {"image/png", 4<<20 - 1}, {"image/png", 4<<20 + 2}, {"application/octet-stream", 1 << 20}, {"text/html", 60 << 10}} {
		applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{c.mime: strings.Repeat("QUJD", c.size/3)}, ""))
	}
	list := decodeOutputs(t, endRunOfCellA(t, executions).Outputs)
	require.Len(t, list, 5)
	require.Len(t, list[0].Data["image/png"], 42)
	require.Len(t, list[1].Data["image/png"], (4<<20-1)/3*4+2)
	require.JSONEq(t, `{"mime":"image/png","bytes":4194306}`, string(list[2].Data["image/png"]))
	require.Len(t, list[3].Data["application/octet-stream"], (1<<20)/3*4+2)
	require.Contains(t, string(list[4].Data["text/html"]), `[... 65536 bytes left out ...]`)
	require.Less(t, len(list[4].Data["text/html"]), 16<<10+100)

	// Large values are dropped when the next run starts.
	applyFrame(t, executions, `{"type":"start_cell","cell_id":"b","run_sequencer":2}`)
	list = decodeOutputs(t, newKernelMessageOfResult(t, executions, `{}`).Outputs)
	require.Len(t, list[0].Data["image/png"], 42)
	require.JSONEq(t, `{"mime":"image/png","bytes":4194303}`, string(list[1].Data["image/png"]))
}

func TestRetainedValuesAreBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: make nightly runs it")
	}
	executions := startedExecutions(t)
	image := strings.Repeat("QUJD", 1<<20)
	for range 5 { // 20 MiB of base64, of which 16 are kept
		applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"image/png": image}, ""))
	}
	text, ok := executions.KernelMessage(protocol.Envelope{Type: protocol.TypeCellResult, CellID: "a"}, []byte(`{}`))
	require.True(t, ok)
	require.Equal(t, 3, strings.Count(string(text), image))
	require.Equal(t, 2, strings.Count(string(text), `{"mime":"image/png","bytes":3145728}`))
}

func TestUpdatedLargeDisplayIsKeptOnce(t *testing.T) {
	t.Parallel()
	executions := startedExecutions(t)
	image := newDisplayFrame(t, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18)}, "plot")
	applyOutputWithoutDecoding(t, executions, image)
	update := strings.Replace(image, "display_data", "update_display_data", 1)
	for range 20 {
		applyOutputWithoutDecoding(t, executions, update)
	}
	list := decodeOutputs(t, endRunOfCellA(t, executions).Outputs)
	require.Len(t, list, 1)
	require.Len(t, list[0].Data["image/png"], 1<<20+2)
}

func TestRetainedUpdateFromAnotherCellIsReleased(t *testing.T) {
	t.Parallel()
	executions := startedExecutions(t)
	applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": "0 %"}, "plot"))
	applyFrame(t, executions, `{"type":"start_cell","cell_id":"b","run_sequencer":2}`)
	image := newDisplayFrame(t, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18)}, "plot")
	image = strings.Replace(image, "display_data", "update_display_data", 1)
	env := protocol.Envelope{Type: protocol.TypeCellOutput, CellID: "b"}
	require.NoError(t, executions.ApplyFrame(3, env, []byte(strings.Replace(image, `"cell_id":"a"`, `"cell_id":"b"`, 1))))
	list := decodeOutputs(t, newKernelMessageOfResult(t, executions, `{}`).Outputs)
	require.JSONEq(t, `{"mime":"image/png","bytes":786432}`, string(list[0].Data["image/png"]))
}

func TestContextLeavesOutLongWidgetValues(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	doc := notebook.NewDocument(notebook.DocumentConfig{Executions: executions, NewCellID: func() string { return "a" }})
	peer := serveDocument(t, doc)
	peer.sendAction("create_cell", map[string]any{"position": 0, "cell_type": "code", "source": ""})
	value := strings.Repeat("v", 4<<10-2)
	applyFrame(t, executions, `{"type":"cell_widgets","cell_id":"a","widget_state":{"w":{"type":"text","value":"`+value+`"},"x":{"type":"text","value":"`+value+`v"}}}`)
	context := string(peer.sendAction("get_context", nil).Context)
	require.Contains(t, context, `"widgets":[{"key":"a/w","type":"text","value":"`+value+`"},{"key":"a/x","type":"text"}]`)
}

func TestOutputsInContextAreCutByMIMEType(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcdef", 1<<11) // 32 KiB
	for name, c := range map[string]struct {
		mime  string
		value any
		want  string // the value; or a part of it
	}{
		"text":             {"text/plain", long, `16384 bytes left out`},
		"text by lines":    {"text/plain", []string{long[:1<<14], long[1<<14:]}, `bytes left out`},
		"short text":       {"text/plain", "<&>", `"<&>"`},
		"json":             {"application/json", map[string]any{"a": 1}, `{"a":1}`},
		"long json":        {"application/json", []string{long}, `{"mime":"application/json","bytes":32772}`},
		"plotly":           {"application/vnd.plotly.v1+json", map[string]any{"data": long}, `"bytes":`},
		"svg":              {"image/svg+xml", long, long},
		"pdf":              {"application/pdf", "QUJDRA==", `"QUJDRA=="`},
		"text, unknown":    {"application/x-tex", long + " ", `bytes left out`},
		"base64, unknown":  {"application/x-thing", long, long},
		"object for text":  {"text/plain", map[string]any{"a": long}, `"bytes":`},
		"number for text":  {"text/plain", 42, `42`},
		"escaped newlines": {"image/jpeg", "QUJD\nRA==\n", `"QUJD\nRA==\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executions := startedExecutions(t)
			applyFrame(t, executions, newDisplayFrame(t, map[string]any{c.mime: c.value}, ""))
			value := string(decodeOutputs(t, endRunOfCellA(t, executions).Outputs)[0].Data[c.mime])
			require.Contains(t, value, c.want)
		})
	}
}

func TestBinarySizesInContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mime, value, want string
	}{
		"padded":        {"image/png", "QUJDRA==", `{"mime":"image/png","bytes":4}`},
		"with newlines": {"image/png", "QUJD\nRA==\n", `{"mime":"image/png","bytes":4}`},
		"svg":           {"image/svg+xml", "<svg/>", `{"mime":"image/svg+xml","bytes":6}`},
		"unknown type":  {"application/x-thing", strings.Repeat("QUJD", 30), `{"mime":"application/x-thing","bytes":90}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.JSONEq(t, c.want, valueShownInContext(t, c.mime, c.value))
		})
	}
	require.JSONEq(t, `"too short for base64"`, valueShownInContext(t, "application/x-thing", "too short for base64"))
}

// valueShownInContext returns what the answer to get_context has for a value that a cell has
// displayed.
func valueShownInContext(t *testing.T, mime, value string) string {
	t.Helper()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	doc := notebook.NewDocument(notebook.DocumentConfig{Executions: executions, NewCellID: func() string { return "a" }})
	peer := serveDocument(t, doc)
	peer.sendAction("create_cell", map[string]any{"position": 0, "cell_type": "code", "source": ""})
	applyFrame(t, executions, newDisplayFrame(t, map[string]any{mime: value}, ""))
	return string(decodeOutputs(t, outputsOfFirstContextCell(t, peer))[0].Data[mime])
}

func TestContextCutsTextsAndManyOutputs(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	doc := notebook.NewDocument(notebook.DocumentConfig{Executions: executions})
	place := 0
	for i := range 100 { // each cell's share of the context is 84 KB
		cell := notebook.Cell{ID: fmt.Sprint(i), Type: notebook.CodeCell}
		require.NoError(t, doc.ApplyEvent(notebook.Event{Kind: notebook.CellCreated, Position: &place, Cell: &cell}))
	}
	require.NoError(t, doc.ApplyEvent(notebook.Event{Kind: notebook.CellCreated, Position: &place, Cell: &notebook.Cell{ID: "a", Type: notebook.CodeCell}}))
	text := strings.Repeat("é", 3<<10)
	applyStreamText(t, executions, protocol.Stdout, text)
	applyFrame(t, executions, `{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"E","evalue":"`+text+`","traceback":["`+text+`","`+text+`"]}}`)
	for range 50 {
		applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": text}, ""))
	}
	list := decodeOutputs(t, outputsOfFirstContextCell(t, serveDocument(t, doc)))
	cut := strings.Repeat("é", 1<<10) + "\n[... 2048 bytes left out ...]\n" + strings.Repeat("é", 1<<10)
	require.Equal(t, cut, list[0].Text)
	require.Equal(t, cut, list[1].EValue)
	require.Len(t, list[1].Traceback, 1)
	require.Contains(t, list[1].Traceback[0], "bytes left out")
	note := slices.IndexFunc(list, func(o decodedOutput) bool { return strings.Contains(o.Text, "outputs left out") })
	require.Equal(t, fmt.Sprintf("\n[... %d outputs left out ...]\n", 52-len(list)+1), list[note].Text)
	require.InDelta(t, 20, len(list), 3)
}

// outputsOfFirstContextCell returns the outputs of the first cell in the document's answer to get_context.
func outputsOfFirstContextCell(t *testing.T, peer *testPeer) []json.RawMessage {
	t.Helper()
	var context struct {
		Cells []struct {
			Outputs []json.RawMessage `json:"outputs"`
		} `json:"cells"`
	}
	require.NoError(t, json.Unmarshal(peer.sendAction("get_context", nil).Context, &context))
	return context.Cells[0].Outputs
}

func TestKernelMessageOfOtherFrames(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for _, kind := range []string{protocol.TypeKernelStdio, protocol.TypeCellOutput, protocol.TypeRunQueue, "anything"} {
		_, ok := executions.KernelMessage(protocol.Envelope{Type: kind}, []byte(`{}`))
		require.False(t, ok, kind)
	}
	_, ok := executions.KernelMessage(protocol.Envelope{Type: protocol.TypeCellResult}, []byte(`{"cut`))
	require.False(t, ok)
}

// A cell_result that code in a cell has sent has the protocol's types when the agent gets it.
func TestKernelMessageConforms(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]string{
		`{}`: `{"status":"ok","has_exception":false,"run_sequencer":0}`,
		`{"run_sequencer":[1],"status":7,"has_exception":"no","exception":["x"],"outputs":{},"figure_outputs":null,"duration_ms":"1"}`: `{"status":"error","has_exception":true,"run_sequencer":0,"exception":"x","outputs":[],"figure_outputs":[],"duration_ms":0}`,
		`{"run_sequencer":2,"status":"error","has_exception":true,"exception":"x","outputs":["a"],"duration_ms":1.5}`:                  `{"run_sequencer":2,"status":"error","has_exception":true,"exception":"x","outputs":["a"],"duration_ms":1.5}`,
		`{"status":"well","exception":null}`: `{"status":"error","has_exception":true,"run_sequencer":0,"exception":null}`,
	} {
		executions := startedExecutions(t)
		text, ok := executions.KernelMessage(protocol.Envelope{Type: protocol.TypeCellResult, CellID: "a"}, []byte(frame))
		require.True(t, ok)
		var got map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &got))
		for _, added := range []string{"logs", "display_name", "cell_outputs"} {
			delete(got, added)
		}
		kept, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, want, string(kept), frame)
	}
}

func TestKernelMessageOfStartHasRunSequencer(t *testing.T) {
	t.Parallel()
	executions := startedExecutions(t)
	for frame, want := range map[string]string{
		`{"type":"start_cell","cell_id":"a"}`:                   `{"type":"start_cell","cell_id":"a","run_sequencer":0}`,
		`{"type":"start_cell","cell_id":"a","run_sequencer":7}`: `{"type":"start_cell","cell_id":"a","run_sequencer":7}`,
	} {
		text, ok := executions.KernelMessage(protocol.Envelope{Type: protocol.TypeStartCell, CellID: "a"}, []byte(frame))
		require.True(t, ok)
		require.JSONEq(t, want, string(text))
	}
}
