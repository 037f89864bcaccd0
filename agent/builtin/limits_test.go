package builtin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
)

func TestCO8_LimitsAreCheckedBeforeEachCall(t *testing.T) {
	t.Parallel()
	price := "anthropic/claude-opus-4-5"
	cases := map[string]struct {
		limits               builtin.Limits
		init                 frame
		configured, measured float64
	}{
		"turns":     {builtin.Limits{MaxTurns: 2}, nil, 2, 2},
		"tokens":    {builtin.Limits{MaxTokens: 3_000_000}, nil, 3_000_000, 4_000_000},
		"cost_usd":  {builtin.Limits{MaxCostUSD: 9}, nil, 9, 16},
		"actions":   {builtin.Limits{MaxActions: 2}, nil, 2, 2},
		"wall_s":    {builtin.Limits{WallTimeout: 90 * time.Second}, nil, 90, 120},
		"from init": {builtin.Limits{MaxTurns: 9}, frame{"turns": 2, "wall_s": 0}, 2, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := strings.TrimSuffix(agenttest.ToolCallScriptLine("get_context", `{}`), "}") + `,"usage":{"input_tokens":500000,"output_tokens":100000,"cache_read_input_tokens":1000000,"cache_creation_input_tokens":400000}}`
			now := time.Unix(1000, 0)
			p := startToolsAgent(t, builtin.Config{Limits: c.limits, ModelName: price, Clock: func() time.Time { return now }}, line, line, line, `{"content":"never"}`)
			p.SetActionHook(func(string, frame, string) bool { now = now.Add(time.Minute); return false })
			p.InitAndAwaitReady(frame{"eval_mode": true, "limits": c.init})
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, 2, p.ModelReplyCount())
			limit := p.EventsOfType("limit")[0].ObjectField("metadata")
			require.Equal(t, strings.Replace(name, "from init", "turns", 1), limit.StringField("limit"))
			require.InDelta(t, c.configured, limit["configured"], 1e-9)
			require.InDelta(t, c.measured, limit["measured"], 1e-9)
			require.Contains(t, p.EventsOfType("limit")[0].StringField("text"), "limit reached: ")
		})
	}
}

// Outside of an evaluation the limits start anew with each query.
func TestCO8_LimitsStartAnewWithEachQuery(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{Limits: builtin.Limits{MaxTurns: 1}}, `{"content":"a"}`, `{"content":"b"}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Empty(t, p.EventsOfType("limit"))
	require.Equal(t, 2, p.ModelReplyCount())
}

func TestCO8_UsageIsSummedByKindOfToken(t *testing.T) {
	t.Parallel()
	usage := `"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4}`
	p := startToolsAgent(t, builtin.Config{ModelName: "anthropic/claude-opus-4-5"}, strings.TrimSuffix(agenttest.ToolCallScriptLine("get_context", `{}`), "}")+","+usage+"}", `{"content":"a",`+usage+`}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	last := p.FramesOfType("agent_usage_update")[1]
	cost := last["cost_usd"]
	delete(last, "cost_usd")
	require.Equal(t, frame{
		"type": "agent_usage_update", "input_tokens": 2.0, "output_tokens": 4.0, "cache_creation_input_tokens": 6.0,
		"cache_read_input_tokens": 8.0, "context_limit": 200_000.0,
	}, last)
	require.InDelta(t, (2*5+4*25+6*6.25+8*0.5)/1e6, cost, 1e-12)
	require.Equal(t, frame{"input_tokens": 1.0, "output_tokens": 2.0, "cache_creation_input_tokens": 3.0, "cache_read_input_tokens": 4.0},
		p.FramesOfType("agent_history_updated")[1].ObjectField("entry").ObjectField("usage"))
}

// If the price of the model is unknown, no cost is sent, and the agent says that the cost
// limit is not enforced.
func TestCO8_UnknownPrice(t *testing.T) {
	t.Parallel()
	p := startToolsAgent(t, builtin.Config{ModelName: "script:x", Limits: builtin.Limits{MaxCostUSD: 1e-9}}, `{"content":"a","usage":{"input_tokens":100}}`)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.NotContains(t, p.FramesOfType("agent_usage_update")[0], "cost_usd")
	require.Equal(t, `the cost limit of 1e-09 USD is not enforced: the price of "script:x" is not known`, p.FramesOfType("agent_error")[0].StringField("error"))
	require.Equal(t, false, p.FramesOfType("agent_error")[0]["fatal"])
}
