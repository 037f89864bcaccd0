package notebook_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// FuzzServe sends a served document arbitrary messages. An action with a tx_id must be answered
// once and anything else not at all, and replaying the events must give the same document.
func FuzzServe(f *testing.F) {
	for _, body := range []string{
		`{"type":"agent_action","action":"get_context","tx_id":"t"}`,
		`{"type":"agent_action","action":"create_cell","tx_id":"t","params":{"position":1,"cell_type":"code","source":"1","title":"T","auto_run":true}}`,
		`{"type":"agent_action","action":"create_markdown_cell","tx_id":"t","params":{"position":0,"source":"\ud800"}}`,
		`{"type":"agent_action","action":"edit_cell","tx_id":"t","params":{"cell_id":"c","source":"2","rev":1,"auto_run":null}}`,
		`{"type":"agent_action","action":"delete_cell","tx_id":"t","params":{"cell_id":"c"}}`,
		`{"type":"agent_action","action":"move_cell","tx_id":"t","params":{"cell_id":"c","position":0}}`,
		`{"type":"agent_action","action":"move_cell","tx_id":"eval_1","by":"console","params":{"cell_id":"d","position":0}}`,
		`{"type":"agent_action","action":"run_cell","params":{"cell_id":"c"}}`,
		`{"type":"agent_action","action":"stop_cell","tx_id":"t","params":{"cell_id":["c"]}}`,
		`{"type":"agent_action","action":"set_widget","tx_id":"t","params":{"key":"c/w","value":"[1]"}}`,
		`{"type":"agent_action","action":"edit_cell","tx_id":"t","params":{"cell_id":"c","cell_id":"d","source":1e400}}`,
		`{"type":"agent_action","action":"x","action":"run_cell","tx_id":"t","params":[[[[]]]]}`,
		`{"type":"agent_action","tx_id":"t","params":null}`,
		"\x00\x01\x00\x00", "{", "", "null",
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !utf8.Valid(body) {
			return // the router does not pass on such a message
		}
		var events []notebook.Event
		executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
		applyFrame(t, executions, `{"type":"cell_widgets","cell_id":"c","widget_state":{"w":{"type":"slider"}}}`)
		doc := notebook.NewDocument(notebook.DocumentConfig{
			Executions: executions, NewCellID: func() string { return string(rune('c' + len(events))) },
			OnEvent: func(e notebook.Event) { events = append(events, e) },
		})
		peer := serveDocument(t, doc)
		for i := range 2 {
			peer.sendAction("create_cell", map[string]any{"position": i, "cell_type": "code", "source": "1"})
		}

		answers := 0
		for _, message := range peer.exchange(string(body)) {
			env, err := protocol.NewEnvelopeDecoder().Decode(message)
			require.NoError(t, err)
			forKernel := env.Type == protocol.TypeSetWidgetValue && env.AgentTxID != "" // the kernel answers the action
			if env.Type == protocol.TypeActionResponse || forKernel {
				answers++
			}
		}
		env, err := protocol.NewEnvelopeDecoder().Decode(body)
		if err == nil && env.Type == protocol.TypeAgentAction && env.TxID != "" {
			require.Equal(t, 1, answers)
		} else {
			require.Zero(t, answers)
		}
		again, err := notebook.ReplayEvents(notebook.DocumentConfig{}, events)
		require.NoError(t, err)
		require.Equal(t, doc.Cells(), again.Cells())
	})
}

// FuzzApplyFrame applies arbitrary frames of a kernel: snapshot, kernel_message and file made
// of them must be well-formed JSON.
func FuzzApplyFrame(f *testing.F) {
	for _, frame := range []string{
		`{"type":"start_cell","cell_id":"a","run_sequencer":2}`,
		`{"type":"start_cell","cell_id":null}`,
		`{"type":"kernel_stdio","active_cell":"a","stream":"stderr","data":"\ud800 x"}`,
		"\x00\x01\x01\x00atext", "\x00\x02\x00\x00text",
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"display_data","data":{"image/png":"QUJD","text/plain":["a"]},"metadata":{},"transient":{"display_id":"d"}}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"update_display_data","data":{"text/plain":"b"},"transient":{"display_id":"d"}}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"execute_result","data":{"application/json":{"a":[]}},"execution_count":2}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"E","evalue":"","traceback":["\u0000"]}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"stream","name":"stdout","text":["x","y"]}}`,
		`{"type":"cell_output","cell_id":"a","output":{"output_type":"clear_output","wait":true}}`,
		`{"type":"cell_result","cell_id":"a","status":"error","exception":"E: v","logs":1}`,
		`{"type":"cell_result","cell_id":"a","exception":{"odd":[]},"extra":1,"extra":2}`,
		`{"type":"run_queue","queue":["a","b"]}`,
		`{"type":"cell_widgets","cell_id":"a","widget_state":{"w":1,"x":{"type":2,"value":{}}}}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		env, err := protocol.NewEnvelopeDecoder().Decode(body)
		if err != nil {
			return
		}
		executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
		applyFrame(t, executions, `{"type":"start_cell","cell_id":"a","run_sequencer":1}`)
		applyFrame(t, executions, newDisplayFrame(t, map[string]any{"text/plain": "x"}, "d"))
		if err := executions.ApplyFrame(2, env, body); err != nil {
			require.NotEmpty(t, err.Error())
		}
		applyStreamText(t, executions, protocol.Stdout, "more")
		if message, ok := executions.KernelMessage(env, body); ok {
			requireJSON(t, message)
		}
		snapshot, err := json.Marshal(executions.Snapshot())
		require.NoError(t, err)
		requireJSON(t, snapshot)
		cells := []notebook.Cell{{ID: "a", Type: notebook.CodeCell}}
		_ = writeIPYNBText(t, cells, executions, func(int64) ([]byte, error) { return body, nil })
	})
}

// requireJSON fails the test if text is not exactly one JSON object.
func requireJSON(t *testing.T, text []byte) {
	t.Helper()
	_, err := protocol.NewEnvelopeDecoder().Decode(text)
	require.NoError(t, err, "%s", text)
}

func FuzzCellsFromContext(f *testing.F) {
	f.Add([]byte(`{"cells":[{"cell_id":"a","cell_type":"code","source":"1","display_name":"T","rev":2}]}`))
	f.Add([]byte(`{"cells":[{"cell_id":""},null,[]]}`))
	f.Add([]byte(`{"cells":"a","cells":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		cells, err := notebook.CellsFromContext(text)
		if err != nil {
			return
		}
		for _, cell := range cells {
			require.NotEmpty(t, cell.ID)
		}
		_ = writeIPYNBText(t, cells, nil, nil)
	})
}
