package attempt_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/redact"
	"assay/internal/trace"
)

// Only the fields that are needed are decoded: a field of an unexpected type that is not needed
// loses no submission, and of a message with an unreadable part the rest is used.
func TestSubmissionInUnusualMessageCounts(t *testing.T) {
	t.Parallel()
	const block = `{"type":"tool_use","name":"submit_response","input":{"summary":"x [EVAL_COMPLETE]","next_status":"done"}}`
	entry := func(fields, content string) string {
		return `agent>server {"type":"agent_history_updated","session_id":1,"request_id":7,"entry":{` + fields + `"role":"assistant","content":` + content + `}}`
	}
	for name, tc := range map[string]struct {
		frame   string
		problem string // of the entry in the trace; empty: there is none
	}{
		"a numeric timestamp":       {entry(`"type":"anthropic_message","timestamp":1763870000.5,"request_id":7,`, `[`+block+`]`), ""},
		"no type":                   {entry(``, `[`+block+`]`), ""},
		"a number as next_status":   {entry(`"type":"anthropic_message",`, `[`+strings.Replace(block, `"done"`, `1`, 1)+`]`), ""},
		"usage as a text":           {entry(`"type":"anthropic_message","usage":"none",`, `[`+block+`]`), ""},
		"a block that is none":      {entry(`"type":"anthropic_message",`, `["text",`+block+`]`), `entry.content[0]: want an object, found \"text\"`},
		"more blocks than are read": {entry(`"type":"anthropic_message",`, `[`+block+strings.Repeat(`,{}`, 10_000)+`]`), "entry.content: more than 10000 blocks: the rest is not read"},
		"a block without a name":    {entry(`"type":"anthropic_message",`, `[{"type":"text","name":5},`+block+`]`), "entry.content[0].name: want a text, found 5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				requireVerdict(t, []string{tc.frame}, runs.OutcomeCompleted, "", 0)
			})
			require.Equal(t, tc.problem, problemNoted(t, tc.frame))
		})
	}
}

// What cannot be read of the agent's messages is noted in the trace.
func TestUnreadableMessageIsNoted(t *testing.T) {
	t.Parallel()
	for frame, problem := range map[string]string{
		submissionFrame(`"[EVAL_COMPLETE]"`):                                                                                    `the input of submit_response: want an object, found \"[EVAL_COMPLETE]\"`,
		submissionFrame(`{"summary":["[EVAL_COMPLETE]"]}`):                                                                      `the input of submit_response: summary: want a text, found [\"[EVAL_COMPLETE]\"]`,
		`agent>server {"type":"agent_history_updated","entry":[]}`:                                                              "entry: want an object, found []",
		`agent>server {"type":"agent_history_updated","entry":{"type":1}}`:                                                      "entry.type: want a text, found 1",
		`agent>server {"type":"agent_history_updated","entry":{"type":"anthropic_message"}}`:                                    "entry.role is missing",
		`agent>server {"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant","content":{}}}`:    "entry.content: want a text or a list of blocks, found {}",
		`agent>server {"type":"agent_history_updated","entry":{"type":"note"}}`:                                                 "",
		`agent>server {"type":"agent_history_updated","entry":{"type":"anthropic_message","role":"assistant"}}`:                 "",
		`agent>server {"type":"agent_result","structured_output":"x"}`:                                                          `structured_output: want an object, found \"x\"`,
		`agent>server {"type":"agent_usage_update","input_tokens":-1}`:                                                          "-1 tokens: want a number from 0 to 1e+15",
		`agent>server {"type":"agent_usage_update","input_tokens":9000000000000000000,"cache_read_input_tokens":9000000000000}`: "9000000000000000000 tokens: want a number from 0 to 1e+15",
		`agent>server {"type":"agent_usage_update","cost_usd":-0.5}`:                                                            "cost_usd -0.5: want a number from 0 to 1e+09",
		`agent>server {"type":"agent_usage_update","cost_usd":1.7e308}`:                                                         "cost_usd 1.7e+308: want a number from 0 to 1e+09",
	} {
		require.Equal(t, problem, problemNoted(t, frame), frame)
	}
}

// problemNoted returns the problem in the trace entry that a watcher adds when it reads a frame, with
// the escapes of its JSON; "" if it adds none.
func problemNoted(t *testing.T, frame string) string {
	t.Helper()
	journal := trace.NewJournal("s")
	follower := journal.Follow()
	defer follower.Close()
	w := attempt.NewWatcher(journal, runs.Limits{})
	playTestCaseLine(t, journal, frame)
	playTestCaseLine(t, journal, `session {"type":"peer_ended","action":"agent"}`)
	w.NextVerdict(t.Context())
	w.CountRemainingAndClose()
	for e := follower.TryNext(); e != nil; e = follower.TryNext() {
		if e.Type == attempt.EntryTypeUnreadable {
			_, problem, _ := strings.Cut(string(e.Body), `"problem":"`)
			problem, _, _ = strings.Cut(problem, `","seq":`)
			return problem
		}
	}
	return ""
}

// Secrets are replaced in the text of an outcome before anyone shortens it, after which they could not be found.
func TestDetailHasNoSecrets(t *testing.T) {
	t.Parallel()
	redactor, err := redact.New(redact.Config{Environ: []string{"SERVICE_TOKEN=0123456789-abcdef"}})
	require.NoError(t, err)
	result, _ := runAttempt(t, submitsAtOnce, map[string]any{"id": "printed", "task": "t"}, func(cfg *attempt.Config) {
		cfg.Redactor = redactor
		cfg.AgentConfig = func(string) (agent.Config, error) {
			return agent.Config{Command: []string{"sh", "-c", "echo the token is 0123456789-abcdef; exit 3"}}, nil
		}
	})
	require.Contains(t, result.Detail, "the token is [redacted SERVICE_TOKEN]")
}
