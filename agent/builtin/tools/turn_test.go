package tools_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/model"
)

// Calls are dropped together with their results, and the rest stays a valid transcript.
func TestCO5_CompactionDropsWholeRounds(t *testing.T) {
	t.Parallel()
	messages := []model.Message{builtin.UserMessage(model.Text("task"))}
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		messages = append(messages, builtin.AssistantMessage(model.Text("now "+id), agenttest.NewGetContextCall(id)), builtin.UserMessage(model.ToolResult(id, false, model.Text("result "+id))))
	}
	short, dropped := tools.ToolCompaction().Compact(messages)
	require.Equal(t, 2, dropped)
	require.Len(t, short, len(messages)-4+1)
	require.Equal(t, messages[0], short[0])
	require.Contains(t, model.JoinTextBlocks(short[1].Content), "dropped")
	require.Equal(t, messages[5:], short[2:])
	status, text := agenttest.CheckTranscript(short)
	require.Equal(t, http.StatusOK, status, text)

	same, dropped := tools.ToolCompaction().Compact(short)
	require.Zero(t, dropped)
	require.Equal(t, short, same)
}

func TestTL8_SimpleAnswerIsOneModelCall(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, `{"content":"4"}`, `{"content":"never"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("2+2?"))
	require.Equal(t, 1, p.ModelReplyCount())
	require.Equal(t, []model.Message{builtin.UserMessage(model.Text("2+2?")), builtin.AssistantMessage(model.Text("4"))}, p.Transcript())
}

func TestTL8_OneToolRoundIsTwoModelCalls(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"empty","expect":{"tool_result_contains":"0 cells"}}`, `{"content":"never"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
	require.Len(t, p.Transcript(), 4)
}

func TestTL6_ValidSubmissionEndsTheTurn(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"done": "done", "executing": "done", "fixing": "done", "thinking": "done",
		"awaiting_user_response": "awaiting_user_response", "awaiting_cell_execution": "awaiting_cell_execution",
		"awaiting_user_widget_input": "awaiting_user_widget_input",
	} {
		p := startToolsAgent(t, agenttest.ToolCallScriptLine("submit_response", fmt.Sprintf(`{"summary":"s","next_status":%q,"plan":["a"],"questions":"b?"}`, status)), `{"content":"never"}`)
		p.InitAndAwaitReady(frame{"eval_mode": true})
		require.Equal(t, want, p.QueryAndWait("go"))
		require.Equal(t, 1, p.ModelReplyCount())
		text, isError := p.ToolResult(0)
		require.False(t, isError)
		require.Equal(t, "Submitted.", text)
	}
}

func TestTL6_ContinueDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, agenttest.ToolCallScriptLine("submit_response", `{"summary":"half","next_status":"executing","continue":true}`), agenttest.SubmitScriptLine("1"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
}

func TestTL6_InvalidSubmissionDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t,
		agenttest.ToolCallScriptLine("submit_response", `{"summary":"s","next_status":"finished"}`),
		agenttest.ToolCallScriptLine("submit_response", `{"next_status":"done"}`), agenttest.SubmitScriptLine("1"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 3, p.ModelReplyCount())
	for i, want := range []string{`next_status: "finished" does not fit {"type":"string","enum":["executing",`, "summary: missing"} {
		text, isError := p.ToolResult(i)
		require.True(t, isError)
		require.Contains(t, text, want)
	}
}

// In an evaluation only the first submission with the marker counts.
func TestTL6_SecondSubmissionIsRefused(t *testing.T) {
	t.Parallel()
	const submit = `{"type":"tool_use","id":"%s","name":"submit_response","input":{"summary":"[EVAL_COMPLETE]","next_status":"done"}}`
	p := startToolsAgent(t, `{"content":[`+fmt.Sprintf(submit, "a")+","+fmt.Sprintf(submit, "b")+`]}`)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	text, isError := p.ToolResult(0)
	require.False(t, isError)
	require.Equal(t, "Submitted.", text)
	text, isError = p.ToolResult(1)
	require.True(t, isError)
	require.Equal(t, "nothing was submitted: only the first submission with [EVAL_COMPLETE] counts, and there is one already", text)
}

// A submission is sent and run after all other calls of its reply, because a console that sees it may
// take the work for finished. The results keep the order of the calls.
func TestTL6_SubmissionComesLast(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, strings.ReplaceAll(`{"content":[{"type":"tool_use","id":"s","name":"submit_response","input":{"summary":"[EVAL_COMPLETE]","next_status":"done"}},
		{"type":"tool_use","id":"c","name":"create_cell","input":{"position":0,"source":"print 1","auto_run":true}}]}`, "\n", ""))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	var order []string
	for _, f := range p.Frames() {
		switch f.StringField("type") {
		case "agent_action", "agent_history_updated":
			order = append(order, f.StringField("type")+f.ObjectField("entry").StringField("role"))
		}
	}
	require.Equal(t, []string{"agent_history_updateduser", "agent_action", "agent_history_updatedassistant", "agent_history_updateduser"}, order)
	results := p.ToolResults()
	require.Equal(t, "s", results[0].ToolUseID)
	require.Equal(t, "c", results[1].ToolUseID)
}

func TestTL7_OneReminderInAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, `{"content":"I am done"}`, `{"content":"Really","expect":{"last_user_contains":"submit_response"}}`, `{"content":"never"}`)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())

	p = startToolsAgent(t, `{"content":""}`, agenttest.SubmitScriptLine("1"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
}

func TestTL7_NoReminderOutsideOfAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, `{"content":"I am done"}`, `{"content":"never"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 1, p.ModelReplyCount())
}

// The first message has the query, followed by its contextual_node_data.
func TestTL2_ContextualNodeData(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	p.SendFrame(frame{"type": "agent_query", "query": "count", "request_id": "q1", "contextual_node_data": []frame{{"type": "File", "path": "a.csv"}}})
	p.AwaitFrame(0, "done", func(f frame) bool { return f.StringField("status") == "done" })
	require.Equal(t, "count\n\n<ContextualNodeData>[{\"path\":\"a.csv\",\"type\":\"File\"}]</ContextualNodeData>", p.Transcript()[0].Content[0].Text)
}

func TestTL7_EmptyQuery(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, `{"content":"x"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait(" "))
	require.Equal(t, "the query is empty", p.FramesOfType("agent_error")[0].StringField("error"))
	require.Empty(t, p.Transcript())
}
