package ticks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/ticks"
	"assay/internal/model"
	"assay/internal/protocol"
)

// writeHookConn calls before with each frame before it is written.
type writeHookConn struct {
	protocol.Conn
	before func(body []byte)
}

// Write writes a frame.
func (c writeHookConn) Write(body []byte) error {
	c.before(body)
	return c.Conn.Write(body)
}

// The steps of a tick happen in order. The agent reads the clock before each line of the
// monologue and before the commit, so that the test can look at the state folder then.
func TestEV7_StepsOfATickInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	var seen []string
	look := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		now := what + strings.Join([]string{
			fmt.Sprint(strings.Count(readStateFile(t, dir, "monologue.md"), "\n")), "lines, state", fmt.Sprint(strings.Count(readStateFile(t, dir, "consciousness.json"), `"eager"`)),
			"commits", gitOutput(t, dir, "rev-list", "--count", "HEAD"),
		}, " ")
		if len(seen) == 0 || seen[len(seen)-1] != now {
			seen = append(seen, now)
		}
	}
	client := agenttest.ParseModelScript(t,
		objectScriptLine(frame{"eval": "x", "mood": "eager", "confidence": 7, "thought": "hm", "monologue": "so", "continue": true}),
		objectScriptLine(frame{"thought": "aside", "reply": "42"}),
	).Client()
	cfg := ticks.Config{
		Agent:    builtin.Config{Model: client, Clock: func() time.Time { look(""); return time.Unix(0, 0).UTC() }},
		StateDir: dir,
	}
	p := agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		return ticks.Run(ctx, writeHookConn{conn, func(body []byte) {
			for _, what := range []string{"execute_code", `"tick"`} {
				if strings.Contains(string(body), `"action":"`+what) || strings.Contains(string(body), `"type":`+what) {
					look(strings.Trim(what, `"`) + ": ")
				}
			}
		}}, cfg)
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, []string{
		"0 lines, state 0 commits ", "execute_code: 0 lines, state 0 commits ", "0 lines, state 0 commits ",
		"1 lines, state 0 commits ", "2 lines, state 1 commits ", "tick: 2 lines, state 1 commits 1",
		"2 lines, state 1 commits 1", "tick: 2 lines, state 1 commits 2",
	}, seen)
	require.Equal(t, "[1970-01-01 00:00][TICK 1] EVAL: x => 42\n[1970-01-01 00:00][TICK 1] so\n", readStateFile(t, dir, "monologue.md"))

	events := p.EventsOfType("tick")
	require.Equal(t, "hm", events[0].StringField("text"))
	require.Equal(t, "42", events[1].StringField("text"))
	require.Equal(t, frame{"type": "tick", "request_id": "q1", "tick": 1.0, "mood": "eager", "confidence": 1.0, "thread": "none", "skipped": false, "success": true}, tickEventMetadata(p)[0])
	require.Equal(t, frame{"type": "tick", "request_id": "q1", "tick": 2.0, "mood": "eager", "confidence": 1.0, "thread": "none", "skipped": true, "success": true}, tickEventMetadata(p)[1])
}

func TestEV7_MoodAndConfidenceAreClamped(t *testing.T) {
	t.Parallel()
	lines := []string{}
	values := []any{-3, 0.25, 1e300, "high", nil, 0}
	for i, confidence := range values {
		lines = append(lines, objectScriptLine(frame{"confidence": confidence, "mood": []any{"a", 5, nil, "", "b\nc", strings.Repeat("m", 99)}[i], "continue": i < len(values)-1}))
	}
	p := startTicksAgent(t, ticks.Config{}, lines...)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	for i, want := range []frame{
		{"confidence": 0.0, "mood": "a"},
		{"confidence": 0.25, "mood": "a"},
		{"confidence": 1.0, "mood": "a"},
		{"confidence": 1.0, "mood": "a"},
		{"confidence": 1.0, "mood": `b\nc`},
		{"confidence": 0.0, "mood": strings.Repeat("m", 37) + "..."},
	} {
		require.Equal(t, want["confidence"], tickEventMetadata(p)[i]["confidence"], i)
		require.Equal(t, want["mood"], tickEventMetadata(p)[i]["mood"], i)
	}
}

// In an evaluation the reply is submitted, beside the rest of the object. The model call is
// counted once.
func TestEV8_ReplyIsSubmitted(t *testing.T) {
	t.Parallel()
	answer := "<EVAL_ANSWER>42</EVAL_ANSWER> [EVAL_COMPLETE]"
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"eval": "6*7", "thought": "a", "reply": answer}), agenttest.TextScriptLine("never"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	content := p.Transcript()[1].Content
	require.Len(t, content, 2)
	require.Equal(t, model.Text(`{"eval":"6*7","thought":"a"}`), content[0])
	require.Equal(t, "toolu_submit_1 submit_response", content[1].ID+" "+content[1].Name)
	require.JSONEq(t, `{"summary":"`+answer+`","next_status":"done"}`, string(content[1].Input))
	require.Len(t, p.Transcript(), 2)
	require.Equal(t, 1, p.CountFramesWithField("action", "execute_code"))
	frames := p.Frames()
	at := func(match func(frame) bool) int { return slices.IndexFunc(frames, match) }
	require.Greater(t, at(func(f frame) bool {
		return len(f.ObjectField("entry")) > 0 && f.ObjectField("entry").StringField("role") == "assistant"
	}),
		at(func(f frame) bool { return f.StringField("type") == "agent_event" }), "the submission comes last")
}

func TestEV8_OneReminder(t *testing.T) {
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
		p := startTicksAgent(t, ticks.Config{}, objectScriptLine(c.first), objectScriptLine(c.second), agenttest.TextScriptLine("never"))
		p.InitAndAwaitReady(frame{"eval_mode": true})
		require.Equal(t, "done", p.QueryAndWait("go"), name)
		require.Equal(t, 2, p.ModelReplyCount(), name)
		require.Equal(t, "## Global Buffers\n\n### chat-pending\n\n```\ngo\n\nNothing has been submitted yet. "+
			"If your work is finished, say your whole answer in reply, with the marker [EVAL_COMPLETE], as the task asks for it; "+
			"otherwise go on with continue.\n```", strings.SplitN(sentPrompts(p)[1], "\n\n## Recent Actions", 2)[0], name)
		last := p.Transcript()[3].Content
		if c.submitted == "" {
			require.Empty(t, model.ToolUses(last), name)
			continue
		}
		var input struct{ Summary string }
		require.NoError(t, json.Unmarshal(model.ToolUses(last)[0].Input, &input), name)
		require.Equal(t, c.submitted, input.Summary, name)
	}
}

// A reply with continue is shown but not submitted.
func TestEV8_ContinueSubmitsNothing(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"reply": "wait [EVAL_COMPLETE]", "continue": true}), objectScriptLine(frame{"reply": "42 [EVAL_COMPLETE]"}))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Empty(t, model.ToolUses(p.Transcript()[1].Content))
	require.Len(t, model.ToolUses(p.Transcript()[3].Content), 1)
}

// Outside of an evaluation nothing is submitted and the model is not reminded.
func TestEV8_NoSubmissionOutsideOfAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"reply": "42 [EVAL_COMPLETE]"}), objectScriptLine(frame{"thought": "hm", "continue": "yes"}))
	p.InitAndAwaitReady(nil)
	for i := range 2 {
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, i+1, p.ModelReplyCount())
	}
	require.Empty(t, model.ToolUses(p.Transcript()[1].Content))
}

// The model has no tools in ticks: its calls mean nothing, not even submit_response.
func TestEV8_CallsAreIgnored(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, agenttest.SubmitScriptLine("1"), objectScriptLine(frame{"reply": "2 [EVAL_COMPLETE]"}))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, []model.Block{model.Text("[The reply was empty.]")}, p.Transcript()[1].Content)
	require.Len(t, model.ToolUses(p.Transcript()[3].Content), 1)
}

// noObjectNoteText is the text that the model gets about a reply without an object.
const noObjectNoteText = "Your last reply holds no JSON object, so nothing of it was done. Answer with one JSON object and nothing else: " +
	`{"eval": "code or null", "thought": "…", "mood": "…", "confidence": 0.5, "monologue": "…", "reply": "text or null", "continue": false}`

func TestTK1_ModelIsAskedAgainForAnObject(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, agenttest.TextScriptLine("what?"), agenttest.TextScriptLine("[1]"), objectScriptLine(frame{"thought": "so", "mood": "sure"}), agenttest.TextScriptLine("never"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 3, p.ModelReplyCount())
	require.Equal(t, []string{noObjectNoteText, noObjectNoteText}, sentPrompts(p)[1:])
	require.Equal(t, "sure", tickEventMetadata(p)[0]["mood"])
	require.Len(t, tickEventMetadata(p), 1)
}

func TestTK1_ThirdReplyWithoutObjectIsAThought(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTicksAgent(t, ticks.Config{StateDir: dir}, agenttest.TextScriptLine("a"), agenttest.TextScriptLine("b"), agenttest.TextScriptLine("what\nis this?"), objectScriptLine(frame{"mood": "sure"}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, frame{"type": "tick", "request_id": "q1", "tick": 1.0, "mood": "uncertain", "confidence": 0.5, "thread": "none", "skipped": true, "success": true}, tickEventMetadata(p)[0])
	require.Equal(t, "what\nis this?", p.EventsOfType("tick")[0].StringField("text"))
	require.Equal(t, `[TICK 1][none][uncertain] what\nis this?`, gitOutput(t, dir, "log", "-1", "--format=%s"))
	require.Equal(t, "done", p.QueryAndWait("again"))
	require.Equal(t, "sure", tickEventMetadata(p)[1]["mood"])
}

// A failed model call costs only its tick, and the last eval record stays.
func TestTK3_FailedCallCostsItsTick(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused := `{"error":{"status":400,"body":{"type":"error","error":{"type":"invalid_request_error","message":"no\nway"}}}}`
	p := startTicksAgent(t, ticks.Config{StateDir: dir},
		objectScriptLine(frame{"eval": "6*7", "continue": true}), refused, refused, objectScriptLine(frame{"reply": "done"}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	line := "[ERROR] Inference failed: script: 400 invalid_request_error: no way"
	require.Equal(t, "[2026-11-20 12:03][TICK 1] EVAL: 6*7 => 42\n[2026-11-20 12:03][TICK 2] "+line+"\n[2026-11-20 12:03][TICK 3] "+line+"\n",
		readStateFile(t, dir, "monologue.md"))
	require.Equal(t, []string{
		"[TICK 4][none][neutral]", "[TICK 3][none][neutral] [ERROR] Inference failed: script: 400 invalid_request...",
		"[TICK 2][none][neutral] [ERROR] Inference failed: script: 400 invalid_request...", "[TICK 1][none][neutral]",
	},
		strings.Split(gitOutput(t, dir, "log", "--format=%s"), "\n"))
	for _, tick := range []int{1, 2, 3} {
		require.True(t, strings.HasPrefix(sentPrompts(p)[tick], "## Last Eval Result (tick 1)\n"))
	}
	require.Len(t, p.FramesOfType("agent_error"), 2)
	require.Equal(t, line, p.FramesOfType("agent_error")[0].StringField("error"))
	require.Equal(t, false, p.FramesOfType("agent_error")[0]["fatal"])
	require.Contains(t, gitOutput(t, dir, "show", "HEAD~1:consciousness.json"), "{\n  \"tick\": 3,")
	require.Contains(t, sentPrompts(p)[3], "- [TICK 3] inference failed (confidence 0.50)\n- [TICK 2] inference failed (confidence 0.50)\n- [TICK 1] eval: 6*7 (confidence 0.50)")
}

func TestTK3_TenTicksPerQuery(t *testing.T) {
	t.Parallel()
	lines := slices.Repeat([]string{objectScriptLine(frame{"thought": "on", "continue": true})}, 10)
	for _, evalMode := range []bool{true, false} {
		p := startTicksAgent(t, ticks.Config{}, append(slices.Clone(lines), objectScriptLine(frame{"reply": "x [EVAL_COMPLETE]"}))...)
		p.InitAndAwaitReady(frame{"eval_mode": evalMode})
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, 10, p.ModelReplyCount())
		require.Equal(t, "limit reached: ticks 10 of 10", p.EventsOfType("limit")[0].StringField("text"))
		require.Equal(t, "done", p.QueryAndWait("go on")) // the next query has ten ticks again
		require.Equal(t, 11, p.ModelReplyCount())
		require.EqualValues(t, 11, tickEventMetadata(p)[10]["tick"])
	}
}

// If all ten ticks fail, the query ends with the error of the last one.
func TestTK3_TenFailedTicks(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, slices.Repeat([]string{`{"error":{"status":401}}`}, 11)...)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "script: 401 authentication_error: refused by the script", p.QueryAndWait("go"))
	require.Len(t, p.FramesOfType("agent_error"), 11) // one per tick, and the fatal one
	require.Empty(t, p.EventsOfType("limit"))
}

// A limit and a refusal of the model end the query at once.
func TestTK3_LimitAndRefusalEndTheQuery(t *testing.T) {
	t.Parallel()
	on := objectScriptLine(frame{"continue": true})
	p := startTicksAgent(t, ticks.Config{Agent: builtin.Config{Limits: builtin.Limits{MaxTurns: 2}}}, on, on, on)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "limit reached: turns 2 of 2", p.EventsOfType("limit")[0].StringField("text"))

	p = startTicksAgent(t, ticks.Config{}, on, `{"content":"no","stop_reason":"refusal"}`, on)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
	require.Len(t, tickEventMetadata(p), 1)
}

func TestTK3_CancelWhileTheEvalRuns(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"eval": "while 1: pass", "continue": true}), objectScriptLine(frame{"reply": "fine"}))
	running := make(chan string, 1)
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		if action == "execute_code" {
			running <- tx
		}
		return action == "execute_code"
	})
	p.InitAndAwaitReady(nil)
	from := len(p.Frames())
	p.SendQuery("go")
	tx := <-running
	p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.AwaitQueryEnd(from))
	stop := p.AwaitFrame(from, "stop_cell", func(f frame) bool { return f.StringField("action") == "stop_cell" })
	require.Equal(t, tx, stop.ObjectField("params").StringField("agent_tx_id"))
	require.Equal(t, "done", p.QueryAndWait("again"))
	require.Len(t, p.Transcript(), 4, "nothing had to be repaired")
	require.EqualValues(t, 2, tickEventMetadata(p)[0]["tick"])
}

// A request has only the messages of its tick. A script is played by the turn number of the
// request, over HTTP too.
func TestTK1_RequestsHaveOnlyTheirTick(t *testing.T) {
	t.Parallel()
	p := startAgent(t, ticks.Config{Agent: builtin.Config{Model: agenttest.NewValidatingClient(t,
		objectScriptLine(frame{"thought": "first", "continue": true}), agenttest.TextScriptLine("what?"), objectScriptLine(frame{"thought": "second", "continue": true}), objectScriptLine(frame{"reply": "third"}))}})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, []string{"first", "second", "third"}, []string{
		p.EventsOfType("tick")[0].StringField("text"), p.EventsOfType("tick")[1].StringField("text"), p.EventsOfType("tick")[2].StringField("text"),
	})
}

// A tick has no rounds that could be dropped: a prompt that is too long reaches the limit.
func TestCO5_NothingIsDroppedInTicks(t *testing.T) {
	t.Parallel()
	m := agenttest.NewReplyModel(t, &model.APIError{Provider: "anthropic", Status: http.StatusBadRequest, Message: "prompt is too long: 5 > 4"})
	m.LastReply = agenttest.NewModelReply(model.Text("never"))
	p := startAgent(t, ticks.Config{Agent: builtin.Config{Model: m, ModelName: "anthropic/claude-opus-4-5"}})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "limit reached: context (the conversation is longer than the 200000 tokens that the model reads)", p.EventsOfType("limit")[0].StringField("text"))
	require.Empty(t, p.EventsOfType("compacted"))
	require.Empty(t, tickEventMetadata(p))
}
