package ticks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/ticks"
)

func TestCX1_LastEvalResult(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{},
		objectScriptLine(frame{"eval": "(+ 2 2)", "continue": true}), objectScriptLine(frame{"eval": "(car <\n1)", "continue": true}), objectScriptLine(frame{"continue": true}), objectScriptLine(frame{}))
	p.AnswerExecuteCodeWith(func(code string) frame {
		if code == "(+ 2 2)" {
			return frame{"result": "4", "forms": 1}
		}
		return frame{"status": "error", "ename": "x", "error": "Invalid <x>", "exception": "Invalid <x>\n  in line 1", "forms": 1}
	})
	p.InitAndAwaitReady(frame{"language": "elisp"})
	require.Equal(t, "done", p.QueryAndWait("go"))
	prompts := sentPrompts(p)
	require.NotContains(t, prompts[0], "Last Eval", "there is none in the first tick")
	require.True(t, strings.HasPrefix(prompts[1], "## Last Eval Result (tick 1)\n\n```json\n"+`{
  "elisp": "(+ 2 2)",
  "success": true,
  "result": "4",
  "error": null,
  "tick": 1
}`+"\n```\n\n## Global Buffers\n"), prompts[1])
	require.True(t, strings.HasPrefix(prompts[2], "## Last Eval Result (tick 2)\n\n```json\n"+`{
  "elisp": "(car <\n1)",
  "success": false,
  "result": null,
  "error": "Invalid <x>",
  "tick": 2
}`+"\n```\n\n## Global Buffers\n"), prompts[2])
	require.True(t, strings.HasPrefix(prompts[3], "## Global Buffers\n"), "omitted after a skipped eval")
}

func TestCX1_CodeFieldOfOtherLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"python", "R"} {
		p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"eval": "1", "continue": true}), objectScriptLine(frame{}))
		p.InitAndAwaitReady(frame{"language": language})
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Contains(t, sentPrompts(p)[1], "{\n  \"code\": \"1\",\n  \"success\": true,")
	}
}

// A prompt has all sections in order.
func TestCX3_PromptSections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "sums"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sums", "SKILL.md"), []byte("Add up.\n"), 0o600))
	p := startTicksAgent(t, ticks.Config{SkillsDir: dir},
		objectScriptLine(frame{"monologue": "one", "continue": true, "thread": frame{"op": "create", "id": "old", "concern": "was", "buffers": []string{"c2"}}}),
		objectScriptLine(frame{"eval": "1", "monologue": "two", "confidence": 0.256, "continue": true, "thread": frame{
			"op": "create", "id": "new", "concern": "is", "buffers": []string{"c1", "gone"}, "skills": []string{"sums", "lost", "../sums"},
		}}),
		objectScriptLine(frame{"monologue": "three"}))
	for _, source := range []string{"a = 1", "b = 2", "c = 3"} {
		p.HandleAction("create_cell", frame{"source": source}, "tx_none")
	}
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("say ``` and go"))
	cell := func(i int, source string) string {
		return fmt.Sprintf("### c%d\n\n```\n[%d] cell_id: c%d, code, idle \n%s\n\n--- stream\nprinted by c%d\nwidget c%d/w (slider ): 3\n```", i+1, i, i+1, source, i+1, i+1)
	}
	require.Equal(t, strings.Join([]string{
		"## Last Eval Result (tick 2)", "```json\n{\n  \"code\": \"1\",\n  \"success\": true,\n  \"result\": \"42\",\n  \"error\": null,\n  \"tick\": 2\n}\n```",
		"## Thread Skills", "### sums", "Add up.", "### lost", "(There is no such skill.)", "### ../sums", "(There is no such skill.)",
		"## Active Thread Buffers", cell(0, "a = 1"), "### gone\n\n```\n(There is no such cell.)\n```",
		"## Global Buffers", "### chat-pending\n\n````\nsay ``` and go\n````", cell(2, "c = 3"),
		"## Pending Threads", "- old: was",
		"## Recent Monologue", "- [2026-11-20 12:03][TICK 2] two\n- [2026-11-20 12:03][TICK 2] EVAL: 1 => 42\n- [2026-11-20 12:03][TICK 1] one",
		"## Recent Actions", "- [TICK 2] eval: 1 (confidence 0.26)\n- [TICK 1] thought:  (confidence 0.50)",
	}, "\n\n"), sentPrompts(p)[2])
	require.Equal(t, "## Global Buffers\n\n### chat-pending\n\n````\nsay ``` and go\n````\n\n"+
		strings.Join([]string{cell(0, "a = 1"), cell(1, "b = 2"), cell(2, "c = 3")}, "\n\n"), sentPrompts(p)[0])
}

// The cells of a completed thread are global buffers again.
func TestCX3_CellsOfCompletedThreads(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{},
		objectScriptLine(frame{"continue": true, "thread": frame{"op": "create", "buffers": []string{"c1"}}}),
		objectScriptLine(frame{"continue": true, "thread": frame{"op": "complete"}}), objectScriptLine(frame{}))
	p.HandleAction("create_cell", frame{"source": "a = 1"}, "tx_none")
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, sentPrompts(p)[1], "## Active Thread Buffers\n\n### c1\n")
	require.NotContains(t, sentPrompts(p)[2], "## Active Thread Buffers")
	require.Contains(t, sentPrompts(p)[2], "```\n\n### c1\n")
}

// A notebook that does not answer, or that is huge, does not end the tick.
func TestCX3_FailingAndHugeNotebook(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"continue": true}), objectScriptLine(frame{}))
	var once sync.Once
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		cells := []frame{{"cell_id": "a", "source": strings.Repeat("a\n", 1<<20)}, {"cell_id": "b", "source": strings.Repeat("`", 1<<20)}}
		for i := range 1000 {
			cells = append(cells, frame{"cell_id": fmt.Sprint(i)})
		}
		answer := frame{"context": frame{"cells": cells}}
		once.Do(func() { answer = frame{"status": "error", "error": "no console"} })
		p.RespondToAction(tx, answer)
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "## Global Buffers\n\n### chat-pending\n\n```\ngo\n```\n\n### notebook\n\n```\nno console\n```", sentPrompts(p)[0])
	require.Less(t, len(sentPrompts(p)[1]), 40<<10)
	require.Contains(t, sentPrompts(p)[1], "bytes left out")
	require.Contains(t, sentPrompts(p)[1], "### 97\n\n```\n[0] cell_id: 97, ,\n```\n\n(There are 902 more cells.)")
}

// The buffer chat-pending has the text of the current query.
func TestCX3_ChatPendingHasTheQuery(t *testing.T) {
	t.Parallel()
	p := startTicksAgent(t, ticks.Config{}, objectScriptLine(frame{"reply": "first", "continue": true}), objectScriptLine(frame{"reply": "second"}), objectScriptLine(frame{"reply": "third"}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("one"))
	require.Equal(t, "done", p.QueryAndWait("two"))
	for i, want := range []string{"one", "one", "two"} {
		require.Contains(t, sentPrompts(p)[i], "### chat-pending\n\n```\n"+want+"\n```")
	}
	require.Contains(t, sentPrompts(p)[2], "- [TICK 2] reply: second (confidence 0.50)\n- [TICK 1] reply: first (confidence 0.50)")
}

// The first part of the system prompt stays the same byte for byte; the state follows it.
func TestCX4_SystemPrompt(t *testing.T) {
	t.Parallel()
	spy := &recordingModel{replies: []string{
		`{"mood":"glad","confidence":0.123,"continue":true,"thread":{"op":"create","id":"a","concern":"b"}}`, `{"continue":true,"thread":{"op":"create"}}`, `{"thread":{"op":"complete"}}`, `{}`,
	}}
	dir := t.TempDir()
	for _, name := range []string{"zeta", "alpha", ".hidden", "empty"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	for _, name := range []string{"zeta", "alpha", ".hidden"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "SKILL.md"), nil, 0o600))
	}
	p := startAgent(t, ticks.Config{Agent: builtin.Config{Model: spy, Name: "Ada"}, SkillsDir: dir})
	p.InitAndAwaitReady(frame{"language": "elisp"})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "done", p.QueryAndWait("go"))
	for i, want := range []string{
		"## State\n\ntick: 1\nmood: neutral\nconfidence: 0.50\nthread: none",
		"## State\n\ntick: 2\nmood: glad\nconfidence: 0.12\nthread: a (b)",
		"## State\n\ntick: 3\nmood: glad\nconfidence: 0.12\nthread: thread-1",
		"## State\n\ntick: 4\nmood: glad\nconfidence: 0.12\nthread: none",
	} {
		system := spy.requests[i].System
		require.Len(t, system, 2)
		require.Equal(t, spy.requests[0].System[0], system[0])
		require.Equal(t, want, system[1].Text)
		require.True(t, system[0].Cache)
		require.False(t, system[1].Cache)
		require.Len(t, spy.requests[i].Messages, 1, "messages of earlier ticks are not sent")
		require.Equal(t, i+1, spy.requests[i].Turn)
	}
	text := spy.requests[0].System[0].Text
	require.True(t, strings.HasPrefix(text, "You are Ada, "))
	require.True(t, strings.HasSuffix(text, "## Skills\n\nA thread can be given these: alpha, zeta."), text)
	require.Contains(t, text, "`eval` is elisp")
	require.NotContains(t, text, "{nothing}")
	require.NotContains(t, text, "{ticks}")
}

// A missing skills folder is an error before the first frame.
func TestTK4_MissingSkillsFolderIsAnError(t *testing.T) {
	t.Parallel()
	p := startAgent(t, ticks.Config{Agent: builtin.Config{Model: &recordingModel{}}, SkillsDir: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, <-p.Ended, "open the skills: open ")
	require.Empty(t, p.Frames())
}

func TestTK4_TwentyMonologueLinesAreShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var lines []string
	for n := range 25 {
		lines = append(lines, fmt.Sprintf("line %02d", n+1))
	}
	state, err := json.Marshal(map[string]any{"recentMonologue": lines})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "consciousness.json"), state, 0o600))
	p := startTicksAgent(t, ticks.Config{StateDir: dir}, objectScriptLine(frame{}))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Contains(t, sentPrompts(p)[0], "## Recent Monologue\n\n- line 25\n- line 24\n")
	require.Equal(t, 20, strings.Count(sentPrompts(p)[0], "- line "))
}
