package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/script"
	"assay/internal/protocol"
)

// startTicks runs the agent that lives in ticks on a scripted model.
func startTicks(t *testing.T, cfg builtin.Config, lines ...string) *peer {
	t.Helper()
	cfg.Strategy = "ticks"
	if cfg.Clock == nil {
		cfg.Clock = func() time.Time { return time.Date(2026, time.November, 20, 12, 3, 4, 0, time.UTC) }
	}
	return startTools(t, cfg, lines...)
}

// ticking is a line of a script that says an object.
func ticking(fields frame) string {
	text, _ := json.Marshal(fields)
	return saying(string(text))
}

// prompts lists what the model was told, by tick.
func (p *peer) prompts() []string {
	p.t.Helper()
	var texts []string
	for _, m := range p.history() {
		if m.Role == model.RoleUser {
			texts = append(texts, model.PlainText(m.Content))
		}
	}
	return texts
}

// ticks lists what was told of each tick.
func (p *peer) ticks() []frame {
	var all []frame
	for _, f := range p.events("tick") {
		all = append(all, f.object("metadata"))
	}
	return all
}

// kept reads a file of a state folder.
func kept(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

func inCI() bool { return os.Getenv("CI") == "true" }

// gitOf says something of a repository, "" where there is none.
func gitOf(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"--git-dir=" + filepath.Join(dir, ".git")}, args...)...)
	out, _ := cmd.Output() // without a commit there is none
	return strings.TrimSpace(string(out))
}

// watched is a connection of whose frames somebody is told before they are sent.
type watched struct {
	protocol.Conn
	before func(body []byte)
}

func (w watched) Write(body []byte) error {
	w.before(body)
	return w.Conn.Write(body)
}

// What is where when: the clock is looked at before each line of the monologue and
// before the commit.
func TestEV7_Order(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	var seen []string
	look := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		now := what + strings.Join([]string{
			fmt.Sprint(strings.Count(kept(t, dir, "monologue.md"), "\n")), "lines, state", fmt.Sprint(strings.Count(kept(t, dir, "consciousness.json"), `"eager"`)),
			"commits", gitOf(t, dir, "rev-list", "--count", "HEAD"),
		}, " ")
		if len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
		}
	}
	script, err := script.Parse("script", []byte(strings.Join([]string{
		ticking(frame{"eval": "x", "mood": "eager", "confidence": 7, "thought": "hm", "monologue": "so", "continue": true}),
		ticking(frame{"thought": "aside", "reply": "42"}),
	}, "\n")))
	require.NoError(t, err)
	run := func(ctx context.Context, conn protocol.Conn, cfg builtin.Config) error {
		return builtin.Run(ctx, watched{conn, func(body []byte) {
			for _, what := range []string{"execute_code", `"tick"`} {
				if strings.Contains(string(body), `"action":"`+what) || strings.Contains(string(body), `"type":`+what) {
					look(strings.Trim(what, `"`) + ": ")
				}
			}
		}}, cfg)
	}
	p := start(t, run, builtin.Config{
		Strategy: "ticks", Model: script.Client(), StateDir: dir, Clock: func() time.Time { look(""); return time.Unix(0, 0).UTC() },
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, []string{
		"0 lines, state 0 commits ", "execute_code: 0 lines, state 0 commits ", "0 lines, state 0 commits ",
		"1 lines, state 0 commits ", "2 lines, state 1 commits ", "tick: 2 lines, state 1 commits 1",
		"2 lines, state 1 commits 1", "tick: 2 lines, state 1 commits 2",
	}, seen)
	require.Equal(t, "[1970-01-01 00:00][TICK 1] EVAL: x => 42\n[1970-01-01 00:00][TICK 1] so\n", kept(t, dir, "monologue.md"))

	events := p.events("tick")
	require.Equal(t, "hm", events[0].text("text"))
	require.Equal(t, "42", events[1].text("text"))
	require.Equal(t, frame{"type": "tick", "request_id": "q1", "tick": 1.0, "mood": "eager", "confidence": 1.0, "thread": "none", "skipped": false, "success": true}, p.ticks()[0])
	require.Equal(t, frame{"type": "tick", "request_id": "q1", "tick": 2.0, "mood": "eager", "confidence": 1.0, "thread": "none", "skipped": true, "success": true}, p.ticks()[1])
}

func TestEV7_ConfidenceIsClampedOnce(t *testing.T) {
	t.Parallel()
	lines := []string{}
	said := []any{-3, 0.25, 1e300, "high", nil, 0}
	for i, confidence := range said {
		lines = append(lines, ticking(frame{"confidence": confidence, "mood": []any{"a", 5, nil, "", "b\nc", strings.Repeat("m", 99)}[i], "continue": i < len(said)-1}))
	}
	p := startTicks(t, builtin.Config{}, lines...)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	for i, want := range []frame{
		{"confidence": 0.0, "mood": "a"},
		{"confidence": 0.25, "mood": "a"},
		{"confidence": 1.0, "mood": "a"},
		{"confidence": 1.0, "mood": "a"},
		{"confidence": 1.0, "mood": `b\nc`},
		{"confidence": 0.0, "mood": strings.Repeat("m", 37) + "..."},
	} {
		require.Equal(t, want["confidence"], p.ticks()[i]["confidence"], i)
		require.Equal(t, want["mood"], p.ticks()[i]["mood"], i)
	}
}

// In an evaluation the reply is the submission, and what else the model said
// stands beside it. The call of the model is counted once.
func TestEV8_ReplyIsSubmitted(t *testing.T) {
	t.Parallel()
	answer := "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]"
	p := startTicks(t, builtin.Config{}, ticking(frame{"eval": "6*7", "thought": "a", "reply": answer}), saying("never"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	content := p.history()[1].Content
	require.Len(t, content, 2)
	require.Equal(t, model.Text(`{"eval":"6*7","thought":"a"}`), content[0])
	require.Equal(t, "toolu_submit_1 submit_response", content[1].ID+" "+content[1].Name)
	require.JSONEq(t, `{"summary":"`+answer+`","next_status":"done"}`, string(content[1].Input))
	require.Len(t, p.history(), 2)
	require.Equal(t, 1, p.count("action", "execute_code"))
	frames := p.seen()
	at := func(match func(frame) bool) int { return slices.IndexFunc(frames, match) }
	require.Greater(t, at(func(f frame) bool { return len(f.object("entry")) > 0 && f.object("entry").text("role") == "assistant" }),
		at(func(f frame) bool { return f.text("type") == "agent_event" }), "the submission comes last")
}

func TestEV8_OneNudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second frame
		submitted     string
	}{
		"marker":     {frame{"reply": "42"}, frame{"reply": "42 [EVAL_COMPLETE]"}, "42 [EVAL_COMPLETE]"},
		"no marker":  {frame{"reply": "42"}, frame{"reply": "43"}, "43"},
		"no reply":   {frame{"thought": "hm"}, frame{"reply": "44 [EVAL_COMPLETE]"}, "44 [EVAL_COMPLETE]"},
		"never":      {frame{"thought": "hm"}, frame{"thought": "[EVAL_COMPLETE]"}, ""},
		"not a text": {frame{"reply": []any{}}, frame{"reply": frame{"n": 1}}, `{"n":1}`},
	} {
		p := startTicks(t, builtin.Config{}, ticking(c.first), ticking(c.second), saying("never"))
		p.init(frame{"eval_mode": true})
		require.Equal(t, "done", p.ask("go"), name)
		require.Equal(t, 2, calls(p), name)
		require.Equal(t, "## Global Buffers\n\n### chat-pending\n\n```\ngo\n\nNothing has been submitted yet. "+
			"If your work is finished, say your whole answer in reply, with the marker [EVAL_COMPLETE], as the task asks for it; "+
			"otherwise go on with continue.\n```", strings.SplitN(p.prompts()[1], "\n\n## Recent Actions", 2)[0], name)
		last := p.history()[3].Content
		if c.submitted == "" {
			require.Empty(t, model.ToolUses(last), name)
			continue
		}
		var input struct{ Summary string }
		require.NoError(t, json.Unmarshal(model.ToolUses(last)[0].Input, &input), name)
		require.Equal(t, c.submitted, input.Summary, name)
	}
}

// With continue a reply is shown and not submitted.
func TestEV8_ContinueSubmitsNothing(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, ticking(frame{"reply": "wait [EVAL_COMPLETE]", "continue": true}), ticking(frame{"reply": "42 [EVAL_COMPLETE]"}))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Empty(t, model.ToolUses(p.history()[1].Content))
	require.Len(t, model.ToolUses(p.history()[3].Content), 1)
}

// Outside of an evaluation nothing is submitted, and nobody is reminded.
func TestEV8_OnlyInAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, ticking(frame{"reply": "42 [EVAL_COMPLETE]"}), ticking(frame{"thought": "hm", "continue": "yes"}))
	p.init(nil)
	for i := range 2 {
		require.Equal(t, "done", p.ask("go"))
		require.Equal(t, i+1, calls(p))
	}
	require.Empty(t, model.ToolUses(p.history()[1].Content))
}

// A model has no tools here: what it calls means nothing, least of all a submission.
func TestEV8_CallsAreNoSubmissions(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, submits("1"), ticking(frame{"reply": "2 [EVAL_COMPLETE]"}))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, []model.Block{model.Text("[The reply was empty.]")}, p.history()[1].Content)
	require.Len(t, model.ToolUses(p.history()[3].Content), 1)
}

const tickFault = "Your last reply holds no JSON object, so nothing of it was done. Answer with one JSON object and nothing else: " +
	`{"eval": "code or null", "thought": "…", "mood": "…", "confidence": 0.5, "monologue": "…", "reply": "text or null", "continue": false}`

func TestTK1_TwoRetriesTellTheModel(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, saying("what?"), saying("[1]"), ticking(frame{"thought": "so", "mood": "sure"}), saying("never"))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 3, calls(p))
	require.Equal(t, []string{tickFault, tickFault}, p.prompts()[1:])
	require.Equal(t, "sure", p.ticks()[0]["mood"])
	require.Len(t, p.ticks(), 1)
}

func TestTK1_NoObjectAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTicks(t, builtin.Config{StateDir: dir}, saying("a"), saying("b"), saying("what\nis this?"), ticking(frame{"mood": "sure"}))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, frame{"type": "tick", "request_id": "q1", "tick": 1.0, "mood": "uncertain", "confidence": 0.5, "thread": "none", "skipped": true, "success": true}, p.ticks()[0])
	require.Equal(t, "what\nis this?", p.events("tick")[0].text("text"))
	require.Equal(t, `[TICK 1][none][uncertain] what\nis this?`, gitOf(t, dir, "log", "-1", "--format=%s"))
	require.Equal(t, "done", p.ask("again"))
	require.Equal(t, "sure", p.ticks()[1]["mood"])
}

// A call of the model that fails costs its tick; the record of the eval before
// stays.
func TestTK3_FailedCallsGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused := `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"no\nway"}}}}`
	p := startTicks(t, builtin.Config{StateDir: dir},
		ticking(frame{"eval": "6*7", "continue": true}), refused, refused, ticking(frame{"reply": "done"}))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	line := "[ERROR] Inference failed: script: 400 invalid_request_error: no way"
	require.Equal(t, "[2026-11-20 12:03][TICK 1] EVAL: 6*7 => 42\n[2026-11-20 12:03][TICK 2] "+line+"\n[2026-11-20 12:03][TICK 3] "+line+"\n",
		kept(t, dir, "monologue.md"))
	require.Equal(t, []string{
		"[TICK 4][none][neutral]", "[TICK 3][none][neutral] [ERROR] Inference failed: script: 400 invalid_request...",
		"[TICK 2][none][neutral] [ERROR] Inference failed: script: 400 invalid_request...", "[TICK 1][none][neutral]",
	},
		strings.Split(gitOf(t, dir, "log", "--format=%s"), "\n"))
	for _, tick := range []int{1, 2, 3} {
		require.True(t, strings.HasPrefix(p.prompts()[tick], "## Last Eval Result (tick 1)\n"))
	}
	require.Len(t, p.of("agent_error"), 2)
	require.Equal(t, line, p.of("agent_error")[0].text("error"))
	require.Equal(t, false, p.of("agent_error")[0]["fatal"])
	require.Contains(t, gitOf(t, dir, "show", "HEAD~1:consciousness.json"), "{\n  \"tick\": 3,")
	require.Contains(t, p.prompts()[3], "- [TICK 3] inference failed (confidence 0.50)\n- [TICK 2] inference failed (confidence 0.50)\n- [TICK 1] eval: 6*7 (confidence 0.50)")
}

func TestTK3_TenTicksWithoutAHuman(t *testing.T) {
	t.Parallel()
	lines := slices.Repeat([]string{ticking(frame{"thought": "on", "continue": true})}, 10)
	for _, evaluation := range []bool{true, false} {
		p := startTicks(t, builtin.Config{}, append(slices.Clone(lines), ticking(frame{"reply": "x [EVAL_COMPLETE]"}))...)
		p.init(frame{"eval_mode": evaluation})
		require.Equal(t, "done", p.ask("go"))
		require.Equal(t, 10, calls(p))
		require.Equal(t, "limit reached: ticks 10 of 10", p.events("limit")[0].text("text"))
		require.Equal(t, "done", p.ask("go on")) // a human: there are ten more
		require.Equal(t, 11, calls(p))
		require.EqualValues(t, 11, p.ticks()[10]["tick"])
	}
}

// A model that never answers ends the query with its error, in bounded time.
func TestTK3_NothingButFailures(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, slices.Repeat([]string{`{"error":{"status":401}}`}, 11)...)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "script: 401 authentication_error: refused by the script", p.ask("go"))
	require.Len(t, p.of("agent_error"), 11) // each tick's, and the fatal one
	require.Empty(t, p.events("limit"))
}

// What ends a query elsewhere ends it here: limits, a refusal of the model, a
// cancel.
func TestTK3_EndsOfAQuery(t *testing.T) {
	t.Parallel()
	on := ticking(frame{"continue": true})
	p := startTicks(t, builtin.Config{Limits: builtin.Limits{Turns: 2}}, on, on, on)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "limit reached: turns 2 of 2", p.events("limit")[0].text("text"))

	p = startTicks(t, builtin.Config{}, on, `{"content":"no","stop_reason":"refusal"}`, on)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
	require.Len(t, p.ticks(), 1)
}

func TestTK3_CancelWhileTheEvalRuns(t *testing.T) {
	t.Parallel()
	p := startTicks(t, builtin.Config{}, ticking(frame{"eval": "while 1: pass", "continue": true}), ticking(frame{"reply": "fine"}))
	running := make(chan string, 1)
	p.onAction(func(action string, _ frame, tx string) bool {
		if action == "execute_code" {
			running <- tx
		}
		return action == "execute_code"
	})
	p.init(nil)
	from := len(p.seen())
	p.query("go")
	tx := <-running
	p.send(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.ends(from))
	stop := p.await(from, "stop_cell", func(f frame) bool { return f.text("action") == "stop_cell" })
	require.Equal(t, tx, stop.object("params").text("agent_tx_id"))
	require.Equal(t, "done", p.ask("again"))
	require.Len(t, p.history(), 4, "nothing had to be mended")
	require.EqualValues(t, 2, p.ticks()[0]["tick"])
}

// What is sent is the prompt of the tick and no more: earlier ticks are not in it.
// A script is played by the turn of each request, over HTTP too.
func TestTK1_NoTranscriptGrows(t *testing.T) {
	t.Parallel()
	p := startStrict(t, builtin.Config{Strategy: "ticks"},
		ticking(frame{"thought": "first", "continue": true}), saying("what?"), ticking(frame{"thought": "second", "continue": true}), ticking(frame{"reply": "third"}))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, []string{"first", "second", "third"}, []string{
		p.events("tick")[0].text("text"), p.events("tick")[1].text("text"), p.events("tick")[2].text("text"),
	})
}
