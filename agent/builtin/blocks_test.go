package builtin_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// startBlocks runs the agent that works by blocks on a scripted model.
func startBlocks(t *testing.T, cfg builtin.Config, lines ...string) *peer {
	t.Helper()
	cfg.Strategy = "blocks"
	return startTools(t, cfg, lines...)
}

// saying is a line of a script that says something.
func saying(text string) string {
	line, _ := json.Marshal(map[string]string{"content": text})
	return string(line)
}

// executes answers execute_code with fields that hang on the code.
func (p *peer) executes(answer func(code string) frame) {
	p.onAction(func(action string, params frame, tx string) bool {
		if action == "execute_code" {
			p.answer(tx, answer(params.text("code")))
		}
		return action == "execute_code"
	})
}

// said lists the texts of the conversation as the server saw it.
func (p *peer) said() []string {
	p.t.Helper()
	var texts []string
	for _, m := range p.history() {
		texts = append(texts, m.Role+": "+model.PlainText(m.Content))
	}
	return texts
}

// labelled lists the events that have a label.
func (p *peer) labelled() []frame {
	return slices.DeleteFunc(p.of("agent_event"), func(f frame) bool { return f.object("metadata").text("label") == "" })
}

func TestBL1_NamespaceThenPromptThenFeedbackOnly(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("```\n1\n```"), saying("done"), saying("again"))
	p.init(nil)
	require.Equal(t, "done", p.ask(" go \n"))
	require.Equal(t, "done", p.ask("more"))
	require.Equal(t, []string{
		"user: ## Namespace\n\nx: int\n\ngo",
		"assistant: ```\n1\n```",
		"user: [Block 1 output]\n1\n42",
		"assistant: done",
		"user: ## Namespace\n\nx: int\n\nmore",
		"assistant: again",
	}, p.said())
}

func TestBL1_FilesStandBehindThePrompt(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("done"))
	p.init(nil)
	seen := len(p.seen())
	p.send(frame{"type": "agent_query", "query": "@2", "request_id": "q", "contextual_node_data": []frame{{"type": "File"}}})
	require.Equal(t, "done", p.ends(seen))
	require.Equal(t, "user: ## Namespace\n\nx: int\n\n@2\n\n<ContextualNodeData>[{\"type\":\"File\"}]</ContextualNodeData>", p.said()[0])
}

func TestTL2_BlocksSystemPrompt(t *testing.T) {
	t.Parallel()
	for language, tags := range map[string]string{
		"python": "`python`, `py`, `python3`", "elisp": "`elisp`, `emacs-lisp`, `lisp`", "R": "`r`",
	} {
		var heard model.Request
		p := start(t, builtin.Run, builtin.Config{
			Strategy: "blocks", Name: "Ada", MaxEvalIters: 7,
			Model: hears(func(req model.Request) string { heard = req; return "done" }),
		})
		p.init(frame{"language": language})
		require.Equal(t, "done", p.ask("go"))
		require.Len(t, heard.System, 1)
		require.Empty(t, heard.Tools)
		text := heard.System[0].Text
		require.True(t, strings.HasPrefix(text, "You are Ada, an agent that works in a live notebook to solve the task that the user gives you.\n\n## Working in Code Blocks\n"))
		require.Contains(t, text, "You act by writing "+language+" in fenced code blocks")
		require.Contains(t, text, "A block is run if it is tagged "+tags+", or not tagged at all.")
		require.Contains(t, text, "at most 7 rounds of blocks")
		require.NotContains(t, text, "{")
		require.Empty(t, builtin.CodeIn(text, language), "the rules themselves hold no block")
	}
}

func TestBL3_ValueAlone(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("```python\n42\n```"), saying("It is 42."))
	p.executes(func(string) frame { return frame{"result": "42"} })
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "user: [Block 1 output]\n42", p.said()[2])
}

func TestBL3_BlocksInOrder(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("```\na\n```\n```json\nno\n```\n```py\nb\n```\n~~~\nc\n~~~"), saying("done"))
	p.executes(func(code string) frame {
		return map[string]frame{"a": {"stdout": "one\ntwo\n"}, "b": {}, "c": {"stdout": "x", "result": "3"}}[code]
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "user: [Block 1 output]\none\ntwo\n[Block 2 output]\n(no output)\n[Block 3 output]\nx\n3", p.said()[2])
	require.Equal(t, 2, calls(p))
}

func TestBL3_Output(t *testing.T) {
	t.Parallel()
	value := func(text string) *string { return &text }
	for name, tc := range map[string]struct {
		end  protocol.ExecuteCodeResponse
		want string
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
		require.Equal(t, tc.want, builtin.BlockOutput(tc.end), name)
	}
	long := builtin.BlockOutput(protocol.ExecuteCodeResponse{Stdout: "begin" + strings.Repeat("é", 20<<10) + "end"})
	require.LessOrEqual(t, len(long), 16<<10)
	require.Regexp(t, `^beginé+\n\[\.\.\. \d+ bytes left out \.\.\.\]\né+end$`, long)
}

// However many blocks a reply has, what is fed back has an end.
func TestBL3_FeedbackIsBounded(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying(strings.Repeat("```\nx\n```\n", 12)), saying("done"))
	p.executes(func(string) frame { return frame{"stdout": strings.Repeat("y", 20<<10)} })
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 12, p.count("action", "execute_code"))
	require.LessOrEqual(t, len(p.said()[2]), len("user: ")+128<<10)
	require.Contains(t, p.said()[2], "bytes left out")
}

func TestBL4_RoundsOfFeedback(t *testing.T) {
	t.Parallel()
	for configured, most := range map[int]int{0: 5, 1: 1, 3: 3} {
		lines := make([]string, most+2)
		for i := range lines {
			lines[i] = saying(fmt.Sprintf("Round %d\n```\nx\n```", i))
		}
		for _, evaluation := range []bool{false, true} {
			p := startBlocks(t, builtin.Config{MaxEvalIters: configured}, lines...)
			p.init(frame{"eval_mode": evaluation})
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, 1+most, calls(p))
			require.Equal(t, most, p.count("action", "execute_code"))
			last := fmt.Sprintf("Round %d\n```\nx\n```", most)
			require.Equal(t, "assistant: "+last, p.said()[len(p.said())-1])
			shown := p.events("response")
			require.Equal(t, last, shown[len(shown)-1].text("text"))
			limit := p.events("limit")
			require.Len(t, limit, 1)
			require.Equal(t, fmt.Sprintf("limit reached: max_eval_iters %d of %d", most, most), limit[0].text("text"))
			require.Equal(t, "max_eval_iters", limit[0].object("metadata").text("limit"))
			require.Empty(t, p.of("agent_error"))
		}
	}
}

func TestBL4_FinalAnswerAfterTheLastRound(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{MaxEvalIters: 1}, saying("```\nx\n```"), saying("done"), saying("never"))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
	require.Empty(t, p.events("limit"))
}

func TestBL6_FailuresAreOutput(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("```\na\n```\n```\nb\n```\n```\nc\n```"), saying("done"))
	p.executes(func(code string) frame {
		return map[string]frame{
			"a": {"status": "error", "stdout": "so far\n", "exception": "Traceback\nValueError: x", "ename": "ValueError", "error": "x"},
			"b": {"status": "error", "error": "execute_code did not end within 5m0s and was interrupted"},
			"c": {"result": "7"},
		}[code]
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "user: [Block 1 output]\nso far\nTraceback\nValueError: x\n"+
		"[Block 2 output]\nexecute_code did not end within 5m0s and was interrupted\n[Block 3 output]\n7", p.said()[2])
}

func TestBL6_WhatEndsTheLoop(t *testing.T) {
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
			p := startBlocks(t, builtin.Config{}, saying("```\na\n```\n```\nb\n```"), saying("hello again"))
			p.executes(func(string) frame { return answer })
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, 1, calls(p))
			require.Equal(t, 1, p.count("action", "execute_code"))
			require.Len(t, p.said(), 2)
			require.Equal(t, answer.text("exception"), p.events("ai_exec_result")[0].text("text"))

			require.Equal(t, "done", p.ask("are you there?"))
			require.Equal(t, "assistant: hello again", p.said()[3])
		})
	}
}

func TestBL6_CancelEndsTheLoop(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("```\nslow\n```\n```\nnext\n```"), saying("hello again"))
	p.onAction(func(action string, _ frame, _ string) bool { return action == "execute_code" }) // and no answer
	p.init(nil)
	p.query("go")
	running := p.await(0, "the block", func(f frame) bool { return f.text("action") == "execute_code" })
	seen := len(p.seen())
	p.send(frame{"type": "agent_cancel", "request_id": "q1"})
	require.Equal(t, "ready", p.ends(seen))
	require.Len(t, p.events("cancelled"), 1)
	require.Empty(t, p.events("ai_exec_result"))
	stop := p.await(seen, "the stop", func(f frame) bool { return f.text("action") == "stop_cell" })
	require.Equal(t, running.text("tx_id"), stop.object("params").text("agent_tx_id"))
	require.Equal(t, 1, p.count("action", "execute_code"))

	require.Equal(t, "done", p.ask("are you there?"))
	require.Equal(t, "assistant: hello again", p.said()[len(p.said())-1])
}

func TestBL7_RepliesBlocksAndOutputsAreEvents(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("Look:\n```py\n1\n```\n```\n2\n```"), saying("done"))
	p.executes(func(code string) frame { return frame{"result": code} })
	p.init(nil)
	require.Equal(t, "done", p.ask("@lab count up to two, and then\nsome more"))
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
	}, p.labelled()[:6])
	require.Equal(t, frame{"type": "ended", "request_id": "q1", "label": "lab"}, p.labelled()[6].object("metadata"))
}
