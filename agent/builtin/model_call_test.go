package builtin_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
)

// The calls of a reply that was cut off are not run. The model gets one more try with twice
// the tokens; a second reply that is cut off reaches the limit.
func TestCO5_TruncatedReplyIsRetriedOnce(t *testing.T) {
	t.Parallel()
	cut := `{"content":[{"type":"text","text":"I will"},{"type":"tool_use","name":"get_context","input":{}},{"type":"tool_use","name":"create_cell","input":{"position":0,"source":"x"}}],"stop_reason":"max_tokens","usage":{"output_tokens":7}}`
	p := startToolsAgent(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, cut, `{"content":"short","expect":{"last_user_contains":"cut off at 50 tokens"}}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Empty(t, p.FramesOfType("agent_action"))
	require.Equal(t, builtin.AssistantMessage(model.Text("I will")), p.Transcript()[1])

	onlyCall := agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"x"}`)
	onlyCall = strings.TrimSuffix(onlyCall, "}") + `,"stop_reason":"max_tokens","usage":{"output_tokens":99}}`
	p = startToolsAgent(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, onlyCall, onlyCall, `{"content":"never"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
	require.Empty(t, p.FramesOfType("agent_action"))
	limit := p.EventsOfType("limit")[0].ObjectField("metadata")
	require.Equal(t, "max_tokens", limit.StringField("limit"))
	require.InDelta(t, 100, limit["configured"], 0)
	require.InDelta(t, 99, limit["measured"], 0)
}

// If the API rejects twice the tokens, the limit is reached: that is no failure of the agent.
func TestCO5_APIRejectsTwiceTheTokens(t *testing.T) {
	t.Parallel()
	cut := `{"content":"I will","stop_reason":"max_tokens","usage":{"output_tokens":50}}`
	rejection := `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100 > 64"}}}}`
	p := startToolsAgent(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, cut, rejection, `{"content":"again"}`)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "limit reached: max_tokens 50 of 50", p.EventsOfType("limit")[0].StringField("text"))
	require.Len(t, p.FramesOfType("agent_error"), 1)
	require.Equal(t, false, p.FramesOfType("agent_error")[0]["fatal"])
	require.Equal(t, "a reply of up to 100 tokens, as the last was cut off at 50, was refused: script: 400 invalid_request_error: max_tokens: 100 > 64",
		p.FramesOfType("agent_error")[0].StringField("error"))

	for want, lines := range map[string][]string{"400": {rejection}, "401": {cut, strings.ReplaceAll(rejection, "400", "401")}} {
		p = startToolsAgent(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, lines...)
		p.InitAndAwaitReady(frame{"eval_mode": true})
		require.Contains(t, p.QueryAndWait("go"), "script: "+want, "the tokens are not the reason")
		require.Empty(t, p.EventsOfType("limit"))
	}
}

func TestCO5_OtherStopReasons(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		lines []string
		calls int
		error string
	}{
		"end_turn":                   {[]string{`{"content":"a","stop_reason":"end_turn"}`}, 1, ""},
		"stop_sequence":              {[]string{`{"content":"a","stop_reason":"stop_sequence"}`}, 1, ""},
		"pause_turn":                 {[]string{`{"content":"a","stop_reason":"pause_turn"}`, `{"content":"b"}`}, 2, ""},
		"refusal":                    {[]string{`{"content":"no","stop_reason":"refusal"}`}, 1, "the model declined to go on (stop reason refusal)"},
		"unknown":                    {[]string{`{"content":"a","stop_reason":"bored"}`}, 1, `the model stopped for the unknown reason "bored"`},
		"calls though it is the end": {[]string{strings.TrimSuffix(agenttest.ToolCallScriptLine("get_context", `{}`), "}") + `,"stop_reason":"end_turn"}`, `{"content":"b"}`}, 2, ""},
		"tool_use without calls":     {[]string{`{"content":"a","stop_reason":"tool_use"}`}, 1, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startToolsAgent(t, builtin.Config{}, c.lines...)
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, c.calls, p.ModelReplyCount())
			if c.error == "" {
				require.Empty(t, p.FramesOfType("agent_error"))
				return
			}
			require.Equal(t, c.error, p.FramesOfType("agent_error")[0].StringField("error"))
			require.Equal(t, false, p.FramesOfType("agent_error")[0]["fatal"])
		})
	}
}

// A reply without a stop reason is kept, and its calls are not run.
func TestCO5_MissingStopReason(t *testing.T) {
	t.Parallel()
	p, m := startAgentOnReplies(t, builtin.Config{}, nil, &model.Response{Content: []model.Block{model.Text("a"), agenttest.NewGetContextCall("x")}})
	m.LastReply = agenttest.NewModelReply(model.Text("fine"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, `the model stopped for the unknown reason ""`, p.FramesOfType("agent_error")[0].StringField("error"))
	require.Empty(t, p.FramesOfType("agent_action"))
	require.Equal(t, "done", p.QueryAndWait("again"))
	text, isError := p.ToolResult(0)
	require.True(t, isError)
	require.Contains(t, text, "was interrupted")
}

// A conversation that is too long is compacted once, whether the stop reason or an error of
// the API says that it is.
func TestCO5_LongConversationIsCompacted(t *testing.T) {
	t.Parallel()
	tooLong := map[string]string{
		"reply":   `{"content":"part","stop_reason":"model_context_window_exceeded"}`,
		"refusal": `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5 > 4"}}}}`,
	}
	for name, line := range tooLong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := agenttest.ToolCallScriptLine("get_context", `{}`)
			p := startToolsAgent(t, builtin.Config{}, look, look, look, look, look, line, `{"content":"done"}`, `{"content":"never"}`)
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Empty(t, p.EventsOfType("limit"))
			require.Len(t, p.EventsOfType("compacted"), 1)
			require.Equal(t, "The conversation was too long: its 2 oldest rounds were dropped.", p.EventsOfType("compacted")[0].StringField("text"))
			require.Empty(t, p.EventsOfType("response"), "the event is no reply of the agent")
		})
	}
}

func TestCO5_ConversationTooLongAfterCompaction(t *testing.T) {
	t.Parallel()
	look, full := agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"part","stop_reason":"model_context_window_exceeded"}`
	p := startToolsAgent(t, builtin.Config{}, look, look, look, look, full, full, `{"content":"never"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Len(t, p.EventsOfType("compacted"), 1)
	require.Equal(t, "context", p.EventsOfType("limit")[0].ObjectField("metadata").StringField("limit"))
	require.Equal(t, "limit reached: context (the conversation is longer than the model reads)", p.EventsOfType("limit")[0].StringField("text"))
	require.Equal(t, 6, p.ModelReplyCount())
}

func TestCO5_LongConversationWithNothingToDrop(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{ModelName: "anthropic/claude-opus-4-5"}, `{"content":"part","stop_reason":"model_context_window_exceeded"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	limit := p.EventsOfType("limit")[0]
	require.Equal(t, "limit reached: context (the conversation is longer than the 200000 tokens that the model reads)", limit.StringField("text"))
	require.InDelta(t, 200_000, limit.ObjectField("metadata")["configured"], 0)
}
