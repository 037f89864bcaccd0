package notebook_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/notebook"
	"assay/internal/protocol"
)

// The memory for the outputs of one cell stays below its limit, whatever outputs the cell has.
func TestOutputsOfOneCellAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 16 << 10
	for name, add := range map[string]func(t require.TestingT, executions *notebook.Executions, i int){
		"streams that take turns": func(t require.TestingT, executions *notebook.Executions, i int) {
			applyStreamText(t, executions, []string{protocol.Stdout, protocol.Stderr}[i%2], "x")
		},
		"many small displays": func(t require.TestingT, executions *notebook.Executions, _ int) {
			applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": "x"}, ""))
		},
		"many medium displays and text": func(t require.TestingT, executions *notebook.Executions, i int) {
			applyStreamText(t, executions, protocol.Stdout, "between")
			applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": fmt.Sprint(i), "text/html": strings.Repeat("y", 3<<10)}, ""))
		},
		"large displays": func(t require.TestingT, executions *notebook.Executions, _ int) {
			applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/html": strings.Repeat("z", limit)}, ""))
		},
		"displays that grow": func(t require.TestingT, executions *notebook.Executions, i int) {
			applyOutputWithoutDecoding(t, executions, newDisplayFrame(t, map[string]any{"text/plain": "small"}, "id"))
			grown := newDisplayFrame(t, map[string]any{"text/plain": strings.Repeat("y", 3<<10)}, "id")
			if i%100 == 0 {
				applyFrame(t, executions, strings.Replace(grown, "display_data", "update_display_data", 1))
			}
		},
		"displays with large metadata": func(t require.TestingT, executions *notebook.Executions, _ int) {
			applyOutputWithoutDecoding(t, executions, `{"type":"cell_output","cell_id":"a","output":{"output_type":"display_data","data":{},"metadata":{"a":"`+strings.Repeat("m", limit)+`"}}}`)
		},
		"short errors": func(t require.TestingT, executions *notebook.Executions, _ int) {
			applyOutputWithoutDecoding(t, executions, `{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"E","evalue":"v"}}`)
		},
		"long errors": func(t require.TestingT, executions *notebook.Executions, _ int) {
			applyOutputWithoutDecoding(t, executions, `{"type":"cell_output","cell_id":"a","output":{"output_type":"error","ename":"E","evalue":"`+
				strings.Repeat("v", limit)+`","traceback":["`+strings.Repeat("t", limit)+`"]}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executions := notebook.NewExecutions(notebook.ExecutionsConfig{MaxOutputBytes: limit})
			for i := range 500 {
				add(t, executions, i)
			}
			size := 0
			for _, output := range executions.Snapshot().Outputs["a"] {
				size += len(output)
			}
			// Beside the limit there are 256 references, each a line of JSON.
			require.Less(t, size, 2*limit+256*400)
			require.Greater(t, size, limit/8)
		})
	}
}

func TestNumberOfCellsIsBounded(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	for i := range 10_000 {
		applyFrame(t, executions, fmt.Sprintf(`{"type":"start_cell","cell_id":"%d"}`, i))
	}
	late := `{"type":"start_cell","cell_id":"another"}`
	env := protocol.Envelope{Type: protocol.TypeStartCell, CellID: "another"}
	require.ErrorContains(t, executions.ApplyFrame(1, env, []byte(late)), "10000 cells")
	executions.MarkRunSent("another") // a cell that the server sends is always added
	require.NoError(t, executions.ApplyFrame(1, env, []byte(late)))
	require.Equal(t, notebook.StatusRunning, executions.CellStatus("another"))
}

func TestFramesThatCostMemoryAreRefused(t *testing.T) {
	t.Parallel()
	many, long := map[string]any{}, strings.Repeat("l", 129)
	for i := range 17 {
		many[fmt.Sprintf("text/x%d", i)] = ""
	}
	members := "{" + strings.Repeat(`"":0,`, 10_000) + `"":0}`
	for name, c := range map[string]struct{ frame, says string }{
		"members": {`{"type":"cell_output","cell_id":"a","output":` + members + "}", "output: expected at most 10000 members, found more"},
		"frame":   {`{"type":"cell_output",` + members[1:], "expected at most 10000 members, found more"},
		"lines": {
			`{"type":"cell_output","cell_id":"a","output":{"output_type":"error","traceback":[` + strings.Repeat(`"",`, 10_000) + `""]}}`,
			"output.traceback: expected at most 10000 strings, found more",
		},
		"mime types": {newDisplayFrame(t, many, ""), "output.data: expected at most 16 mime types, found 17"},
		"mime type":  {newDisplayFrame(t, map[string]any{long: ""}, ""), "output.data: expected mime types of at most 128 bytes, found one of 129"},
		"display id": {newDisplayFrame(t, nil, long), "output.data: expected an object, found null"},
		"long id":    {newDisplayFrame(t, map[string]any{}, long), "output.transient.display_id: expected at most 128 bytes, found 129"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
			err := executions.ApplyFrame(1, protocol.Envelope{Type: protocol.TypeCellOutput}, []byte(c.frame))
			require.EqualError(t, err, "cell_output frame: "+c.says)
			require.Empty(t, executions.Snapshot().Outputs)
		})
	}
}

func TestListsAndObjectsOfKernelAreBounded(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(`"",`, 10_000)
	for messageType, c := range map[string]struct{ fields, says string }{
		protocol.TypeRunQueue:    {`"queue":[` + many + `""]`, "queue: expected at most 10000 strings, found more"},
		protocol.TypeCellWidgets: {`"cell_id":"a","widget_state":{` + strings.ReplaceAll(many, ",", ":0,") + `"":0}`, "widget_state: expected at most 10000 members, found more"},
	} {
		executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
		body := fmt.Sprintf(`{"type":%q,%s}`, messageType, c.fields)
		err := executions.ApplyFrame(1, protocol.Envelope{Type: messageType}, []byte(body))
		require.EqualError(t, err, messageType+" frame: "+c.says)
		snapshot := executions.Snapshot()
		require.Empty(t, snapshot.RunQueue)
		require.Empty(t, snapshot.Widgets)
		queue, err := notebook.QueuedCells([]byte(body))
		require.Equal(t, messageType == protocol.TypeRunQueue, err != nil)
		require.Empty(t, queue)
	}
}

// A text in very many pieces is kept: notebooks have one for each line.
func TestTextInManyPiecesIsJoined(t *testing.T) {
	t.Parallel()
	executions := notebook.NewExecutions(notebook.ExecutionsConfig{})
	applyFrame(t, executions, `{"type":"start_cell","cell_id":"a"}`)
	applyFrame(t, executions, `{"type":"cell_output","cell_id":"a","output":{"output_type":"stream","name":"stdout","text":[`+
		strings.Repeat(`"",`, 20_000)+`"all of it"]}}`)
	require.Contains(t, string(executions.Snapshot().Outputs["a"][0]), "all of it")
}
