package blocks_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
)

func TestBL1_LabelSeesOtherLabels(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\nx\n```"), agenttest.TextScriptLine("It  is\nx."), agenttest.TextScriptLine("Never."), agenttest.TextScriptLine("Fine."))
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		if action == "request_globals_summary" {
			p.RespondToAction(tx, frame{"summary": frame{}})
		}
		return action == "request_globals_summary"
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("what is x?"))
	require.Equal(t, "done", p.QueryAndWait("@2 and you?"))
	require.Equal(t, "done", p.QueryAndWait("@1 again"))
	texts := p.MessageTexts()
	require.Equal(t, "user: what is x?", texts[0])
	require.Equal(t, `user: ## Other Sessions

[1] user: what is x?
[1] assistant: `+"``` x ```"+`
[1] output: [Block 1 output] x 42
[1] assistant: It is x.

and you?`, texts[4])
	require.Equal(t, "user: [Block 1 output]\nx\n42", texts[6])
	require.Equal(t, `user: ## Other Sessions

[2] user: and you?
[2] assistant: `+"``` x ```"+`
[2] output: [Block 1 output] x 42
[2] assistant: It is x.

again`, texts[8])
}

func TestBL1_OtherLabelsSectionHasTwentyEntries(t *testing.T) {
	t.Parallel()
	var j blocks.CrossLabelLog
	require.Empty(t, j.SectionFor("1"))
	for i := range 50 {
		j.Add("2", "user", fmt.Sprintf("two %d", i))
		j.Add("1", "user", fmt.Sprintf("one %d", i))
	}
	var want []string
	for i := 30; i < 50; i++ {
		want = append(want, fmt.Sprintf("[2] user: two %d", i))
	}
	require.Equal(t, "## Other Sessions\n\n"+strings.Join(want, "\n"), j.SectionFor("1"))
	require.Equal(t, 22, strings.Count(j.SectionFor("3"), "\n")+1)
	require.True(t, strings.HasSuffix(j.SectionFor("3"), "[2] user: two 49\n[1] user: one 49"))
}

func TestBL1_OtherLabelsEntriesAreCut(t *testing.T) {
	t.Parallel()
	var j blocks.CrossLabelLog
	j.Add("2", "assistant", strings.Repeat("é", 200))
	j.Add("3", "assistant", strings.Repeat("é", 201))
	require.Equal(t, "## Other Sessions\n\n[2] assistant: "+strings.Repeat("é", 200)+"\n[3] assistant: "+strings.Repeat("é", 197)+"...", j.SectionFor("1"))
}

// The section about other labels is bounded and has the newest entries.
func TestBL1_OtherLabelsSectionIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var j blocks.CrossLabelLog
		for _, text := range rapid.SliceOfN(rapid.String(), 1, 60).Draw(t, "texts") {
			j.Add(rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "label"), "user", strings.Repeat(text, 40))
		}
		j.Add("2", "output", "the last")
		section := j.SectionFor("1")
		require.LessOrEqual(t, utf8.RuneCountInString(section), 2000)
		require.LessOrEqual(t, strings.Count(section, "\n"), 21)
		require.NotContains(t, section, "\n[1]")
		require.True(t, strings.HasSuffix(section, "\n[2] output: the last"))
	})
}

func TestBL1_ClearedHistoryIsNotShownToOtherLabels(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("one"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("a secret"))
	p.SendFrame(frame{"type": "agent_clear_history"})
	require.Equal(t, "done", p.QueryAndWait("@2 b"))
	require.Equal(t, "done", p.QueryAndWait("@1 c"))
	require.NotContains(t, strings.Join(p.MessageTexts()[2:], "\n"), "secret")
	require.Equal(t, "assistant: one", p.MessageTexts()[5]) // the script starts again
}

// firstMessageWithSummary returns the first message of a query if the response to
// request_globals_summary has these fields.
func firstMessageWithSummary(t *testing.T, summary frame) string {
	t.Helper()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("done"))
	p.SetActionHook(func(action string, _ frame, tx string) bool {
		p.RespondToAction(tx, summary)
		return true
	})
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	return strings.TrimPrefix(p.MessageTexts()[0], "user: ")
}

func TestBL9_Namespace(t *testing.T) {
	t.Parallel()
	require.Equal(t, strings.TrimSpace(`
## Namespace

C: type = <class 'C'>
array: ndarray, shape [2,3]
bad: S (its inspection takes over 0.1 s)
lines: str = 'a b'
long: str = `+strings.Repeat("é", 57)+`...
none: NoneType
odd: unknown
sixty: str = `+strings.Repeat("x", 60)+`
table: DataFrame, shape [3,2]
x: int = 3

go`), firstMessageWithSummary(t, frame{"summary": frame{
		"x": frame{"type": "int", "repr": "3"}, "long": frame{"type": "str", "repr": strings.Repeat("é", 100)},
		"sixty": frame{"type": "str", "repr": strings.Repeat("x", 60)}, "lines": frame{"type": "str", "repr": "'a\n b'"},
		"table": frame{"type": "DataFrame", "shape": []int{3, 2}, "columns": []string{"a", "b"}},
		"array": frame{"type": "ndarray", "shape": []int{2, 3}}, "bad": frame{"type": "S", "error": "its inspection takes over 0.1 s"},
		"none": frame{"type": "NoneType"}, "C": frame{"type": "type", "repr": "<class 'C'>"}, "odd": 5,
		"_x": frame{"type": "int", "repr": "1"}, "__y": frame{"type": "int", "repr": "1"},
		"os": frame{"type": "module", "repr": "<module 'os'>"}, "f": frame{"type": "function", "repr": "<function f>"},
		"len": frame{"type": "builtin_function_or_method", "repr": "<built-in>"}, "when": frame{"type": "macro", "repr": "(when)"},
	}}))
}

func TestBL9_NoNamespaceSection(t *testing.T) {
	t.Parallel()
	require.Equal(t, "go", firstMessageWithSummary(t, frame{"summary": frame{}}))
	require.Equal(t, "go", firstMessageWithSummary(t, frame{"summary": frame{"_x": frame{"type": "int"}}}))
	require.Equal(t, "go", firstMessageWithSummary(t, frame{}))
}

func TestBL9_NamespaceErrorIsShown(t *testing.T) {
	t.Parallel()
	require.Equal(t, "## Namespace\n\nThe names of the kernel could not be listed: there is no kernel\n\ngo",
		firstMessageWithSummary(t, frame{"status": "error", "error": "there is no kernel"}))
}

func TestBL9_NamespaceIsBounded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"n%03d", strings.Repeat("é", 3000) + "%d"} {
		names := frame{}
		for i := range 100 {
			names[fmt.Sprintf(name, i)] = frame{"type": strings.Repeat("t", 500), "repr": strings.Repeat("y", 500)}
		}
		section := strings.TrimSuffix(firstMessageWithSummary(t, frame{"summary": names}), "\n\ngo")
		lines := strings.Split(section, "\n")
		require.LessOrEqual(t, utf8.RuneCountInString(section), 2000)
		require.Greater(t, utf8.RuneCountInString(section), 1700)
		require.Equal(t, fmt.Sprintf("... and %d more", 100-(len(lines)-3)), lines[len(lines)-1])
	}
}

func TestBL9_NamespaceThatJustFits(t *testing.T) {
	t.Parallel()
	names := frame{}
	for i := range 58 {
		names[fmt.Sprintf("n%02d", i)] = frame{"type": "int", "repr": strings.Repeat("1", 22)}
	}
	section := strings.TrimSuffix(firstMessageWithSummary(t, frame{"summary": names}), "\n\ngo")
	require.Len(t, section, len("## Namespace")+1+58*34)
	require.NotContains(t, section, "more")
}

func TestBL1_OtherLabelsThenNamespaceThenPrompt(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("first"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("one"))
	require.Equal(t, "done", p.QueryAndWait("@2 two"))
	require.Equal(t, "user: ## Other Sessions\n\n[1] user: one\n[1] assistant: first\n\n## Namespace\n\nx: int\n\ntwo", p.MessageTexts()[2])
}
