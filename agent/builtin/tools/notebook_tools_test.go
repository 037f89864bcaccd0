package tools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/model"
)

func TestTL5_OfferedTools(t *testing.T) {
	t.Parallel()
	p, r := startToolsAgentRecordingRequests(t, tools.Config{}, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	var names []string
	for _, tool := range r.Requests[0].Tools {
		names = append(names, tool.Name)
		require.NotEmpty(t, tool.Description)
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		require.NoError(t, json.Unmarshal(tool.InputSchema, &schema), tool.Name)
		require.Equal(t, "object", schema.Type)
		require.NotNil(t, schema.Properties)
		require.NotNil(t, schema.Required)
		for _, name := range schema.Required {
			require.Contains(t, schema.Properties, name)
		}
	}
	require.ElementsMatch(t, []string{
		"get_context", "create_cell", "create_markdown_cell", "edit_cell", "delete_cell", "delete_all_cells", "run_cell",
		"stop_cell", "set_widget", "request_globals_summary", "request_reactivity_summary", "execute_code", "submit_response",
	}, names)
}

// Each tool sends its action, and its result is the text for the model.
func TestTL5_ActionAndResultOfEachTool(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, input, action, params, result string }{
		{
			"create_cell", `{"position":0,"source":"print 7","title":"Sum","auto_run":true}`, "create_cell",
			`{"position":0,"cell_type":"code","source":"print 7","title":"Sum","auto_run":true}`, "cell_id: c1\nstatus: ok\n\n--- printed\n7\n",
		},
		{"create_cell", `{"position":1,"source":"x"}`, "create_cell", `{"position":1,"cell_type":"code","source":"x","auto_run":false}`, "cell_id: c2\ncreated"},
		{
			"create_cell", `{"position":1,"source":"# x","cell_type":"markdown","auto_run":true}`, "create_cell",
			`{"position":1,"cell_type":"markdown","source":"# x","auto_run":false}`, "cell_id: c3\ncreated",
		},
		{"create_markdown_cell", `{"position":0,"source":"# x"}`, "create_markdown_cell", `{"position":0,"source":"# x"}`, "cell_id: c4\ncreated"},
		{"edit_cell", `{"cell_id":"c1","source":"fail at once"}`, "edit_cell", `{"cell_id":"c1","source":"fail at once","auto_run":false}`, "cell_id: c1\nedited"},
		{"run_cell", `{"cell_id":"c1"}`, "run_cell", `{"cell_id":"c1"}`, "cell_id: c1\nstatus: error\n\n--- exception\nTraceback\nValueError: at once\n"},
		{
			"edit_cell", `{"cell_id":"c1","source":"print é","auto_run":true}`, "edit_cell", `{"cell_id":"c1","source":"print é","auto_run":true}`,
			"cell_id: c1\nstatus: ok\n\n--- printed\né\n",
		},
		{"stop_cell", `{"cell_id":"c1"}`, "stop_cell", `{"cell_id":"c1"}`, "cell_id: c1\nasked to stop"},
		{"set_widget", `{"key":"c1/w","value":"5"}`, "set_widget", `{"key":"c1/w","value":"5"}`, "widget c1/w set to 5"},
		{"set_widget", `{"key":"c1/w","value":"blue"}`, "set_widget", `{"key":"c1/w","value":"\"blue\""}`, `widget c1/w set to "blue"`},
		{"set_widget", `{"key":"c1/w","value":[1,2]}`, "set_widget", `{"key":"c1/w","value":"[1,2]"}`, `widget c1/w set to [1,2]`},
		{"request_globals_summary", `{}`, "request_globals_summary", `{}`, `{"x":{"type":"int"}}`},
		{"execute_code", `{"code":"6*7"}`, "execute_code", `{"code":"6*7","timeout_s":300}`, "status: ok\n\n--- printed\n6*7\n\n--- result\n42\n"},
		{"execute_code", `{"code":"1","timeout_s":0.5}`, "execute_code", `{"code":"1","timeout_s":0.5}`, "status: ok\n\n--- printed\n1\n\n--- result\n42\n"},
		{"execute_code", `{"code":"1","timeout_s":9999}`, "execute_code", `{"code":"1","timeout_s":300}`, "status: ok\n\n--- printed\n1\n\n--- result\n42\n"},
		{"request_reactivity_summary", `{}`, "request_reactivity_summary", `{}`, "## Reactive"},
		{"delete_cell", `{"cell_id":"c2"}`, "delete_cell", `{"cell_id":"c2"}`, "cell_id: c2\ndeleted"},
		{"get_context", `{}`, "get_context", `{}`, "notebook \"nb\", 3 cells\n\n[0] cell_id: c1, code, idle \nprint é\n\n--- stream\nprinted by c1\nwidget c1/w (slider ): 3\n"},
		{"edit_cell", `{"cell_id":"c1","source":"mute","auto_run":true}`, "edit_cell", `{"cell_id":"c1","source":"mute","auto_run":true}`, "cell_id: c1\nstatus: ok\n"},
	}
	var all []string
	for _, c := range cases {
		all = append(all, c.name, c.input)
	}
	p := startToolsAgent(t, agenttest.ToolCallScriptLine(all...), `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	actions := p.FramesOfType("agent_action")
	require.Len(t, actions, len(cases))
	for i, c := range cases {
		params, err := json.Marshal(actions[i]["params"])
		require.NoError(t, err)
		require.Equal(t, c.action, actions[i].StringField("action"))
		require.JSONEq(t, c.params, string(params), c.name)
		text, isError := p.ToolResult(i)
		require.False(t, isError, text)
		if c.name == "get_context" {
			require.True(t, strings.HasPrefix(text, c.result), text)
			continue
		}
		require.Equal(t, c.result, text, c.name)
	}
}

func TestTL5_DeleteAllCellsDeletesFromLastToFirst(t *testing.T) {
	t.Parallel()
	three := []string{"create_cell", `{"position":0,"source":"a"}`, "create_cell", `{"position":1,"source":"b"}`, "create_cell", `{"position":2,"source":"c"}`}
	p := startToolsAgent(t, agenttest.ToolCallScriptLine(append(three, "delete_all_cells", `{}`)...), agenttest.ToolCallScriptLine("delete_all_cells", `{}`), `{"content":"x"}`)
	var deleted []string
	locked := true
	p.SetActionHook(func(action string, params frame, tx string) bool {
		if action != "delete_cell" {
			return false
		}
		deleted = append(deleted, params.StringField("cell_id"))
		if params.StringField("cell_id") == "c2" && locked {
			locked = false
			p.RespondToAction(tx, frame{"status": "error", "error": "it is locked"})
			return true
		}
		return false
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, []string{"c3", "c2", "c1", "c2"}, deleted)
	text, isError := p.ToolResult(3)
	require.True(t, isError)
	require.Equal(t, "2 of 3 cells deleted; not deleted:\ncell c2: it is locked", text)
	text, isError = p.ToolResult(4)
	require.False(t, isError)
	require.Equal(t, "1 of 1 cells deleted", text)
}

// The cell_result of a run may arrive before the response that names its cell. The end of an
// earlier run of the same cell is not taken for it.
func TestTL5_ResultsAreMatchedToRuns(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t,
		agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"x","auto_run":true}`, "run_cell", `{"cell_id":"new"}`), `{"content":"x"}`)
	message := func(kind, cell string, run int, logs string) {
		p.SendFrame(frame{"type": "kernel_message", "message": frame{"type": kind, "cell_id": cell, "run_sequencer": run, "status": "ok", "logs": logs}})
	}
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		if action == "create_cell" {
			message("start_cell", "new", 1, "")
			message("cell_result", "new", 1, "early")
			message("cell_result", "other", 2, "foreign")
			message("start_cell", "new", 3, "") // a user runs it
			p.RespondToAction(tx, frame{"cell_id": "new"})
			return true
		}
		message("cell_result", "new", 3, "foreign")
		message("start_cell", "new", 4, "")
		message("cell_result", "new", 4, "ours")
		p.RespondToAction(tx, frame{"cell_id": "new"})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	for i, want := range []string{"early", "ours"} {
		text, _ := p.ToolResult(i)
		require.Contains(t, text, "--- printed\n"+want+"\n")
	}
}

func TestTL5_CellStillRunsAfterTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startToolsAgentWithConfig(t, configWithLimits(builtin.Limits{CellTimeout: 90 * time.Second}),
			agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"hang","auto_run":true}`), `{"content":"x"}`)
		p.InitAndAwaitReady(nil)
		began := time.Now()
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, 92*time.Second, time.Since(began), "two seconds after the server has stopped it")
		text, isError := p.ToolResult(0)
		require.False(t, isError)
		require.True(t, strings.HasPrefix(text, "cell_id: c1\nstatus: running\n\nThe cell still runs after 90 seconds."), text)
	})
}

// The agent waits two seconds longer for execute_code than the server, which ends it itself.
func TestTL5_ExecuteCodeTimesOutAfterTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startToolsAgent(t, agenttest.ToolCallScriptLine("execute_code", `{"code":"x","timeout_s":30}`), `{"content":"x"}`)
		p.SetActionHook(func(string, frame, string) bool { return true })
		p.InitAndAwaitReady(nil)
		began := time.Now()
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, 32*time.Second, time.Since(began))
		text, isError := p.ToolResult(0)
		require.True(t, isError)
		require.Contains(t, text, "OPERATION FAILED: 'execute_code' timed out after 32 seconds")
	})
}

// Code that raises an exception is no failure of the tool.
func TestTL5_ExecuteCodeThatRaises(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("execute_code", `{"code":"a"}`, "execute_code", `{"code":"b"}`), `{"content":"x"}`)
	p.SetActionHook(func(_ string, params frame, tx string) bool {
		if params.StringField("code") == "a" {
			p.RespondToAction(tx, frame{"status": "error", "stdout": "so far", "stderr": "warning", "exception": "ValueError: no", "ename": "ValueError"})
			return true
		}
		p.RespondToAction(tx, frame{"status": "error", "error": "there is no kernel"})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	text, isError := p.ToolResult(0)
	require.False(t, isError)
	require.Equal(t, "status: error\n\n--- printed\nso far\n\n--- stderr\nwarning\n\n--- exception\nValueError: no\n", text)
	text, isError = p.ToolResult(1)
	require.True(t, isError)
	require.Equal(t, "there is no kernel", text)
}

func TestTL5_OutputsAndImages(t *testing.T) {
	t.Parallel()
	tiny := agenttest.BlankPNG(t, 1, 1)
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("run_cell", `{"cell_id":"c1"}`), `{"content":"x"}`)
	p.SetActionHook(func(_ string, _ frame, tx string) bool {
		p.RespondToAction(tx, nil)
		p.FinishRun("c1", 1, frame{"logs": "hello\n", "exception": "Boom", "status": "error", "cell_outputs": []any{
			frame{"output_type": "stream", "name": "stdout", "text": "hello\n"},
			frame{"output_type": "display_data", "data": frame{"image/png": tiny[:9] + "\n" + tiny[9:], "text/plain": "<Figure>"}},
			frame{"output_type": "execute_result", "data": frame{"text/html": "<table>", "text/plain": []string{"a  b\n", "1  2"}}},
			frame{"output_type": "display_data", "data": frame{"image/jpeg": frame{"mime": "image/jpeg", "bytes": 5000000}}},
			frame{"output_type": "display_data", "data": frame{"application/vnd.plotly.v1+json": frame{"data": 1}}},
			frame{"output_type": "display_data", "data": frame{"image/png": strings.Repeat("A", 5<<20+4)}},
			frame{"output_type": "display_data", "data": frame{"application/json": frame{"a": 1}}},
			frame{"output_type": "error", "ename": "Boom", "evalue": "", "traceback": []string{"Boom"}},
			5,
		}})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	content := p.ToolResults()[0].Content
	require.Equal(t, `cell_id: c1
status: error

--- printed
hello

--- display_data
[image/png, shown below]

--- execute_result
a  b
1  2

--- display_data
[image/jpeg, 5000000 bytes, too large to be shown]

--- display_data
[application/vnd.plotly.v1+json, not shown]

--- display_data
[image/png, 3932163 bytes, too large to be shown]

--- display_data
{"a":1}

--- output that cannot be read
5

--- exception
Boom
`, content[0].Text)
	require.Equal(t, []model.Block{model.Image("image/png", tiny)}, content[1:])
}

// The model sees something of every cell of a long notebook.
func TestTL5_LongNotebookShowsEveryCell(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"x"}`)
	p.SetActionHook(func(_ string, _ frame, tx string) bool {
		var cells []frame
		for i := range 60 {
			cells = append(cells, frame{"index": i, "cell_id": "cell" + string(rune('A'+i)), "cell_type": "code", "source": strings.Repeat("long\n", 500)})
		}
		p.RespondToAction(tx, frame{"context": frame{"cell_count": 60, "cells": cells}})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	text, _ := p.ToolResult(0)
	require.LessOrEqual(t, len(text), 16<<10)
	for i := range 60 {
		require.Contains(t, text, "cell_id: cell"+string(rune('A'+i))+",")
	}
}

func TestTL5_StaleGlobalsAreMarked(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("request_globals_summary", `{}`), `{"content":"x"}`)
	p.SetActionHook(func(_ string, _ frame, tx string) bool {
		p.RespondToAction(tx, frame{"summary": frame{"x": 1}, "stale": true, "age_ms": 1200, "truncated": true})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	text, _ := p.ToolResult(0)
	require.Equal(t, "(the kernel is busy: this is what it said 1200 ms ago)\n(not all variables are listed)\n{\"x\":1}", text)
}
