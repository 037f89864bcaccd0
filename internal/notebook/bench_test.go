package notebook_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// newHundredCellDocument returns a document of 100 code cells that have run, each with text, an
// image and a result as outputs.
func newHundredCellDocument(b *testing.B) (*notebook.Document, *notebook.Executions) {
	b.Helper()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	doc := notebook.NewDocument(notebook.DocumentConfig{Executions: executions})
	image := strings.Repeat("QUJD", 15<<10)
	for i := range 100 {
		id, place := fmt.Sprintf("cell-%d", i), i
		require.NoError(b, doc.ApplyEvent(notebook.Event{Kind: notebook.CellCreated, Position: &place, Cell: &notebook.Cell{
			ID: id, Type: notebook.CodeCell, Source: strings.Repeat("x = compute(1)\n", 20), Revision: 1,
		}}))
		applyFrame(b, executions, fmt.Sprintf(`{"type":"start_cell","cell_id":%q,"run_sequencer":%d}`, id, i+1))
		applyFrame(b, executions, string(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: id, Text: []byte(strings.Repeat("a line\n", 2000))})))
		applyFrame(b, executions, strings.Replace(newDisplayFrame(b, map[string]any{"image/png": image, "text/plain": "<Figure>"}, ""), `"a"`, `"`+id+`"`, 1))
		applyFrame(b, executions, fmt.Sprintf(`{"type":"cell_result","cell_id":%q,"run_sequencer":%d,"status":"ok"}`, id, i+1))
	}
	return doc, executions
}

// actionRoundTrip sends an action to a served document and reads its answer.
func actionRoundTrip(b *testing.B, conn protocol.Conn, body []byte) []byte {
	b.Helper()
	if err := conn.Write(body); err != nil {
		b.Fatal(err)
	}
	answer, err := conn.Read()
	if err != nil {
		b.Fatal(err)
	}
	return answer
}

func BenchmarkGetContextOf100Cells(b *testing.B) {
	doc, _ := newHundredCellDocument(b)
	peer := serveDocument(b, doc)
	body := []byte(`{"type":"agent_action","action":"get_context","tx_id":"t"}`)
	size := 0
	for b.Loop() {
		size = len(actionRoundTrip(b, peer.conn, body))
	}
	b.ReportMetric(float64(size), "B/answer")
}

func BenchmarkEditCell(b *testing.B) {
	doc, _ := newHundredCellDocument(b)
	peer := serveDocument(b, doc)
	body, err := json.Marshal(map[string]any{
		"type": "agent_action", "action": "edit_cell", "tx_id": "t",
		"params": map[string]any{"cell_id": "cell-50", "source": strings.Repeat("y = compute(2)\n", 20)},
	})
	require.NoError(b, err)
	for b.Loop() {
		actionRoundTrip(b, peer.conn, body)
	}
}

// BenchmarkApply100MBOfPrintedText applies 100 MiB of printed text, as raw frames of a kernel, per
// operation.
func BenchmarkApply100MBOfPrintedText(b *testing.B) {
	for _, size := range []int{100, 64 << 10} {
		b.Run(fmt.Sprintf("frames of %d B", size), func(b *testing.B) {
			text := []byte(strings.Repeat("x", size-1) + "\n")
			frame := protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: "cell", Text: text})
			env := protocol.Envelope{Type: protocol.TypeKernelStdio, CellID: "cell"}
			b.SetBytes(100 << 20)
			for b.Loop() {
				executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
				for n := 0; n < 100<<20; n += size {
					if err := executions.ApplyFrame(1, env, frame); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkApplyImageOf1MiB(b *testing.B) {
	frame := []byte(newDisplayFrame(b, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18), "text/plain": "<Figure>"}, ""))
	env := protocol.Envelope{Type: protocol.TypeCellOutput, CellID: "a"}
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if err := executions.ApplyFrame(1, env, frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKernelMessageWithImageOf1MiB(b *testing.B) {
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	applyFrame(b, executions, `{"type":"start_cell","cell_id":"a","run_sequencer":1}`)
	applyFrame(b, executions, newDisplayFrame(b, map[string]any{"image/png": strings.Repeat("QUJD", 1<<18)}, ""))
	env := protocol.Envelope{Type: protocol.TypeCellResult, CellID: "a"}
	for b.Loop() {
		executions.KernelMessage(env, []byte(`{"type":"cell_result","cell_id":"a","status":"ok"}`))
	}
}

func BenchmarkIPYNBOf100Cells(b *testing.B) {
	doc, executions := newHundredCellDocument(b)
	for b.Loop() {
		require.NoError(b, notebook.IPYNB{Cells: doc.Cells(), Executions: executions}.Write(io.Discard))
	}
}
