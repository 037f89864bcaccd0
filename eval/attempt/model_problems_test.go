package attempt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/trace"
)

// The detail of an agent's error has why its last call of a model has failed, unless a later one succeeded, the agent
// itself has ended it, or the detail has that already.
func TestFailureOfTheLastModelCall(t *testing.T) {
	t.Parallel()
	const (
		noKey    = `model>agent {"type":"model_reply","call":1,"status":404,"complete":false,"cost_usd":null,"error":"there is no key"}`
		wrongKey = `model>agent {"type":"model_rejected","path":"/v1/messages","status":401,"error":"the API key is wrong"}`
		hasGone  = `model>agent {"type":"model_reply","call":1,"status":0,"complete":false,"cost_usd":null,"error":"the agent has closed the connection"}`
	)
	for name, c := range map[string]struct {
		frames []string
		want   string
	}{
		"none":                        {nil, ""},
		"no key":                      {[]string{modelCallBegins, noKey}, "; its last call of a model failed: there is no key"},
		"then a success":              {[]string{modelCallBegins, noKey, modelCall2Begins, modelReplies2}, ""},
		"the agent has gone":          {[]string{modelCallBegins, hasGone}, ""},
		"a limit":                     {[]string{modelCallBegins, modelLimitReached}, ""},
		"refused for now":             {[]string{modelCallBegins, modelIsDown}, "; its last call of a model failed: the model's API did not reply"},
		"the detail has it":           {[]string{modelCallBegins, modelRefuses}, ""},
		"no call":                     {[]string{wrongKey}, "; its last call of a model failed: the API key is wrong"},
		"no call, and then a success": {[]string{wrongKey, modelCallBegins, modelReplies}, ""},
		"no call after a success":     {[]string{modelCallBegins, modelReplies, wrongKey}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := trace.NewJournal("s")
			w := attempt.NewWatcher(journal, runs.Limits{})
			for _, frame := range c.frames {
				playTestCaseLine(t, journal, frame)
			}
			w.CountRemainingAndClose()
			require.Equal(t, c.want, w.DescribeModelFailure("the model says: 429 rate_limit_error: slowly"))
		})
	}
}

// A limit on cost that meets tokens without a price is named.
func TestUnenforcedCost(t *testing.T) {
	t.Parallel()
	const (
		unpriced = `model>agent {"type":"model_reply","call":1,"status":200,"model":"script:x","complete":true,"cost_usd":null,"response":{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}}`
		reported = `agent>server {"type":"agent_usage_update","input_tokens":5,"output_tokens":1}`
	)
	for name, c := range map[string]struct {
		limit  float64
		frames []string
		want   string
	}{
		"no limit":  {0, []string{modelCallBegins, unpriced}, ""},
		"no call":   {1, nil, ""},
		"priced":    {1, []string{modelCallBegins, modelReplies}, ""},
		"unpriced":  {1, []string{modelCallBegins, unpriced, modelCall2Begins, modelReplies2}, "the limit on cost was not enforced: the price of script:x is not known"},
		"by report": {1, []string{reported}, "the limit on cost was not enforced: the agent has reported tokens and no cost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			journal := trace.NewJournal("s")
			w := attempt.NewWatcher(journal, runs.Limits{MaxCostUSD: c.limit})
			for _, frame := range c.frames {
				playTestCaseLine(t, journal, frame)
			}
			w.CountRemainingAndClose()
			require.Equal(t, c.want, w.DescribeUnenforcedCost())
		})
	}
}
