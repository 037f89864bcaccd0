package blocks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
	"assay/internal/model"
	"assay/internal/protocol"
)

func TestBL1_NamespaceThenPromptThenFeedbackOnly(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\n1\n```"), agenttest.TextScriptLine("done"), agenttest.TextScriptLine("again"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait(" go \n"))
	require.Equal(t, "done", p.QueryAndWait("more"))
	require.Equal(t, []string{
		"user: ## Namespace\n\nx: int\n\ngo",
		"assistant: ```\n1\n```",
		"user: [Block 1 output]\n1\n42",
		"assistant: done",
		"user: ## Namespace\n\nx: int\n\nmore",
		"assistant: again",
	}, p.MessageTexts())
}

func TestBL1_FilesFollowThePrompt(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("done"))
	p.InitAndAwaitReady(nil)
	seen := len(p.Frames())
	p.SendFrame(frame{"type": "agent_query", "query": "@2", "request_id": "q", "contextual_node_data": []frame{{"type": "File"}}})
	require.Equal(t, "done", p.AwaitQueryEnd(seen))
	require.Equal(t, "user: ## Namespace\n\nx: int\n\n@2\n\n<ContextualNodeData>[{\"type\":\"File\"}]</ContextualNodeData>", p.MessageTexts()[0])
}

func TestTL2_BlocksSystemPrompt(t *testing.T) {
	t.Parallel()
	for language, tags := range map[string]string{
		"python": "`python`, `py`, `python3`", "elisp": "`elisp`, `emacs-lisp`, `lisp`", "R": "`r`",
	} {
		var request model.Request
		client := textReplyModel(func(req model.Request) string { request = req; return "done" })
		p := startAgent(t, blocks.Config{Agent: builtin.Config{Name: "Ada", Model: client}, MaxRounds: 7})
		p.InitAndAwaitReady(frame{"language": language})
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Len(t, request.System, 1)
		require.Empty(t, request.Tools)
		text := request.System[0].Text
		require.True(t, strings.HasPrefix(text, "You are Ada, an agent that works in a live notebook to solve the task that the user gives you.\n\n## Working in Code Blocks\n"))
		require.Contains(t, text, "You act by writing "+language+" in fenced code blocks")
		require.Contains(t, text, "A block is run if it is tagged "+tags+", or not tagged at all.")
		require.Contains(t, text, "at most 7 rounds of blocks")
		require.NotContains(t, text, "{")
		require.Empty(t, blocks.RunnableCode(text, language), "the rules have no block that is run")
	}
}

func TestBL3_ValueOfABlock(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```python\n42\n```"), agenttest.TextScriptLine("It is 42."))
	p.AnswerExecuteCodeWith(func(string) frame { return frame{"result": "42"} })
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "user: [Block 1 output]\n42", p.MessageTexts()[2])
}

// A model may divide its reply into text blocks anywhere: what it wrote is not changed by that.
func TestBL2_TextBlocksOfOneReplyAreOneText(t *testing.T) {
	t.Parallel()
	divided := `{"content":[{"type":"text","text":"` + "```py" + `"},{"type":"text","text":"thon\n4"},{"type":"text","text":"2\n` + "```" + `"}]}`
	p := startBlocksAgent(t, blocks.Config{}, divided, agenttest.TextScriptLine("It is 42."))
	p.AnswerExecuteCodeWith(func(code string) frame { return frame{"result": "ran " + code} })
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, p.MessageTexts(), "user: [Block 1 output]\nran 42")
}

func TestBL3_BlocksInOrder(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\na\n```\n```json\nno\n```\n```py\nb\n```\n~~~\nc\n~~~"), agenttest.TextScriptLine("done"))
	p.AnswerExecuteCodeWith(func(code string) frame {
		return map[string]frame{"a": {"stdout": "one\ntwo\n"}, "b": {}, "c": {"stdout": "x", "result": "3"}}[code]
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "user: [Block 1 output]\none\ntwo\n[Block 2 output]\n(no output)\n[Block 3 output]\nx\n3", p.MessageTexts()[2])
	require.Equal(t, 2, p.ModelReplyCount())
}

func TestBL3_OutputTextOfABlock(t *testing.T) {
	t.Parallel()
	value := func(text string) *string { return &text }
	for name, tc := range map[string]struct {
		response protocol.ExecuteCodeResponse
		want     string
	}{
		"nothing":        {protocol.ExecuteCodeResponse{}, "(no output)"},
		"a line break":   {protocol.ExecuteCodeResponse{Stdout: "\n"}, "(no output)"},
		"blanks":         {protocol.ExecuteCodeResponse{Stdout: "  \n\n  x"}, "  \n\n  x"},
		"stdout":         {protocol.ExecuteCodeResponse{Stdout: "a\nb\n"}, "a\nb"},
		"and a value":    {protocol.ExecuteCodeResponse{Stdout: "a", Result: value("'b'")}, "a\n'b'"},
		"and stderr":     {protocol.ExecuteCodeResponse{Stdout: "a\n", Stderr: "warn\n", Result: value("1")}, "a\nwarn\n1"},
		"a failure":      {protocol.ExecuteCodeResponse{Stdout: "a\n", Exception: "Traceback\nE: x\n", EName: "E", Error: "x"}, "a\nTraceback\nE: x"},
		"only its text":  {protocol.ExecuteCodeResponse{Error: "x"}, "x"},
		"several values": {protocol.ExecuteCodeResponse{Result: value("[1,\n 2]")}, "[1,\n 2]"},
	} {
		require.Equal(t, tc.want, blocks.BlockOutput(tc.response), name)
	}
	long := blocks.BlockOutput(protocol.ExecuteCodeResponse{Stdout: "begin" + strings.Repeat("é", 20<<10) + "end"})
	require.LessOrEqual(t, len(long), 16<<10)
	require.Regexp(t, `^beginé+\n\[\.\.\. \d+ bytes left out \.\.\.\]\né+end$`, long)
}

// The feedback on a reply with many blocks is clipped.
func TestBL3_FeedbackIsBounded(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine(strings.Repeat("```\nx\n```\n", 12)), agenttest.TextScriptLine("done"))
	p.AnswerExecuteCodeWith(func(string) frame { return frame{"stdout": strings.Repeat("y", 20<<10)} })
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 12, p.CountFramesWithField("action", "execute_code"))
	require.LessOrEqual(t, len(p.MessageTexts()[2]), len("user: ")+128<<10)
	require.Contains(t, p.MessageTexts()[2], "bytes left out")
}

func TestBL4_RoundsAreLimited(t *testing.T) {
	t.Parallel()
	for configured, limit := range map[int]int{0: 5, 1: 1, 3: 3} {
		lines := make([]string, limit+2)
		for i := range lines {
			lines[i] = agenttest.TextScriptLine(fmt.Sprintf("Round %d\n```\nx\n```", i))
		}
		for _, evalMode := range []bool{false, true} {
			p := startBlocksAgent(t, blocks.Config{MaxRounds: configured}, lines...)
			p.InitAndAwaitReady(frame{"eval_mode": evalMode})
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, 1+limit, p.ModelReplyCount())
			require.Equal(t, limit, p.CountFramesWithField("action", "execute_code"))
			last := fmt.Sprintf("Round %d\n```\nx\n```", limit)
			require.Equal(t, "assistant: "+last, p.MessageTexts()[len(p.MessageTexts())-1])
			shown := p.EventsOfType("response")
			require.Equal(t, last, shown[len(shown)-1].StringField("text"))
			events := p.EventsOfType("limit")
			require.Len(t, events, 1)
			require.Equal(t, fmt.Sprintf("limit reached: max_eval_iters %d of %d", limit, limit), events[0].StringField("text"))
			require.Equal(t, "max_eval_iters", events[0].ObjectField("metadata").StringField("limit"))
			require.Empty(t, p.FramesOfType("agent_error"))
		}
	}
}

func TestBL4_FinalAnswerAfterTheLastRound(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{MaxRounds: 1}, agenttest.TextScriptLine("```\nx\n```"), agenttest.TextScriptLine("done"), agenttest.TextScriptLine("never"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
	require.Empty(t, p.EventsOfType("limit"))
}

func TestBL6_FailuresAreOutput(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\na\n```\n```\nb\n```\n```\nc\n```"), agenttest.TextScriptLine("done"))
	p.AnswerExecuteCodeWith(func(code string) frame {
		return map[string]frame{
			"a": {"status": "error", "stdout": "so far\n", "exception": "Traceback\nValueError: x", "ename": "ValueError", "error": "x"},
			"b": {"status": "error", "error": "execute_code did not end within 5m0s and was interrupted"},
			"c": {"result": "7"},
		}[code]
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "user: [Block 1 output]\nso far\nTraceback\nValueError: x\n"+
		"[Block 2 output]\nexecute_code did not end within 5m0s and was interrupted\n[Block 3 output]\n7", p.MessageTexts()[2])
}

// Exceptions that are meant to end a program, and an interrupt from outside, end the work on
// the query. The next query is worked on.
func TestBL6_ExitAndInterruptEndTheWork(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]frame{
		"SystemExit":        {"status": "error", "exception": "SystemExit: 3", "ename": "SystemExit", "error": "3"},
		"KeyboardInterrupt": {"status": "error", "exception": "KeyboardInterrupt", "ename": "KeyboardInterrupt"},
		"CancelledError":    {"status": "error", "exception": "asyncio.CancelledError", "ename": "CancelledError"},
		"stopped":           {"status": "interrupted", "exception": "KeyboardInterrupt", "ename": "KeyboardInterrupt"},
		"stopped in Lisp":   {"status": "interrupted", "exception": "Quit", "ename": "quit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\na\n```\n```\nb\n```"), agenttest.TextScriptLine("hello again"))
			p.AnswerExecuteCodeWith(func(string) frame { return answer })
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, 1, p.ModelReplyCount())
			require.Equal(t, 1, p.CountFramesWithField("action", "execute_code"))
			require.Len(t, p.MessageTexts(), 2)
			require.Equal(t, answer.StringField("exception"), p.EventsOfType("ai_exec_result")[0].StringField("text"))

			require.Equal(t, "done", p.QueryAndWait("are you there?"))
			require.Equal(t, "assistant: hello again", p.MessageTexts()[3])
		})
	}
}

func TestBL6_CancelEndsTheWork(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\nslow\n```\n```\nnext\n```"), agenttest.TextScriptLine("hello again"))
	p.SetActionHook(func(action string, _ frame, _ string) bool { return action == "execute_code" }) // it gets no response
	p.InitAndAwaitReady(nil)
	p.SendQuery("go")
	running := p.AwaitFrame(0, "the block", func(f frame) bool { return f.StringField("action") == "execute_code" })
	seen := len(p.Frames())
	p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.AwaitQueryEnd(seen))
	require.Len(t, p.EventsOfType("cancelled"), 1)
	require.Empty(t, p.EventsOfType("ai_exec_result"))
	stop := p.AwaitFrame(seen, "the stop", func(f frame) bool { return f.StringField("action") == "stop_cell" })
	require.Equal(t, running.StringField("tx_id"), stop.ObjectField("params").StringField("agent_tx_id"))
	require.Equal(t, 1, p.CountFramesWithField("action", "execute_code"))

	require.Equal(t, "done", p.QueryAndWait("are you there?"))
	require.Equal(t, "assistant: hello again", p.MessageTexts()[len(p.MessageTexts())-1])
}

func TestBL7_RepliesBlocksAndOutputsAreEvents(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("Look:\n```py\n1\n```\n```\n2\n```"), agenttest.TextScriptLine("done"))
	p.AnswerExecuteCodeWith(func(code string) frame { return frame{"result": code} })
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("@lab count up to two, and then\nsome more"))
	event := func(channel, mode, kind, text string, block ...float64) frame {
		metadata := map[string]any{"type": kind, "request_id": "q1", "label": "lab", "task": "ai:lab:count up to two, and then some"}
		if len(block) > 0 {
			metadata["block"] = block[0]
		}
		return frame{"type": "agent_event", "channel": channel, "mode": mode, "text": text, "metadata": metadata}
	}
	require.Equal(t, []frame{
		event("ai", "NL", "response", "Look:\n```py\n1\n```\n```\n2\n```"),
		event("py", "PY", "ai_exec", "1", 1),
		event("py", "PY", "ai_exec_result", "1", 1),
		event("py", "PY", "ai_exec", "2", 2),
		event("py", "PY", "ai_exec_result", "2", 2),
		event("ai", "NL", "response", "done"),
	}, eventsWithLabels(p)[:6])
	require.Equal(t, frame{"type": "ended", "request_id": "q1", "label": "lab"}, eventsWithLabels(p)[6].ObjectField("metadata"))
}
