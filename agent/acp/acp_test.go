package acp_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/acp"
)

// A program that works as most do: its texts, thoughts, plan and calls are the conversation, and each call
// of a tool of the notebook is in it once.
func TestTurn(t *testing.T) {
	t.Parallel()
	h := startEvaluation(t, onePrompt(
		step{"think": "Hm, "}, step{"think": "how?"},
		step{"update": step{"sessionUpdate": "plan", "entries": []step{{"content": "look", "status": "in_progress"}, {"content": "answer", "status": "pending"}}}},
		step{"say": "I count."},
		step{"announce": []any{"create_cell", step{"position": 0, "source": `print {"n": 45}`, "auto_run": true}}},
		step{"update": step{"sessionUpdate": "tool_call", "toolCallId": "r1", "title": "Read a.csv", "kind": "read", "rawInput": step{"path": "a.csv"}}},
		step{"update": step{"sessionUpdate": "tool_call_update", "toolCallId": "r1", "status": "failed", "content": []step{{"type": "content", "content": step{"type": "text", "text": "no such file"}}}}},
		step{"update": step{"sessionUpdate": "usage_update", "used": 10, "size": 200000, "cost": step{"amount": 0.25, "currency": "USD"}}},
		step{"submit": "<EVAL_ANSWER>OUTPUT</EVAL_ANSWER> [EVAL_COMPLETE]"},
		step{"say": "That was it."},
		step{"end": step{"stopReason": "end_turn", "usage": step{"inputTokens": 7, "outputTokens": 8, "totalTokens": 15, "thoughtTokens": nil}}},
	), acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	want := []string{
		"user text: count",
		"assistant thinking: Hm, how?\nPlan:\n[>] look\n[ ] answer\n | text: I count. | " +
			`use create_cell {"auto_run":true,"position":0,"source":"print {\"n\": 45}"}`,
		"user result: cell_id: c1\nstatus: ok\n\n--- printed\n{\"n\": 45}\n",
		`assistant use read {"title":"Read a.csv","input":{"path":"a.csv"}}`,
		"user failure: no such file",
		`assistant use submit_response {"summary":"<EVAL_ANSWER>{\"n\": 45}</EVAL_ANSWER> [EVAL_COMPLETE]","next_status":"done"}`,
		"user result: Submitted.",
		"assistant text: That was it.",
	}
	got := h.blocks()
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, sortKeys(want[i]), sortKeys(got[i]))
	}
	require.Empty(t, h.errorTexts())
	usage := h.FramesOfType("agent_usage_update")
	require.Equal(t, frame{
		"type": "agent_usage_update", "input_tokens": 7.0, "output_tokens": 8.0, "cache_read_input_tokens": 0.0,
		"cache_creation_input_tokens": 0.0, "context_limit": 200000.0, "cost_usd": 0.25,
	}, usage[len(usage)-1])
	require.NotEmpty(t, h.FramesOfType("agent_stream_delta"))
	require.Contains(t, h.output.String(), `"clientInfo": {"name": "assay", "title": "Assay", "version": "1.2.3"}`)
	require.Contains(t, h.output.String(), `"clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false}, `)
	require.Contains(t, h.output.String(), "session/new "+h.dir+"\n")
}

// sortKeys returns a line with the JSON object at its end in a canonical form.
func sortKeys(line string) string {
	text := regexp.MustCompile(`\{.*\}$`).FindString(line)
	var object map[string]any
	if json.Unmarshal([]byte(text), &object) != nil {
		return line
	}
	sorted, _ := json.Marshal(object)
	return strings.TrimSuffix(line, text) + string(sorted)
}

// What a program has printed before it calls a tool is in the conversation before the call, however fast
// the call comes.
func TestTextsComeBeforeCalls(t *testing.T) {
	t.Parallel()
	var steps []step
	for range 20 {
		steps = append(steps, step{"flood": 10_000}, step{"say": "y"}, step{"call": []any{"get_context", step{}}})
	}
	h := startAgent(t, onePrompt(steps...), acp.Config{})
	require.Equal(t, "done", h.runQuery("count"))
	for _, text := range h.saidTexts() {
		require.Equal(t, strings.Repeat("x", 10_000)+"y | use get_context {}", text)
	}
	require.Len(t, h.saidTexts(), 20)
}
