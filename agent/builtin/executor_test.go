package builtin_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin"
	"assay/internal/model"
)

// Unknown tools, bad input and failing tools are results that say what was
// wrong, beside those that worked.
func TestCO10_FailuresAreResults(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, input, want string }{
		{"fly", `{}`, "Unknown tool: fly"},
		{"run_cell", `{}`, `Bad input for run_cell: cell_id: missing`},
		{"run_cell", `{"cell_id":5}`, `Bad input for run_cell: cell_id: 5 does not fit {"type":"string","minLength":1}`},
		{"run_cell", `{"cell_id":null}`, `Bad input for run_cell: cell_id: null does not fit {"type":"string","minLength":1}`},
		{"run_cell", `{"cell_id":""}`, `Bad input for run_cell: cell_id: "" does not fit {"type":"string","minLength":1}`},
		{"create_cell", `{"source":7,"position":-1}`, `Bad input for create_cell: position: -1 does not fit {"type":"integer","minimum":0}`},
		{"create_cell", `{"position":1.5,"source":"x"}`, `Bad input for create_cell: position: 1.5 does not fit {"type":"integer","minimum":0}`},
		{"create_cell", `{"position":[{"b":"<é>\n","a":[]}],"source":"x"}`, `Bad input for create_cell: position: [{"a":[],"b":"<é>\n"}] does not fit {"type":"integer","minimum":0}`},
		{"create_cell", `{"invalid_json":"{\"pos"}`, `Bad input for create_cell: there is no property "invalid_json"`},
		{"run_cell", `{"cell_id":"a","z":1,"y":1,"x":1,"w":1}`, `Bad input for run_cell: there is no property "w"`},
		{"create_cell", `{"position":0,"source":"x","cell_type":"raw"}`, `Bad input for create_cell: cell_type: "raw" does not fit {"type":"string","enum":["code","markdown"]}`},
		{"set_widget", `{"key":"[[[","value":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "Bad input for set_widget: it is nested more than 200 levels deep"},
		{"delete_cell", `{"cell_id":"locked"}`, "the cell is locked"},
		{"read_memory", `{"name":"soul"}`, "Unknown tool: read_memory"},
	}
	var all []string
	for _, c := range cases {
		all = append(all, c.name, c.input)
	}
	p := startTools(t, builtin.Config{}, uses(append(all, "get_context", `{}`)...), `{"content":"x"}`)
	p.onAction(func(action string, _ frame, tx string) bool {
		if action == "delete_cell" {
			p.answer(tx, frame{"status": "error", "error": "the cell is locked"})
		}
		return action == "delete_cell"
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	for i, c := range cases {
		text, isError := p.resultText(i)
		require.True(t, isError, c.want)
		require.Equal(t, c.want, text)
	}
	text, isError := p.resultText(len(cases))
	require.False(t, isError)
	require.Contains(t, text, "0 cells")
	require.Equal(t, 1, p.count("action", "delete_cell"))
	require.Len(t, p.of("agent_action"), 2)
}

func TestCO10_ThreeMalformedTurnsInARow(t *testing.T) {
	t.Parallel()
	bad, good := uses("fly", `{}`), uses("fly", `{}`, "get_context", `{}`)
	p := startTools(t, builtin.Config{}, bad, bad, good, bad, bad, uses("run_cell", `{}`), `{"content":"never"}`)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 6, calls(p))
	limit := p.events("limit")[0].object("metadata")
	require.Equal(t, "malformed_turns", limit.text("limit"))
}

// Reads run side by side; a mutation waits for those before it, and those after
// it wait for it. The results keep the order of the calls.
func TestCO10_ReadsTogetherMutationsAlone(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses(
		"get_context", `{}`, "request_globals_summary", `{}`, "request_reactivity_summary", `{}`,
		"edit_cell", `{"cell_id":"c1","source":"x"}`,
		"get_context", `{}`, "get_context", `{}`), `{"content":"x"}`)
	type request struct{ action, tx string }
	var waiting []request
	var log []string
	p.onAction(func(action string, _ frame, tx string) bool {
		waiting = append(waiting, request{action, tx})
		alone := action == "edit_cell"
		want := map[bool]int{true: 1, false: 3 - len(log)}[alone]
		if len(log) == 2 {
			want = 2
		}
		if len(waiting) < want {
			return true
		}
		for _, r := range slices.Backward(waiting) {
			p.answer(r.tx, frame{"context": frame{}, "summary": r.action})
		}
		log = append(log, fmt.Sprint(len(waiting), " ", alone))
		waiting = nil
		return true
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, []string{"3 false", "1 true", "2 false"}, log)
	for i, want := range []string{"notebook", "request_globals_summary", "request_reactivity_summary", "edited", "notebook", "notebook"} {
		text, _ := p.resultText(i)
		require.Contains(t, text, want)
	}
	require.Len(t, p.history(), 4) // all results are in one message
}

func TestCO10_LongOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("数据é\n", 5000)
	p := startTools(t, builtin.Config{}, uses("execute_code", `{"code":"x"}`), `{"content":"x"}`)
	p.onAction(func(_ string, _ frame, tx string) bool {
		p.answer(tx, frame{"stdout": "BEGIN" + long + "END"})
		return true
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	text, _ := p.resultText(0)
	require.LessOrEqual(t, len(text), 16<<10)
	require.Greater(t, len(text), 16<<10-64)
	require.Contains(t, text, "BEGIN")
	require.Contains(t, text, "END")
	require.Regexp(t, `\n\[\.\.\. \d+ bytes left out \.\.\.\]\n`, text)
}

func TestCO10_ClippedTextIsStillText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(40, 200).Draw(t, "limit")
		text = strings.Repeat(text, 9)
		clipped := builtin.Clip(text, limit)
		switch {
		case len(clipped) > limit:
			t.Fatalf("%d bytes", len(clipped))
		case !utf8.ValidString(clipped):
			t.Fatalf("%q is no text", clipped)
		case len(text) <= limit && clipped != text:
			t.Fatalf("%q was changed to %q", text, clipped)
		}
		var missing int
		if i := strings.Index(clipped, "\n[... "); len(text) > limit && i >= 0 {
			_, err := fmt.Sscanf(clipped[i:], "\n[... %d bytes left out ...]\n", &missing)
			rest := len(clipped) - len(fmt.Sprintf("\n[... %d bytes left out ...]\n", missing))
			if err != nil || missing+rest != len(text) {
				t.Fatalf("%d missing and %d left of %d: %v", missing, rest, len(text), err)
			}
		}
	})
}

// Results of tools that have nothing to say can be sent nevertheless.
func TestCO10_EmptyOutput(t *testing.T) {
	t.Parallel()
	p := startTools(t, builtin.Config{}, uses("request_reactivity_summary", `{}`), `{"content":"x"}`)
	p.onAction(func(_ string, _ frame, tx string) bool { p.answer(tx, frame{"summary": " "}); return true })
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	text, _ := p.resultText(0)
	require.Equal(t, "(no output)", text)
}

// Many reads of one reply each get their own answer.
func TestCO3_ManyReadsOfOneReply(t *testing.T) {
	t.Parallel()
	var all []string
	for range 200 {
		all = append(all, "get_context", `{}`)
	}
	p := startTools(t, builtin.Config{}, uses(all...), `{"content":"x"}`)
	var mu sync.Mutex
	var waiting []string
	p.onAction(func(_ string, _ frame, tx string) bool {
		mu.Lock()
		defer mu.Unlock()
		if waiting = append(waiting, tx); len(waiting) == 200 {
			for _, tx := range waiting {
				p.answer(tx, frame{"context": frame{"notebook_name": tx}})
			}
		}
		return true
	})
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	seen := map[string]bool{}
	for _, r := range p.results() {
		seen[model.PlainText(r.Content)] = true
	}
	require.Len(t, seen, 200)
}
