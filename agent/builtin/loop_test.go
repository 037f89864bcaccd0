package builtin_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// calls counts the replies that the agent took.
func calls(p *peer) int { return len(p.of("agent_usage_update")) }

func TestTL8_SimpleAnswerIsOneCall(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"4"}`, `{"content":"never"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("2+2?"))
	require.Equal(t, 1, calls(p))
	require.Equal(t, []model.Message{user(model.Text("2+2?")), assistant(model.Text("4"))}, p.history())
}

func TestTL8_OneToolRoundIsTwoCalls(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("get_context", `{}`), `{"content":"empty","expect":{"tool_result_contains":"0 cells"}}`, `{"content":"never"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
	require.Len(t, p.history(), 4)
}

func TestTL6_ValidSubmissionEndsTheTurn(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]string{
		"done": "done", "executing": "done", "fixing": "done", "thinking": "done",
		"awaiting_user_response": "awaiting_user_response", "awaiting_cell_execution": "awaiting_cell_execution",
		"awaiting_user_widget_input": "awaiting_user_widget_input",
	} {
		p := startTools(t, builtin.Config{}, uses("submit_response", fmt.Sprintf(`{"summary":"s","next_status":%q,"plan":["a"],"questions":"b?"}`, status)), `{"content":"never"}`)
		p.init(frame{"eval_mode": true})
		require.Equal(t, want, p.ask("go"))
		require.Equal(t, 1, calls(p))
		text, isError := p.resultText(0)
		require.False(t, isError)
		require.Equal(t, "Submitted.", text)
	}
}

func TestTL6_ContinueGoesOn(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("submit_response", `{"summary":"half","next_status":"executing","continue":true}`), submits("1"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
}

func TestTL6_InvalidSubmissionDoesNotEndTheTurn(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{},
		uses("submit_response", `{"summary":"s","next_status":"finished"}`),
		uses("submit_response", `{"next_status":"done"}`), submits("1"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 3, calls(p))
	for i, want := range []string{`next_status: "finished" does not fit {"type":"string","enum":["executing",`, "summary: missing"} {
		text, isError := p.resultText(i)
		require.True(t, isError)
		require.Contains(t, text, want)
	}
}

// Who sees the submission may take the work for finished: it is told of, and
// run, after everything else in its reply. Results keep the order of the calls.
func TestTL6_SubmissionComesAfterAllOtherResults(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, strings.ReplaceAll(`{"content":[{"type":"tool_use","id":"s","name":"submit_response","input":{"summary":"[EVAL_COMPLETE]","next_status":"done"}},
		{"type":"tool_use","id":"c","name":"create_cell","input":{"position":0,"source":"print 1","auto_run":true}}]}`, "\n", ""))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	var order []string
	for _, f := range p.seen() {
		switch f.text("type") {
		case "agent_action", "agent_history_updated":
			order = append(order, f.text("type")+f.object("entry").text("role"))
		}
	}
	require.Equal(t, []string{"agent_history_updateduser", "agent_action", "agent_history_updatedassistant", "agent_history_updateduser"}, order)
	results := p.results()
	require.Equal(t, "s", results[0].ToolUseID)
	require.Equal(t, "c", results[1].ToolUseID)
}

func TestTL7_OneNudgeDuringAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"I am done"}`, `{"content":"Really","expect":{"last_user_contains":"submit_response"}}`, `{"content":"never"}`)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))

	p = startTools(t, builtin.Config{}, `{"content":""}`, submits("1"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
}

func TestTL7_NoNudgeWithoutAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"I am done"}`, `{"content":"never"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 1, calls(p))
}

// The data of a case stands behind the query, in the first message.
func TestTL2_ContextualNodeData(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"x"}`)
	p.init(nil)
	p.send(frame{"type": "agent_query", "query": "count", "request_id": "q1", "contextual_node_data": []frame{{"type": "File", "path": "a.csv"}}})
	p.await(0, "done", func(f frame) bool { return f.text("status") == "done" })
	require.Equal(t, "count\n\n<ContextualNodeData>[{\"path\":\"a.csv\",\"type\":\"File\"}]</ContextualNodeData>", p.history()[0].Content[0].Text)
}

func TestTL7_EmptyQuery(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, `{"content":"x"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask(" "))
	require.Equal(t, "the query is empty", p.of("agent_error")[0].text("error"))
	require.Empty(t, p.history())
}

// A call that was cut is never run; the next reply has twice the room.
func TestCO5_MaxTokens(t *testing.T) {
	t.Parallel()
	cut := `{"content":[{"type":"text","text":"I will"},{"type":"tool_use","name":"get_context","input":{}},{"type":"tool_use","name":"create_cell","input":{"position":0,"source":"x"}}],"stop_reason":"max_tokens","usage":{"output_tokens":7}}`
	p := startTools(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, cut, `{"content":"short","expect":{"last_user_contains":"cut off at 50 tokens"}}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Empty(t, p.of("agent_action"))
	require.Equal(t, assistant(model.Text("I will")), p.history()[1])

	onlyCall := uses("create_cell", `{"position":0,"source":"x"}`)
	onlyCall = strings.TrimSuffix(onlyCall, "}") + `,"stop_reason":"max_tokens","usage":{"output_tokens":99}}`
	p = startTools(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, onlyCall, onlyCall, `{"content":"never"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
	require.Empty(t, p.of("agent_action"))
	limit := p.events("limit")[0].object("metadata")
	require.Equal(t, "max_tokens", limit.text("limit"))
	require.InDelta(t, 100, limit["configured"], 0)
	require.InDelta(t, 99, limit["measured"], 0)
}

// The second try asks for more than the model may say: what is reached is the
// limit, and no fault of the agent.
func TestCO5_TwiceTheRoomIsRefused(t *testing.T) {
	t.Parallel()
	cut := `{"content":"I will","stop_reason":"max_tokens","usage":{"output_tokens":50}}`
	refusal := `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100 > 64"}}}}`
	p := startTools(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, cut, refusal, `{"content":"again"}`)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "limit reached: max_tokens 50 of 50", p.events("limit")[0].text("text"))
	require.Len(t, p.of("agent_error"), 1)
	require.Equal(t, false, p.of("agent_error")[0]["fatal"])
	require.Equal(t, "a reply of up to 100 tokens, as the last was cut off at 50, was refused: script: 400 invalid_request_error: max_tokens: 100 > 64",
		p.of("agent_error")[0].text("error"))

	for want, lines := range map[string][]string{"400": {refusal}, "401": {cut, strings.ReplaceAll(refusal, "400", "401")}} {
		p = startTools(t, builtin.Config{Params: model.Params{MaxTokens: 50}}, lines...)
		p.init(frame{"eval_mode": true})
		require.Contains(t, p.ask("go"), "script: "+want, "it is not the room that is refused")
		require.Empty(t, p.events("limit"))
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
		"calls though it is the end": {[]string{strings.TrimSuffix(uses("get_context", `{}`), "}") + `,"stop_reason":"end_turn"}`, `{"content":"b"}`}, 2, ""},
		"tool_use without calls":     {[]string{`{"content":"a","stop_reason":"tool_use"}`}, 1, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startTools(t, builtin.Config{}, c.lines...)
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, c.calls, calls(p))
			if c.error == "" {
				require.Empty(t, p.of("agent_error"))
				return
			}
			require.Equal(t, c.error, p.of("agent_error")[0].text("error"))
			require.Equal(t, false, p.of("agent_error")[0]["fatal"])
		})
	}
}

// A reply that does not say why it stopped is kept, and nothing of it is run.
func TestCO5_NoStopReason(t *testing.T) {
	t.Parallel()
	p, h := startReplies(t, builtin.Config{}, nil, &model.Response{Content: []model.Block{model.Text("a"), call("x")}})
	h.last = replies(model.Text("fine"))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, `the model stopped for the unknown reason ""`, p.of("agent_error")[0].text("error"))
	require.Empty(t, p.of("agent_action"))
	require.Equal(t, "done", p.ask("again"))
	text, isError := p.resultText(0)
	require.True(t, isError)
	require.Contains(t, text, "was interrupted")
}

// A conversation that is too long is compacted once, whether the model says so
// or the API refuses it.
func TestCO5_ContextExceeded(t *testing.T) {
	t.Parallel()
	tooLong := map[string]string{
		"reply":   `{"content":"part","stop_reason":"model_context_window_exceeded"}`,
		"refusal": `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5 > 4"}}}}`,
	}
	for name, line := range tooLong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look := uses("get_context", `{}`)
			p := startTools(t, builtin.Config{}, look, look, look, look, look, line, `{"content":"done"}`, `{"content":"never"}`)
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			require.Empty(t, p.events("limit"))
			require.Len(t, p.events("compacted"), 1)
			require.Equal(t, "The conversation was too long: its 2 oldest rounds were dropped.", p.events("compacted")[0].text("text"))
			require.Empty(t, p.events("response"), "it is nothing that the agent says")
		})
	}
}

func TestCO5_ContextExceededTwice(t *testing.T) {
	t.Parallel()
	look, full := uses("get_context", `{}`), `{"content":"part","stop_reason":"model_context_window_exceeded"}`
	p := startTools(t, builtin.Config{}, look, look, look, look, full, full, `{"content":"never"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Len(t, p.events("compacted"), 1)
	require.Equal(t, "context", p.events("limit")[0].object("metadata").text("limit"))
	require.Equal(t, "limit reached: context (the conversation is longer than the model reads)", p.events("limit")[0].text("text"))
	require.Equal(t, 6, calls(p))
}

func TestCO5_ContextExceededWithNothingToDrop(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{ModelName: "anthropic/claude-opus-4-5"}, `{"content":"part","stop_reason":"model_context_window_exceeded"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	limit := p.events("limit")[0]
	require.Equal(t, "limit reached: context (the conversation is longer than the 200000 tokens that the model reads)", limit.text("text"))
	require.InDelta(t, 200_000, limit.object("metadata")["configured"], 0)
}

func TestCO8_LimitsAreCheckedBeforeEachCall(t *testing.T) {
	t.Parallel()
	price := "anthropic/claude-opus-4-5"
	cases := map[string]struct {
		limits               builtin.Limits
		init                 frame
		configured, measured float64
	}{
		"turns":     {builtin.Limits{Turns: 2}, nil, 2, 2},
		"tokens":    {builtin.Limits{Tokens: 3_000_000}, nil, 3_000_000, 4_000_000},
		"cost_usd":  {builtin.Limits{CostUSD: 9}, nil, 9, 16},
		"actions":   {builtin.Limits{Actions: 2}, nil, 2, 2},
		"wall_s":    {builtin.Limits{Wall: 90 * time.Second}, nil, 90, 120},
		"from init": {builtin.Limits{Turns: 9}, frame{"turns": 2, "wall_s": 0}, 2, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := strings.TrimSuffix(uses("get_context", `{}`), "}") + `,"usage":{"input_tokens":500000,"output_tokens":100000,"cache_read_input_tokens":1000000,"cache_creation_input_tokens":400000}}`
			now := time.Unix(1000, 0)
			p := startTools(t, builtin.Config{Limits: c.limits, ModelName: price, Clock: func() time.Time { return now }}, line, line, line, `{"content":"never"}`)
			p.onAction(func(string, frame, string) bool { now = now.Add(time.Minute); return false })
			p.init(frame{"eval_mode": true, "limits": c.init})
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, 2, calls(p))
			limit := p.events("limit")[0].object("metadata")
			require.Equal(t, strings.Replace(name, "from init", "turns", 1), limit.text("limit"))
			require.InDelta(t, c.configured, limit["configured"], 1e-9)
			require.InDelta(t, c.measured, limit["measured"], 1e-9)
			require.Contains(t, p.events("limit")[0].text("text"), "limit reached: ")
		})
	}
}

// Outside of an evaluation a person may go on after a limit.
func TestCO8_LimitsCountAnewForEachQuery(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{Limits: builtin.Limits{Turns: 1}}, `{"content":"a"}`, `{"content":"b"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "done", p.ask("go"))
	require.Empty(t, p.events("limit"))
	require.Equal(t, 2, calls(p))
}

func TestCO8_UsageIsSummedAndCacheKeptApart(t *testing.T) {
	t.Parallel()
	usage := `"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4}`
	p := startTools(t, builtin.Config{ModelName: "anthropic/claude-opus-4-5"}, strings.TrimSuffix(uses("get_context", `{}`), "}")+","+usage+"}", `{"content":"a",`+usage+`}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	last := p.of("agent_usage_update")[1]
	cost := last["cost_usd"]
	delete(last, "cost_usd")
	require.Equal(t, frame{
		"type": "agent_usage_update", "input_tokens": 2.0, "output_tokens": 4.0, "cache_creation_input_tokens": 6.0,
		"cache_read_input_tokens": 8.0, "context_limit": 200_000.0,
	}, last)
	require.InDelta(t, (2*5+4*25+6*6.25+8*0.5)/1e6, cost, 1e-12)
	require.Equal(t, frame{"input_tokens": 1.0, "output_tokens": 2.0, "cache_creation_input_tokens": 3.0, "cache_read_input_tokens": 4.0},
		p.of("agent_history_updated")[1].object("entry").object("usage"))
}

// A price that is not known is not 0: no cost is told, and a limit on it is said
// not to hold.
func TestCO8_UnknownPrice(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{ModelName: "script:x", Limits: builtin.Limits{CostUSD: 1e-9}}, `{"content":"a","usage":{"input_tokens":100}}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.NotContains(t, p.of("agent_usage_update")[0], "cost_usd")
	require.Equal(t, `the cost limit of 1e-09 USD is not enforced: the price of "script:x" is not known`, p.of("agent_error")[0].text("error"))
	require.Equal(t, false, p.of("agent_error")[0]["fatal"])
}
