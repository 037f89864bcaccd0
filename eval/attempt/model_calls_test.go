package attempt_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/runs"
	"assay/internal/trace"
)

// Entries about calls of models.
const (
	modelCallBegins       = `agent>model {"type":"model_call","call":1,"api":"messages","path":"/v1/messages","model":"m","request":{"stream":true}}`
	wholeCallBegins       = `agent>model {"type":"model_call","call":1,"api":"messages","path":"/v1/messages","model":"m","request":{}}`
	modelCall2Begins      = `agent>model {"type":"model_call","call":2,"api":"messages","path":"/v1/messages","model":"m","request":{"stream":true}}`
	modelCallWaits        = `agent>model {"type":"model_wait","call":1,"over":false}`
	modelCallAdmitted     = `agent>model {"type":"model_wait","call":1,"over":true}`
	modelCall2Waits       = `agent>model {"type":"model_wait","call":2,"over":false}`
	modelCall2Goes        = `agent>model {"type":"model_wait","call":2,"over":true}`
	modelIsSilent         = `model>agent {"type":"model_silence","call":1,"silent_ms":10000,"over":false}`
	model2IsSilent        = `model>agent {"type":"model_silence","call":2,"silent_ms":10000,"over":false}`
	modelGoesOn           = `model>agent {"type":"model_silence","call":1,"silent_ms":20000,"over":true}`
	modelReplies          = `model>agent {"type":"model_reply","call":1,"status":200,"complete":true,"cost_usd":0.25,"response":{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":4,"cache_creation_input_tokens":5,"cache_read_input_tokens":6}}}`
	modelReplies2         = `model>agent {"type":"model_reply","call":2,"status":200,"complete":true,"cost_usd":0.5,"response":{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":20}}}`
	modelRefuses          = `model>agent {"type":"model_reply","call":1,"status":429,"complete":false,"cost_usd":null,"error":"anthropic: 429 rate_limit_error: slowly","refused":true,"retry_after_ms":30000}`
	modelRefusesForAnHour = `model>agent {"type":"model_reply","call":1,"status":429,"complete":false,"cost_usd":null,"error":"anthropic: 429 rate_limit_error: slowly","refused":true,"retry_after_ms":3600000}`
	modelIsDown           = `model>agent {"type":"model_reply","call":1,"status":502,"complete":false,"cost_usd":null,"error":"the model's API did not reply","refused":true}`
	modelLimitReached     = `model>agent {"type":"model_reply","call":1,"status":403,"complete":false,"cost_usd":null,"error":"tokens: configured 5, measured 7","limit":"tokens"}`
)

// What the agent waits for its models does not count towards the time limits, up to three times the wall
// limit. If the models are the cause for most of the time, the agent is not.
func TestWaitsForModelsDoNotCount(t *testing.T) {
	t.Parallel()
	const wall = "wall: configured 1m0s, measured 1m0s"
	for name, c := range map[string]struct {
		frames []string
		limits runs.Limits
		want   runs.Outcome
		detail string
		after  time.Duration
		waited time.Duration
	}{
		"no call":                    {nil, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"a slow reply counts":        {[]string{modelCallBegins}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"for other calls":            {[]string{modelCallBegins, modelCallWaits, "wait 100s", modelCallAdmitted, modelReplies}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, 160 * time.Second, 100 * time.Second},
		"without end":                {[]string{modelCallBegins, modelCallWaits}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeAgentError, "the model refused calls, or others were made first, for 3m0s of 3m0s, until the time of the attempt was over (wall: configured 1m0s)", 3 * time.Minute, 3 * time.Minute},
		"while another is answered":  {[]string{modelCall2Begins, modelCallBegins, modelCallWaits, "wait 30s", modelCallAdmitted}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"after another is answered":  {[]string{modelCallBegins, modelCall2Begins, modelCall2Waits, "wait 50s", modelReplies, modelCall2Goes}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"until another is answered":  {[]string{modelCallBegins, modelCallWaits, "wait 20s", modelCall2Begins, "wait 10s", modelReplies2, "wait 5s", modelCallAdmitted}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, 85 * time.Second, 25 * time.Second},
		"until the agent acts":       {[]string{modelCallBegins, modelIsDown, "wait 2s", "agent>server " + actionLine("t1", "get_context", "{}")}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, 62 * time.Second, 2 * time.Second},
		"as long as the API asks":    {[]string{modelCallBegins, modelRefuses}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, 90 * time.Second, 30 * time.Second},
		"until the next call":        {[]string{modelCallBegins, modelRefuses, "wait 7s", modelCall2Begins, modelReplies2}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, 67 * time.Second, 7 * time.Second},
		"a minute, if it says not":   {[]string{modelCallBegins, modelIsDown}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, 2 * time.Minute, time.Minute},
		"silent for most of it":      {[]string{modelCallBegins, "wait 10s", modelIsSilent}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeAgentError, "the model was silent for 1m0s of 1m0s, until the time of the attempt was over (wall: configured 1m0s)", time.Minute, 0},
		"silent for some of it":      {[]string{"wait 35s", modelCallBegins, "wait 10s", modelIsSilent}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"silent in one piece":        {[]string{wholeCallBegins, "wait 10s", modelIsSilent, "wait 40s", modelReplies}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"silent in no piece":         {[]string{wholeCallBegins, "wait 10s", modelIsSilent}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeAgentError, "the model was silent for 1m0s of 1m0s, until the time of the attempt was over (wall: configured 1m0s)", time.Minute, 0},
		"silent, and another waits":  {[]string{modelCallBegins, "wait 10s", modelIsSilent, modelCall2Begins, modelCall2Waits, "wait 45s", modelCall2Goes}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeAgentError, "the model was silent for 55s of 1m0s, until the time of the attempt was over (wall: configured 1m0s)", time.Minute, 0},
		"silent for a while":         {[]string{modelCallBegins, "wait 10s", modelIsSilent, "wait 10s", modelGoesOn}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"silence of an ended call":   {[]string{modelCallBegins, "wait 10s", modelReplies, modelIsSilent}, runs.Limits{WallTimeoutS: 60, IdleTimeoutS: 30}, runs.OutcomeLimit, "idle: configured 30s, measured 30s", 40 * time.Second, 0},
		"two silent at once":         {[]string{"wait 35s", modelCallBegins, modelCall2Begins, "wait 10s", modelIsSilent, model2IsSilent}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"two, one after the other":   {[]string{modelCallBegins, "wait 10s", modelIsSilent, "wait 15s", modelReplies, modelCall2Begins, "wait 10s", model2IsSilent}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeAgentError, "the model was silent for 1m0s of 1m0s, until the time of the attempt was over (wall: configured 1m0s)", time.Minute, 0},
		"one, and another is not":    {[]string{modelCallBegins, "wait 10s", modelIsSilent, modelCall2Begins, "wait 40s", modelReplies2}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 0},
		"idle while it replies":      {[]string{modelCallBegins, "wait 100s", modelReplies}, runs.Limits{IdleTimeoutS: 30}, runs.OutcomeLimit, "idle: configured 30s, measured 30s", 130 * time.Second, 0},
		"idle while it is down":      {[]string{modelCallBegins, modelIsDown}, runs.Limits{IdleTimeoutS: 30}, runs.OutcomeLimit, "idle: configured 30s, measured 30s", 90 * time.Second, time.Minute},
		"idle after a short wait":    {[]string{modelCallBegins, modelRefusesForAnHour, "wait 5s", modelCall2Begins, modelReplies2}, runs.Limits{IdleTimeoutS: 30}, runs.OutcomeLimit, "idle: configured 30s, measured 30s", 35 * time.Second, 5 * time.Second},
		"reported delays do not add": {[]string{retryEvent(50_000, 1)}, runs.Limits{WallTimeoutS: 60}, runs.OutcomeLimit, wall, time.Minute, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				journal := trace.NewJournal("s")
				w := attempt.NewWatcher(journal, c.limits)
				began := time.Now()
				playing := playInBackground(t, journal, c.frames)
				got, detail, _ := w.NextVerdict(t.Context())
				require.Equal(t, c.want, got)
				require.Equal(t, c.detail, detail)
				require.Equal(t, c.after, time.Since(began))
				require.Equal(t, c.waited, w.ModelWaitTime())
				<-playing
				w.Close()
			})
		})
	}
}

// Waits and silence from before the task do not count.
func TestWaitsBeforeTheTaskDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcherBeforeTask(journal, runs.Limits{WallTimeoutS: 60})
		for _, line := range []string{modelCallBegins, modelCallWaits, "wait 50s", modelCallAdmitted, "wait 40s", modelIsSilent} {
			<-playInBackground(t, journal, []string{line})
		}
		w.StartTask()
		<-playInBackground(t, journal, []string{"wait 1s", modelReplies})
		began := time.Now()
		got, detail, _ := w.NextVerdict(t.Context())
		require.Equal(t, runs.OutcomeLimit, got)
		require.Equal(t, "wall: configured 1m0s, measured 1m0s", detail)
		require.Equal(t, 59*time.Second, time.Since(began))
		require.Zero(t, w.ModelWaitTime())
		w.Close()
	})
}

// playInBackground appends entries to the journal, with pauses, and closes the channel after the last one.
func playInBackground(t *testing.T, journal *trace.Journal, lines []string) (played <-chan struct{}) {
	t.Helper()
	var steps []func()
	for _, line := range lines {
		hop, rest, _ := strings.Cut(line, " ")
		if hop == "wait" {
			pause, err := time.ParseDuration(rest)
			require.NoError(t, err)
			steps = append(steps, func() { <-time.After(pause) })
			continue
		}
		entry := parseEntry(t, hop, rest)
		steps = append(steps, func() { journal.Append(entry) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, step := range steps {
			step()
		}
	}()
	return done
}

// Tokens, cost and calls are those of the calls that went through the server, with what the agent has reported
// beside them.
func TestUsageIsThatOfTheCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		for _, frame := range []string{
			modelCallBegins, modelReplies, modelCall2Begins, modelReplies2,
			modelCallBegins, modelRefuses, modelCall2Begins,
			`agent>server {"type":"agent_usage_update","input_tokens":1,"output_tokens":2,"cost_usd":9}`, frameAgentDone,
		} {
			playTestCaseLine(t, journal, frame)
		}
		_, _, _ = w.NextVerdict(t.Context())
		cost, reported := 0.75, 9.0
		require.Equal(t, runs.Usage{
			InputTokens: 24, OutputTokens: 24, CostUSD: &cost, ModelCalls: 2, Retries: 1, CacheReadInputTokens: 6, CacheCreationInputTokens: 5,
			Reported: &runs.ReportedUsage{InputTokens: 1, OutputTokens: 2, CostUSD: &reported},
		}, w.Usage())
		w.Close()
	})
}

// A call that got no reply has cost nothing, which is known.
func TestCostOfRefusedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		for _, frame := range []string{modelCallBegins, modelIsDown, frameAgentDone} {
			playTestCaseLine(t, journal, frame)
		}
		_, _, _ = w.NextVerdict(t.Context())
		require.NotNil(t, w.Usage().CostUSD)
		require.Zero(t, *w.Usage().CostUSD)
		w.Close()
	})
}

// A cost that is not known for one call is not known for the attempt.
func TestCostOfAnUnknownPrice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		for _, frame := range []string{
			modelCallBegins, modelReplies, modelCall2Begins,
			`model>agent {"type":"model_reply","call":2,"status":200,"complete":true,"cost_usd":null,"response":{"content":[],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}}`,
			modelCallBegins, modelReplies, frameAgentDone,
		} {
			playTestCaseLine(t, journal, frame)
		}
		_, _, _ = w.NextVerdict(t.Context())
		require.Nil(t, w.Usage().CostUSD)
		require.Nil(t, w.Usage().Reported)
		require.Equal(t, 3, w.Usage().ModelCalls)
		w.Close()
	})
}

// A call that is refused because of a limit ends the attempt, unless the answer was submitted.
func TestRefusedCallEndsTheAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		w := attempt.NewWatcher(journal, runs.Limits{})
		playTestCaseLine(t, journal, modelCallBegins)
		playTestCaseLine(t, journal, modelLimitReached)
		got, detail, _ := w.NextVerdict(t.Context())
		require.Equal(t, runs.OutcomeLimit, got)
		require.Equal(t, "tokens: configured 5, measured 7", detail)
		w.Close()

		submitted := trace.NewJournal("s")
		w = attempt.NewWatcher(submitted, runs.Limits{})
		for _, frame := range []string{historyMessageFrame("assistant", `[{"type":"tool_use","id":"s","name":"submit_response","input":{"summary":"[EVAL_COMPLETE]"}}]`), modelCallBegins, modelLimitReached, frameAgentDone} {
			playTestCaseLine(t, submitted, frame)
		}
		got, _, _ = w.NextVerdict(t.Context())
		require.Equal(t, runs.OutcomeCompleted, got)
		w.Close()
	})
}
