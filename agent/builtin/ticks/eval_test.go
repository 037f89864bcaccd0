package ticks_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/ticks"
)

func TestEV1_NothingToRun(t *testing.T) {
	t.Parallel()
	for _, eval := range []string{`null`, `false`, `""`, `" \n\t\u00a0"`, ``} {
		dir := t.TempDir()
		fields := frame{"monologue": "m", "continue": true}
		if eval != "" {
			fields["eval"] = json.RawMessage(eval)
		}
		p := startTicksAgent(t, ticks.Config{StateDir: dir}, objectScriptLine(fields), objectScriptLine(frame{}))
		p.InitAndAwaitReady(nil)
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Zero(t, p.CountFramesWithField("action", "execute_code"), eval)
		require.Equal(t, `{"code":null,"success":true,"result":null,"error":null,"skipped":true,"tick":2,"forms":0}`, lastEvalRecord(t, dir))
		require.Equal(t, "[2026-11-20 12:03][TICK 1] m\n", readStateFile(t, dir, "monologue.md"))
		require.NotContains(t, sentPrompts(p)[1], "Last Eval Result")
		require.Equal(t, true, tickEventMetadata(p)[0]["skipped"])
		require.Equal(t, true, tickEventMetadata(p)[0]["success"])
	}
}

func TestEV2_RecordHasValueAndForms(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]frame{
		`"result":"4","error":null,"skipped":false,"tick":1,"forms":1`:     {"result": "4", "forms": 1},
		`"result":"None","error":null,"skipped":false,"tick":1,"forms":2`:  {"result": nil, "forms": 2},
		`"result":"'<a>'","error":null,"skipped":false,"tick":1,"forms":3`: {"result": "'<a>'", "forms": 3, "stdout": "printed"},
		`"result":"","error":null,"skipped":false,"tick":1,"forms":1`:      {"result": "", "forms": 1},
	} {
		dir := t.TempDir()
		p := startTicksAgent(t, ticks.Config{StateDir: dir}, objectScriptLine(frame{"eval": "x"}))
		p.AnswerExecuteCodeWith(func(string) frame { return answer })
		p.InitAndAwaitReady(nil)
		require.Equal(t, "done", p.QueryAndWait("go"))
		require.Equal(t, `{"code":"x","success":true,`+want+`}`, lastEvalRecord(t, dir))
	}
}

func TestEV2_LongResultIsShortened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startTicksAgent(t, ticks.Config{StateDir: dir}, objectScriptLine(frame{"eval": strings.Repeat("x", 1<<20), "continue": true}), objectScriptLine(frame{}))
	p.AnswerExecuteCodeWith(func(code string) frame { return frame{"result": code} })
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Less(t, len(sentPrompts(p)[1]), 40<<10)
	require.Contains(t, readStateFile(t, dir, "monologue.md"), "EVAL: "+strings.Repeat("x", 47)+"... => "+strings.Repeat("x", 27)+"...\n")
	for _, f := range p.FramesOfType("agent_action") {
		if f.StringField("action") == "execute_code" {
			require.Len(t, f.ObjectField("params").StringField("code"), 1<<20, "the code that is run is not clipped")
			require.EqualValues(t, 300, f.ObjectField("params")["timeout_s"])
		}
	}
}

func TestEV3_EvalFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		language string
		eval     any
		answer   frame
		want     string
	}{
		"python":      {"python", "x", frame{"status": "error", "ename": "ZeroDivisionError", "error": "division by zero", "exception": "Traceback\nZeroDivisionError: division by zero\n"}, "ZeroDivisionError: division by zero"},
		"no message":  {"python", "x", frame{"status": "error", "ename": "AssertionError", "error": "", "exception": "Traceback\nAssertionError\n"}, "AssertionError"},
		"two lines":   {"python", "x", frame{"status": "error", "ename": "E", "error": "a\nE: b", "exception": "Traceback\nE: a\nE: b\n"}, "E: a\nE: b"},
		"syntax":      {"python", "x", frame{"status": "error", "ename": "SyntaxError", "error": "bad (<code tx_1>, line 1)", "exception": "  File\nSyntaxError: bad\n"}, "SyntaxError: bad"},
		"elisp":       {"elisp", "x", frame{"status": "error", "ename": "arith-error", "error": "Arithmetic error", "exception": "Arithmetic error\n  in line 1: x"}, "Arithmetic error"},
		"silent":      {"elisp", "x", frame{"status": "error", "ename": "quiet", "error": "", "exception": ""}, "quiet"},
		"interrupted": {"python", "x", frame{"status": "interrupted"}, "interrupted"},
		"no kernel":   {"python", "x", frame{"status": "error", "error": "the kernel has ended"}, "the kernel has ended"},
		"number":      {"python", 42, nil, "eval must be a string of code, not a number"},
		"list":        {"python", []any{"a"}, nil, "eval must be a string of code, not a list"},
		"object":      {"elisp", frame{"a": 1}, nil, "eval must be a string of code, not an object"},
		"true":        {"elisp", true, nil, "eval must be a string of code, not a boolean"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := startTicksAgent(t, ticks.Config{StateDir: dir}, objectScriptLine(frame{"eval": c.eval, "continue": true}), objectScriptLine(frame{"reply": "on"}))
			p.AnswerExecuteCodeWith(func(string) frame { return c.answer })
			p.InitAndAwaitReady(frame{"language": c.language})
			require.Equal(t, "done", p.QueryAndWait("go"), "the agent goes on")
			quoted, err := json.Marshal(c.want)
			require.NoError(t, err)
			require.Contains(t, sentPrompts(p)[1], `"success": false,`+"\n  \"result\": null,\n  \"error\": "+string(quoted)+",\n")
			source := fmt.Sprint(c.eval)
			if _, text := c.eval.(string); !text {
				raw, err := json.Marshal(c.eval)
				require.NoError(t, err)
				source = string(raw)
			}
			require.Equal(t, "[2026-11-20 12:03][TICK 1] EVAL ERROR: "+source+" => "+strings.ReplaceAll(c.want, "\n", `\n`)+"\n", readStateFile(t, dir, "monologue.md"))
			require.Equal(t, false, tickEventMetadata(p)[0]["success"])
			require.Equal(t, false, tickEventMetadata(p)[0]["skipped"])
		})
	}
}
