package acp_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/acp"
	"assay/agent/command"
	"assay/internal/protocol"
)

// saidTexts returns the texts that the program has said, one per message.
func (h *harness) saidTexts() (texts []string) {
	for _, line := range h.blocks() {
		if text, isText := strings.CutPrefix(line, "assistant text: "); isText {
			texts = append(texts, text)
		}
	}
	return texts
}

// Queries go to one session, until the history is cleared. A program that has ended is started again and
// gets the earlier queries.
func TestSessions(t *testing.T) {
	t.Parallel()
	echo := step{"echo_prompt": nil}
	h := startAgent(t, script{Prompts: [][]step{{echo}, {echo}, {echo}, {step{"exit": 0}}}}, acp.Config{})
	require.Equal(t, "done", h.runQuery("one"))
	require.Equal(t, "done", h.runQuery("two"))
	h.SendFrame(frame{"type": "agent_clear_history"})
	require.Equal(t, "done", h.runQuery("three"))
	require.Equal(t, "done", h.runQuery("four"))
	require.Equal(t, []string{"python3 exited with status 0"}, firstLines(h.errorTexts()))
	require.Equal(t, "done", h.runQuery("five"))
	said := h.saidTexts()
	require.Equal(t, []string{"[session-1] one", "[session-1] two", "[session-2] three"}, said[:3])
	require.Equal(t, "[session-1] You were asked:\n\nthree\n\nYou handed in:\n\n(Nothing.)\n\nYou were asked:\n\nfour\n\nYou handed in:\n\n(Nothing.)\n\nNow you are asked:\n\nfive", said[3])
}

// firstLines returns the beginnings of texts, to the first "; " or newline.
func firstLines(texts []string) (lines []string) {
	for _, text := range texts {
		line, _, _ := strings.Cut(text, "\n")
		line, _, _ = strings.Cut(line, "; ")
		lines = append(lines, line)
	}
	return lines
}

// A turn that is cancelled ends, with the calls that it has made, and the session goes on.
func TestCancel(t *testing.T) {
	t.Parallel()
	h := startAgent(t, script{Prompts: [][]step{
		{
			step{"announce": []any{"create_cell", step{"position": 0, "source": "hang", "auto_run": true}}},
			step{"await_cancel": nil},
			step{"request": []any{"session/request_permission", step{"options": []step{{"optionId": "yes", "kind": "allow_once"}}}}},
			step{"end": step{"stopReason": "cancelled"}},
		},
		{step{"echo_prompt": nil}},
	}}, acp.Config{CancelTimeout: maxTestWaitTimeout})
	from := len(h.Frames())
	h.SendQuery("count")
	h.AwaitFrame(from, "the cell", func(f frame) bool { return f.StringField("action") == "create_cell" })
	h.SendCancel()
	require.Equal(t, "ready", h.AwaitQueryEnd(from))
	require.Len(t, h.EventsOfType("cancelled"), 1)
	h.AwaitFrame(from, "the cell's end", func(f frame) bool { return f.StringField("action") == "stop_cell" })
	require.Equal(t, "done", h.runQuery("again"))
	require.Equal(t, []string{`{"outcome": {"outcome": "cancelled"}}`, "[session-1] again"}, h.saidTexts())
	require.Empty(t, h.errorTexts())
}

// A program that ignores a cancel is stopped, and started again for the next query.
func TestIgnoredCancelStopsTheProgram(t *testing.T) {
	t.Parallel()
	h := startAgent(t, onePrompt(step{"touch": "pid"}, step{"hang": nil}), acp.Config{CancelTimeout: time.Millisecond})
	from := len(h.Frames())
	h.SendQuery("count")
	pid := h.awaitPID()
	h.SendCancel()
	require.Equal(t, "ready", h.AwaitQueryEnd(from))
	requireProcessGone(t, pid)
	from = len(h.Frames())
	h.SendQuery("again")
	require.Eventually(t, func() bool { return h.awaitPID() != pid }, maxTestWaitTimeout, time.Millisecond)
	h.SendCancel()
	require.Equal(t, "ready", h.AwaitQueryEnd(from))
}

// A turn that goes on after its submission is cancelled after CloseTimeout. The submission counts.
func TestTurnIsEndedAfterSubmission(t *testing.T) {
	t.Parallel()
	h := startEvaluation(t, onePrompt(step{"touch": "pid"}, step{"submit": "[EVAL_COMPLETE]"}, step{"hang": nil}), acp.Config{
		CloseTimeout: time.Millisecond, CancelTimeout: time.Millisecond,
	})
	require.Equal(t, "done", h.runQuery("count"))
	requireProcessGone(t, h.awaitPID())
	require.Len(t, h.Submissions(), 1)
	require.Empty(t, h.errorTexts())
}

// When the server is gone, the program is stopped at once.
func TestDisconnectStopsTheProgram(t *testing.T) {
	t.Parallel()
	h := startAgent(t, onePrompt(step{"touch": "pid"}, step{"hang": nil}), acp.Config{CancelTimeout: time.Hour})
	h.SendQuery("count")
	pid := h.awaitPID()
	require.NoError(t, h.Conn.Close(protocol.CloseNormal, ""))
	require.NoError(t, <-h.Ended)
	requireProcessGone(t, pid)
	h.Ended <- nil
}

// The stop reason of a turn without a submission says how the query ends.
func TestStopReasons(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		last    step
		status  string
		errors  []string
		limited string
	}{
		"end_turn":          {step{"end": step{"stopReason": "end_turn"}}, "done", nil, ""},
		"max_tokens":        {step{"end": step{"stopReason": "max_tokens"}}, "done", nil, "limit reached: max_tokens (a limit of python3)"},
		"max_turn_requests": {step{"end": step{"stopReason": "max_turn_requests"}}, "done", nil, "limit reached: max_turn_requests (a limit of python3)"},
		"refusal":           {step{"end": step{"stopReason": "refusal"}}, "done", []string{`python3 has ended its turn with the stop reason "refusal"`}, ""},
		"cancelled":         {step{"end": step{"stopReason": "cancelled"}}, "done", []string{`python3 has ended its turn with the stop reason "cancelled"`}, ""},
		"none":              {step{"end": step{}}, "done", []string{`python3 has ended its turn with the stop reason ""`}, ""},
		"an error": {
			step{"fail": step{"code": -32603, "message": "no credit", "data": step{"left": 0}}},
			`python3 answered session/prompt with error -32603: no credit {"left": 0}`,
			[]string{`python3 answered session/prompt with error -32603: no credit {"left": 0}`},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startAgent(t, onePrompt(step{"say": "I try."}, tc.last), acp.Config{})
			require.Equal(t, tc.status, h.runQuery("count"))
			require.Equal(t, tc.errors, h.errorTexts())
			require.Equal(t, []string{"user text: count", "assistant text: I try."}, h.blocks())
			if tc.limited == "" {
				require.Empty(t, h.EventsOfType("limit"))
				return
			}
			require.Equal(t, tc.limited, h.EventsOfType("limit")[0].StringField("text"))
		})
	}
}

// A program that exits before a submission ends an evaluation; elsewhere that is reported. After a
// submission it may exit.
func TestExits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script script
		want   string
	}{
		"in the turn":   {onePrompt(step{"log": "no key"}, step{"exit": 3}), "python3 exited with status 3; it printed last:\n"},
		"with status 0": {onePrompt(step{"exit": 0}), "python3 exited with status 0; it printed last:\n"},
	} {
		t.Run(name+", in an evaluation", func(t *testing.T) {
			t.Parallel()
			h := startEvaluation(t, tc.script, acp.Config{})
			h.SendQuery("count")
			exit, isExit := errors.AsType[*command.Error](<-h.Ended)
			require.True(t, isExit)
			require.True(t, strings.HasPrefix(exit.Text, tc.want), exit.Text)
			h.Ended <- nil
		})
		t.Run(name+", live", func(t *testing.T) {
			t.Parallel()
			h := startAgent(t, tc.script, acp.Config{})
			require.Equal(t, "done", h.runQuery("count"))
			require.True(t, strings.HasPrefix(h.errorTexts()[0], tc.want), h.errorTexts())
			require.Equal(t, false, h.FramesOfType("agent_error")[0]["fatal"])
		})
	}
	t.Run("after the submission", func(t *testing.T) {
		t.Parallel()
		h := startEvaluation(t, onePrompt(step{"submit": "[EVAL_COMPLETE]"}, step{"exit": 1}), acp.Config{})
		require.Equal(t, "done", h.runQuery("count"))
		require.Empty(t, h.errorTexts())
	})
	t.Run("at its start", func(t *testing.T) {
		t.Parallel()
		h := startCommand(t, acp.Config{Command: []string{"/bin/sh", "-c", "echo no key >&2; exit 4"}}, true)
		h.SendQuery("count")
		require.EqualError(t, <-h.Ended, "sh exited with status 4; it printed last:\nno key")
		h.Ended <- nil
	})
	t.Run("it cannot be started again", func(t *testing.T) {
		t.Parallel()
		h := startEvaluation(t, onePrompt(step{"announce": []any{"submit_response", step{"summary": "What?", "next_status": "awaiting_user_response"}}}, step{"exit": 0}), acp.Config{})
		require.Equal(t, "awaiting_user_response", h.runQuery("count"))
		require.NoError(t, os.RemoveAll(h.dir))
		require.Equal(t, "done", h.runQuery("rows"))
		require.Contains(t, h.errorTexts()[0], "start python3: ")
	})
	t.Run("it cannot be started", func(t *testing.T) {
		t.Parallel()
		h := startCommand(t, acp.Config{Command: []string{"/no/such/program"}}, true)
		require.Equal(t, "start program: fork/exec /no/such/program: no such file or directory", h.runQuery("count"))
	})
}
