package grading_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/replay"
	"assay/internal/model/script"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

// fakeJudge is a judge model that plays a script and records its requests.
type fakeJudge struct {
	client model.Client
	asked  []model.Request
}

func (b *fakeJudge) Complete(ctx context.Context, req model.Request, onDelta func(model.Delta)) (*model.Response, error) {
	b.asked = append(b.asked, req)
	return b.client.Complete(ctx, req, onDelta)
}

func (b *fakeJudge) openAsModel(string) (model.Client, error) { return b, nil }

// scriptedJudge returns a judge model that plays these script lines.
func scriptedJudge(t *testing.T, lines ...string) *fakeJudge {
	t.Helper()
	script, err := script.Parse("judge.jsonl", []byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return &fakeJudge{client: script.Client()}
}

// judgeReplyLine returns the script line that replies with this text.
func judgeReplyLine(text string) string {
	line, _ := json.Marshal(map[string]any{"content": text, "usage": map[string]int{"input_tokens": 100, "output_tokens": 7, "cache_read_input_tokens": 20}})
	return string(line)
}

func gradeByJudge(ctx context.Context, b *fakeJudge, config string, in grading.Input) grading.Result {
	c, err := pyvalue.Decode(config)
	if err != nil {
		panic(err)
	}
	in.Judge = b.openAsModel
	return grading.Grade(ctx, grading.Spec{Type: "llm_judge", Config: c, Field: "grader"}, in)
}

const (
	strictly08 = `{"prompt": "Is it right?", "model": "anthropic/claude-x", "pass_score": 0.8}`
	leniently  = `{"prompt": "Is it right?", "model": "anthropic/claude-x"}`
)

func TestJudgeVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config, reply, outcome string
		score                  float64
		text                   string
	}{
		{leniently, `{"score": 1, "passed": true, "reasoning": "all there", "successes": ["the sum"], "failures": []}`, "pass", 1, "Judge: PASS\n\n+ the sum\n+ score 1, at least 0.5: all there"},
		{leniently, `{"score": 0.5, "passed": true, "reasoning": ""}`, "pass", 0.5, ""},
		{leniently, `{"score": 0.25, "passed": false, "reasoning": "no sum", "successes": ["a"], "failures": ["b", "c"]}`, "fail", 0.25, "Judge: FAIL\n\n+ a\nx b\nx c\n\nFailures:\n- the judge says that it did not pass: no sum"},
		{leniently, `{"score": 1, "passed": false, "reasoning": "cheated"}`, "fail", 1, "did not pass: cheated"},
		{leniently, `{"score": 0.25, "passed": true, "reasoning": "fine"}`, "fail", 0.25, "- the judge says that it passed but gives only 0.25, and 0.5 is asked for: fine"},
		{strictly08, `{"score": 0.79, "passed": true, "reasoning": "fine"}`, "fail", 0.79, ""},
		{strictly08, `{"score": 0.8, "passed": true, "reasoning": "fine"}`, "pass", 0.8, ""},
		{leniently, " \n```json\n{\"score\": 1, \"passed\": true,\n\"reasoning\": \"```\"}\n```\n", "pass", 1, ""},
		{leniently, "```\n{\"score\": 1.0, \"passed\": true, \"reasoning\": \"x\"}\n```", "pass", 1, ""},
	} {
		got := gradeByJudge(t.Context(), scriptedJudge(t, judgeReplyLine(c.reply)), c.config, grading.Input{})
		require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), "%s: %s", c.reply, got.Reasoning)
		require.InDelta(t, c.score, got.Score, 0, c.reply)
		require.Contains(t, got.Reasoning, c.text)
	}
	got := gradeByJudge(t.Context(), scriptedJudge(t, judgeReplyLine(`{"score": 1, "passed": true, "reasoning": "x", "successes": ["a"]}`)), strictly08, grading.Input{})
	require.Equal(t, `{"model":"anthropic/claude-x","score":1,"pass_score":0.8,"judge_passed":true,"successes":["a"],"failures":[],"calls":1,"input_tokens":120,"output_tokens":7}`, pyvaluetest.MarshalToString(t, got.Metrics))
}

// malformedReplies returns replies of a judge that are no verdict, most of which claim
// a pass somewhere.
func malformedReplies() []string {
	const pass = `{"score": 1, "passed": true, "reasoning": "x"}`
	const fail = `{"score": 0, "passed": false, "reasoning": "x"}`
	return []string{
		"", " \n", "yes", "null", "true", "1", `"` + "passed" + `"`, "[" + pass + "]", "{}",
		"Here is my verdict: " + pass, pass + " That is all.", pass + pass, pass + "\n" + fail, fail + "\n" + pass,
		"The agent wrote " + pass + "\n\nI say:\n" + fail,
		"```json\n" + pass + "\n```\nDone.", "Sure:\n```json\n" + pass + "\n```", "```json\n" + pass, "```\n" + pass + "\n```\n```\n" + fail + "\n```",
		"```python\n" + pass + "\n```", "```json " + pass + "```", "~~~\n" + pass + "\n~~~", "<evidence>" + pass + "</evidence>", "\ufeff" + pass,
		`{"score": 1, "passed": "true", "reasoning": "x"}`, `{"score": 1, "passed": 1, "reasoning": "x"}`, `{"score": 1, "passed": null, "reasoning": "x"}`, `{"score": 1, "passed": [true], "reasoning": "x"}`,
		`{"score": "1", "passed": true, "reasoning": "x"}`, `{"score": true, "passed": true, "reasoning": "x"}`, `{"score": null, "passed": true, "reasoning": "x"}`,
		`{"score": 1e400, "passed": true, "reasoning": "x"}`, `{"score": NaN, "passed": true, "reasoning": "x"}`, `{"score": Infinity, "passed": true, "reasoning": "x"}`,
		`{"score": 1.0000001, "passed": true, "reasoning": "x"}`, `{"score": -0.1, "passed": true, "reasoning": "x"}`, `{"score": 100, "passed": true, "reasoning": "x"}`,
		`{"passed": true, "reasoning": "x"}`, `{"score": 1, "reasoning": "x"}`, `{"score": 1, "passed": true}`,
		`{"score": 1, "passed": true, "reasoning": null}`, `{"score": 1, "passed": true, "reasoning": ["x"]}`,
		`{"score": 1, "passed": true, "reasoning": "x", "successes": "all"}`, `{"score": 1, "passed": true, "reasoning": "x", "failures": [1]}`, `{"score": 1, "passed": true, "reasoning": "x", "failures": null}`,
		`{"score": 1, "passed": false, "reasoning": "x", "passed": true}`, `{"score": 0, "passed": true, "reasoning": "x", "score": 1}`, `{"score": 1, "passed": false, "reasoning": "x", "p\u0061ssed": true}`,
		`{"Score": 1, "PASSED": true, "reasoning": "x"}`, `{"score": 1, "passed": true, "reasoning": "x", "confidence": 1}`, `{"verdict": ` + pass + `}`,
		`{'score': 1, 'passed': true, 'reasoning': 'x'}`, `{"score": 1, "passed": true, "reasoning": "x",}`, `{"score": 1, "passed": true, "reasoning": "x"`, `{"score": 1, "passed": True, "reasoning": "x"}`,
	}
}

// A reply that is no verdict is requested once more and then is an error, never a pass.
func TestJudgeMalformedReplies(t *testing.T) {
	t.Parallel()
	const good = `{"score": 0.75, "passed": true, "reasoning": "on second thought"}`
	for _, text := range malformedReplies() {
		b := scriptedJudge(t, judgeReplyLine(text), judgeReplyLine(text), judgeReplyLine(good))
		got := gradeByJudge(t.Context(), b, leniently, grading.Input{})
		require.Equal(t, "model", resultOutcomeWithErrorKind(got), text)
		require.Zero(t, got.Score, text)
		require.Contains(t, got.Error.Text, "the judge gave no verdict, twice: ", text)
		require.Len(t, b.asked, 2, text)
		require.Equal(t, b.asked[0].Messages, b.asked[1].Messages[:1], "the same conversation goes on")
		if strings.TrimSpace(text) == "" {
			continue // a script identifies its position by its replies
		}
		got = gradeByJudge(t.Context(), scriptedJudge(t, judgeReplyLine(text), judgeReplyLine(good)), leniently, grading.Input{})
		require.Equal(t, "pass", resultOutcomeWithErrorKind(got), text)
		require.InDelta(t, 0.75, got.Score, 0)
		require.Equal(t, pyvalue.NewInt(2), got.Metrics.Get("calls"))
		require.Equal(t, pyvalue.NewInt(240), got.Metrics.Get("input_tokens"))
	}
}

// A complete verdict in a reply that was cut off is not accepted.
func TestJudgeReplyCutOff(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"max_tokens", "refusal", "pause_turn", "tool_use", "model_context_window_exceeded", "unheard_of"} {
		line := fmt.Sprintf(`{"content": "{\"score\": 1, \"passed\": true, \"reasoning\": \"x\"}", "stop_reason": %q}`, reason)
		got := gradeByJudge(t.Context(), scriptedJudge(t, line, line), leniently, grading.Input{})
		require.Equal(t, "model", resultOutcomeWithErrorKind(got), reason)
		require.Contains(t, got.Error.Text, fmt.Sprintf("it ended with stop reason %q", reason))
	}
}

func TestJudgeIsAskedAgainWithTheError(t *testing.T) {
	t.Parallel()
	b := scriptedJudge(t, `{"content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "{\"score\": 2, \"passed\": true, \"reasoning\": \"x\"}"}]}`,
		judgeReplyLine(`{"score": 1, "passed": true, "reasoning": "x"}`))
	got := gradeByJudge(t.Context(), b, leniently, grading.Input{})
	require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
	again := b.asked[1].Messages
	require.Len(t, again, 3)
	require.Equal(t, []model.Block{model.Text(`{"score": 2, "passed": true, "reasoning": "x"}`)}, again[1].Content)
	require.Contains(t, again[2].Content[0].Text, "That is not the reply that was asked for: score: want a number from 0 to 1, found 2.")

	b = scriptedJudge(t, `{"content": []}`, `{"content": []}`)
	gradeByJudge(t.Context(), b, leniently, grading.Input{})
	require.Equal(t, []model.Block{model.Text("(no text)")}, b.asked[1].Messages[1].Content)
}

func TestJudgeUnavailable(t *testing.T) {
	t.Parallel()
	spec := grading.Spec{Type: "llm_judge", Config: pyvaluetest.MustDecode(t, leniently)}
	got := grading.Grade(t.Context(), spec, grading.Input{})
	require.Equal(t, &pyvalue.Error{Kind: "model", Text: "there is no model here to ask"}, got.Error)
	got = grading.Grade(t.Context(), spec, grading.Input{Judge: func(name string) (model.Client, error) {
		return open.Open(name, open.Options{})
	}})
	require.Equal(t, &pyvalue.Error{Kind: "model", Text: "the model anthropic/claude-x needs an API key: set ANTHROPIC_API_KEY"}, got.Error)
}

// The script file of a judge is relative to the case file, like the case's other files.
func TestJudgeScriptFileIsRelativeToCase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "judge.jsonl"), []byte(judgeReplyLine(`{"score": 1, "passed": true, "reasoning": "x"}`)), 0o600))
	open := func(name string) (model.Client, error) { return open.Open(name, open.Options{}) }
	got := grading.Grade(t.Context(), grading.Spec{Type: "llm_judge", Config: pyvaluetest.MustDecode(t, `{"prompt": "p", "model": "script:judge.jsonl"}`)}, grading.Input{Dir: dir, Judge: open})
	require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
	require.Equal(t, pyvalue.String("script:judge.jsonl"), got.Metrics.Get("model"))
}

// Transient errors are retried three times, after the delay that the API asks for;
// other errors are not; and the retries end before the deadline.
func TestJudgeRetries(t *testing.T) {
	t.Parallel()
	const good = `{"content": "{\"score\": 1, \"passed\": true, \"reasoning\": \"x\"}"}`
	refusal := func(status int, retryAfter float64) string {
		return fmt.Sprintf(`{"error": {"status": %d, "retry_after": %g}}`, status, retryAfter)
	}
	for name, c := range map[string]struct {
		lines []string
		took  time.Duration
		calls int
		text  string // text of the error; "" means a pass
	}{
		"as the API asks":      {[]string{refusal(429, 7), refusal(529, 0.5), refusal(503, 30), good}, 37500 * time.Millisecond, 4, ""},
		"with growing pauses":  {[]string{refusal(500, 0), refusal(408, 0), refusal(409, 0), good}, 7 * time.Second, 4, ""},
		"not for ever":         {[]string{refusal(529, 0), refusal(529, 0), refusal(529, 0), refusal(529, 0), good}, 7 * time.Second, 4, "script: 529 overloaded_error: refused by the script"},
		"not what is wrong":    {[]string{refusal(400, 1), good}, 0, 1, "script: 400 invalid_request_error: refused by the script"},
		"not without a key":    {[]string{refusal(401, 1), good}, 0, 1, "script: 401 authentication_error: refused by the script"},
		"not beyond the time":  {[]string{refusal(429, 181), good}, 0, 1, "script: 429 rate_limit_error: refused by the script; there is no time left to wait 3m1s and try again"},
		"a reply that is late": {[]string{`{"content": "x", "delay_ms": 600000}`}, 3 * time.Minute, 1, "the judge had 3m0s"},
		"all of it together":   {[]string{refusal(429, 100), `{"content": "x", "delay_ms": 60000}`, `{"content": "x", "delay_ms": 60000}`}, 3 * time.Minute, 3, "the judge had 3m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, start := scriptedJudge(t, c.lines...), time.Now()
				got := gradeByJudge(t.Context(), b, leniently, grading.Input{})
				require.Equal(t, c.took, time.Since(start))
				require.Len(t, b.asked, c.calls)
				if c.text == "" {
					require.Equal(t, "pass", resultOutcomeWithErrorKind(got), got.Reasoning)
					require.Equal(t, pyvalue.NewInt(int64(c.calls)), got.Metrics.Get("calls"))
					return
				}
				require.Equal(t, &pyvalue.Error{Kind: "model", Text: "anthropic/claude-x: " + c.text}, got.Error)
			})
		})
	}
}

func TestJudgeStopsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(errors.New("the server is stopping")) })
		got := gradeByJudge(ctx, scriptedJudge(t, `{"error": {"status": 429, "retry_after": 60}}`), leniently, grading.Input{})
		require.Equal(t, "anthropic/claude-x: the server is stopping, while waiting after script: 429 rate_limit_error: refused by the script", got.Error.Text)
	})
}

// A judgement over HTTP that was recorded gives the same result when it is replayed.
func TestJudgeRecordAndReplay(t *testing.T) {
	t.Parallel()
	script, err := script.Parse("judge.jsonl", []byte(strings.Join([]string{
		`{"error": {"status": 429, "retry_after": 0.01}}`, judgeReplyLine("I pass it."), judgeReplyLine(`{"score": 0.75, "passed": true, "reasoning": "é <b>"}`),
	}, "\n")))
	require.NoError(t, err)
	server := httptest.NewServer(mockapi.New(script, nil))
	t.Cleanup(server.Close)
	live, err := open.Open("anthropic/claude-x", open.Options{APIKey: "secret", BaseURL: server.URL})
	require.NoError(t, err)

	in := promptInjectionInput()
	var recording bytes.Buffer
	want := gradeByJudge(t.Context(), &fakeJudge{client: replay.NewRecordingClient("anthropic/claude-x", live, &recording)}, leniently, in)
	require.Equal(t, "pass", resultOutcomeWithErrorKind(want), want.Reasoning)
	require.Equal(t, pyvalue.NewInt(3), want.Metrics.Get("calls"))
	require.NotContains(t, recording.String(), "secret")

	calls, err := replay.ParseRecording("calls.jsonl", recording.Bytes())
	require.NoError(t, err)
	require.Equal(t, want, gradeByJudge(t.Context(), &fakeJudge{client: calls.NewReplayer()}, leniently, in))
	in.Task += "!"
	got := gradeByJudge(t.Context(), &fakeJudge{client: calls.NewReplayer()}, leniently, in)
	require.Contains(t, got.Error.Text, `calls.jsonl:1: the request was not recorded: at "/messages/0/content/0/text"`)
}

// No reply of a judge is parsed as a verdict unless a second, strict decoder accepts it
// too.
func FuzzJudgeReply(f *testing.F) {
	for _, text := range malformedReplies() {
		f.Add(text, "", "end_turn")
	}
	f.Add(`{"score": 1, "passed": true,`, `"reasoning": "x"}`, "stop_sequence")
	f.Add("```json\n{\"score\": 1, \"passed\": true, \"reasoning\": \"x\"}", "```", "end_turn")
	f.Fuzz(func(t *testing.T, first, second, stop string) {
		said := &model.Response{Content: []model.Block{model.Text(first), {Type: model.BlockThinking, Thinking: first}, model.Text(second)}, StopReason: model.StopReason(stop)}
		passed, score, err := grading.ParseJudgeVerdict(said)
		if err != nil {
			return
		}
		require.Contains(t, []string{"end_turn", "stop_sequence"}, stop)
		text := strings.TrimSpace(first + "\n" + second)
		if lines := strings.Split(text, "\n"); strings.HasPrefix(text, "```") {
			require.Equal(t, "```", lines[len(lines)-1])
			text = strings.Join(lines[1:len(lines)-1], "\n")
		}
		object, ok := decodeWithStdlib(text, "score", "passed", "reasoning", "successes", "failures")
		require.True(t, ok, text)
		require.Equal(t, object["passed"], passed)
		require.IsType(t, "", object["reasoning"])
		require.IsType(t, 0.0, object["score"])
		require.True(t, 0 <= score && score <= 1)
	})
}
