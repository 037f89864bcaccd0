package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/agenttest"
	"assay/internal/model"
)

// The results of unknown tools, invalid input and failed tools say what was wrong; the other
// calls of the reply are run.
func TestCO10_FailedCallsHaveResults(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, input, want string }{
		{"fly", `{}`, "Unknown tool: fly"},
		{"run_cell", `{}`, `Bad input for run_cell: cell_id: missing`},
		{"run_cell", `{"cell_id":5}`, `Bad input for run_cell: cell_id: 5 does not fit {"type":"string","minLength":1}`},
		{"run_cell", `{"cell_id":null}`, `Bad input for run_cell: cell_id: null does not fit {"type":"string","minLength":1}`},
		{"run_cell", `{"cell_id":""}`, `Bad input for run_cell: cell_id: "" does not fit {"type":"string","minLength":1}`},
		{"create_cell", `{"source":7,"position":-1}`, `Bad input for create_cell: position: -1 does not fit {"type":"integer","minimum":0}`},
		{"create_cell", `{"position":1.5,"source":"x"}`, `Bad input for create_cell: position: 1.5 does not fit {"type":"integer","minimum":0}`},
		{"create_cell", `{"position":[{"b":"<é>\n","a":[]}],"source":"x"}`, `Bad input for create_cell: position: [{"a":[],"b":"<é>\n"}] does not fit {"type":"integer","minimum":0}`},
		{"create_cell", `{"invalid_json":"{\"pos"}`, `Bad input for create_cell: there is no property "invalid_json"`},
		{"run_cell", `{"cell_id":"a","z":1,"y":1,"x":1,"w":1}`, `Bad input for run_cell: there is no property "w"`},
		{"create_cell", `{"position":0,"source":"x","cell_type":"raw"}`, `Bad input for create_cell: cell_type: "raw" does not fit {"type":"string","enum":["code","markdown"]}`},
		{"set_widget", `{"key":"[[[","value":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "Bad input for set_widget: it is nested more than 200 levels deep"},
		{"delete_cell", `{"cell_id":"locked"}`, "the cell is locked"},
		{"read_memory", `{"name":"soul"}`, "Unknown tool: read_memory"},
	}
	var all []string
	for _, c := range cases {
		all = append(all, c.name, c.input)
	}
	p := startToolsAgent(t, agenttest.ToolCallScriptLine(append(all, "get_context", `{}`)...), `{"content":"x"}`)
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		if action == "delete_cell" {
			p.RespondToAction(tx, frame{"status": "error", "error": "the cell is locked"})
		}
		return action == "delete_cell"
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	for i, c := range cases {
		text, isError := p.ToolResult(i)
		require.True(t, isError, c.want)
		require.Equal(t, c.want, text)
	}
	text, isError := p.ToolResult(len(cases))
	require.False(t, isError)
	require.Contains(t, text, "0 cells")
	require.Equal(t, 1, p.CountFramesWithField("action", "delete_cell"))
	require.Len(t, p.FramesOfType("agent_action"), 2)
}

func TestCO10_ThreeMalformedRoundsInARow(t *testing.T) {
	t.Parallel()
	bad, good := agenttest.ToolCallScriptLine("fly", `{}`), agenttest.ToolCallScriptLine("fly", `{}`, "get_context", `{}`)
	p := startToolsAgent(t, bad, bad, good, bad, bad, agenttest.ToolCallScriptLine("run_cell", `{}`), `{"content":"never"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 6, p.ModelReplyCount())
	limit := p.EventsOfType("limit")[0].ObjectField("metadata")
	require.Equal(t, "malformed_turns", limit.StringField("limit"))
}

// Read-only tools run side by side; a tool that changes something waits for those before it,
// and those after it wait for it. The results keep the order of the calls.
func TestCO10_ReadingToolsRunTogetherChangingToolsAlone(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine(
		"get_context", `{}`, "request_globals_summary", `{}`, "request_reactivity_summary", `{}`,
		"edit_cell", `{"cell_id":"c1","source":"x"}`,
		"get_context", `{}`, "get_context", `{}`), `{"content":"x"}`)
	type request struct{ action, tx string }
	var waiting []request
	var log []string
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		waiting = append(waiting, request{action, tx})
		alone := action == "edit_cell"
		want := map[bool]int{true: 1, false: 3 - len(log)}[alone]
		if len(log) == 2 {
			want = 2
		}
		if len(waiting) < want {
			return true
		}
		for _, r := range slices.Backward(waiting) {
			p.RespondToAction(r.tx, frame{"context": frame{}, "summary": r.action})
		}
		log = append(log, fmt.Sprint(len(waiting), " ", alone))
		waiting = nil
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, []string{"3 false", "1 true", "2 false"}, log)
	for i, want := range []string{"notebook", "request_globals_summary", "request_reactivity_summary", "edited", "notebook", "notebook"} {
		text, _ := p.ToolResult(i)
		require.Contains(t, text, want)
	}
	require.Len(t, p.Transcript(), 4) // all results are in one message
}

func TestCO10_LongOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("数据é\n", 5000)
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("execute_code", `{"code":"x"}`), `{"content":"x"}`)
	p.SetActionHook(func(_ string, _ frame, tx string) bool {
		p.RespondToAction(tx, frame{"stdout": "BEGIN" + long + "END"})
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	text, _ := p.ToolResult(0)
	require.LessOrEqual(t, len(text), 16<<10)
	require.Greater(t, len(text), 16<<10-64)
	require.Contains(t, text, "BEGIN")
	require.Contains(t, text, "END")
	require.Regexp(t, `\n\[\.\.\. \d+ bytes left out \.\.\.\]\n`, text)
}

// The result of a tool without output has a text that says so.
func TestCO10_EmptyOutput(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("request_reactivity_summary", `{}`), `{"content":"x"}`)
	p.SetActionHook(func(_ string, _ frame, tx string) bool { p.RespondToAction(tx, frame{"summary": " "}); return true })
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	text, _ := p.ToolResult(0)
	require.Equal(t, "(no output)", text)
}

// Each of many read-only calls of one reply gets its own response.
func TestCO3_ManyReadsInOneReply(t *testing.T) {
	t.Parallel()
	var all []string
	for range 200 {
		all = append(all, "get_context", `{}`)
	}
	p := startToolsAgent(t, agenttest.ToolCallScriptLine(all...), `{"content":"x"}`)
	var mu sync.Mutex
	var waiting []string
	p.SetActionHook(func(_ string, _ frame, tx string) bool {
		mu.Lock()
		defer mu.Unlock()
		if waiting = append(waiting, tx); len(waiting) == 200 {
			for _, tx := range waiting {
				p.RespondToAction(tx, frame{"context": frame{"notebook_name": tx}})
			}
		}
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	seen := map[string]bool{}
	for _, r := range p.ToolResults() {
		seen[model.JoinTextBlocks(r.Content)] = true
	}
	require.Len(t, seen, 200)
}
