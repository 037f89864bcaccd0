package blocks_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
	"assay/internal/model"
)

func TestBL8_LabelIsSplitFromQuery(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", 64)
	for query, want := range map[string][2]string{
		"@2 a":                {"2", "a"},
		" @2 \t a b\n":        {"2", "a b"},
		"@lab-1_é one\ntwo":   {"lab-1_é", "one\ntwo"},
		"@2\nnext line":       {"2", "next line"},
		"@2 @3 a":             {"2", "@3 a"},
		"@2":                  {},
		"@2 ":                 {},
		"@ x":                 {},
		"@":                   {},
		"":                    {},
		"hello @2 x":          {},
		"@@2 x":               {},
		"@a.b x":              {},
		"@me: x":              {},
		"2 x":                 {},
		"@\xff x":             {},
		"@" + longest + " x":  {longest, "x"},
		"@" + longest + "a x": {},
	} {
		label, text, ok := blocks.SplitLabel(query)
		require.Equal(t, want, [2]string{label, text}, query)
		require.Equal(t, want[0] != "", ok, query)
	}
}

func TestBL8_TaskName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ai:1:go", blocks.TaskName("1", " go\n"))
	require.Equal(t, "ai:lab:first line second line, and 日本", blocks.TaskName("lab", "first line\nsecond line, and 日本語"))
}

func TestBL8_QueriesKeepTheLastLabel(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("one"), agenttest.TextScriptLine("two"), agenttest.TextScriptLine("three"), agenttest.TextScriptLine("four"), agenttest.TextScriptLine("five"))
	p.InitAndAwaitReady(nil)
	for _, query := range []string{"a", "@2 b", "c", "@2", "@ x", "hello @3 x", "@1 d"} {
		require.Equal(t, "done", p.QueryAndWait(query))
	}
	require.Equal(t, []string{"ai:1:a", "ai:2:b", "ai:2:c", "ai:2:@2", "ai:2:@ x", "ai:2:hello @3 x", "ai:1:d"}, replyTaskNames(p))
	var texts []string
	for _, f := range p.EventsOfType("response") {
		texts = append(texts, f.StringField("text"))
	}
	require.Equal(t, []string{"one", "one", "two", "three", "four", "five", "two"}, texts) // each label has its own conversation, and so its own place in the script
}

// A query keeps the label that was current when it arrived.
func TestBL8_LabelIsBoundOnArrival(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("one"), agenttest.TextScriptLine("two"))
	p.InitAndAwaitReady(nil)
	p.SendQueries("@2 a", "@1 b", "c")
	p.AwaitQueryEnds(3)
	require.ElementsMatch(t, []string{"ai:2:a", "ai:1:b", "ai:1:c"}, replyTaskNames(p))
}

// In an evaluation "@word" at the start of a task is no label.
func TestBL8_NoLabelsInAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("1 [EVAL_COMPLETE]"), agenttest.TextScriptLine("2 [EVAL_COMPLETE]"), agenttest.TextScriptLine("3"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	for _, query := range []string{"@everyone count", "@2 b"} {
		require.Equal(t, "done", p.QueryAndWait(query))
	}
	require.Equal(t, []string{"ai:1:@everyone count", "ai:1:@2 b"}, replyTaskNames(p))
	require.Contains(t, p.MessageTexts()[0], "@everyone count")
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("@2 c"))
	require.Equal(t, "ai:2:c", replyTaskNames(p)[2])
}

// Several labels work at once; the queries of one label wait for each other.
func TestBL8_LabelsRunSideBySide(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("```\nx\n```"), agenttest.TextScriptLine("done"), agenttest.TextScriptLine("```\ny\n```"), agenttest.TextScriptLine("done"))
	p.SetActionHook(func(action string, _ frame, _ string) bool { return action == "execute_code" }) // they are answered below
	p.InitAndAwaitReady(nil)
	p.SendQueries("@1 a", "@2 b", "@1 c", "@3 d")
	runs := func(label string) func(frame) bool {
		return func(f frame) bool {
			return f.StringField("action") == "execute_code" && f.ObjectField("params").StringField("session") == label
		}
	}
	first := p.AwaitFrame(0, "a block of 1", runs("1"))
	for _, label := range []string{"2", "3"} {
		p.RespondToAction(p.AwaitFrame(0, "a block of "+label, runs(label)).StringField("tx_id"), nil)
	}
	require.Equal(t, 3, p.CountFramesWithField("action", "execute_code"))
	seen := len(p.Frames())
	p.RespondToAction(first.StringField("tx_id"), nil)
	second := p.AwaitFrame(seen, "another block of 1", runs("1"))
	require.Equal(t, "y", second.ObjectField("params").StringField("code"))
	p.RespondToAction(second.StringField("tx_id"), nil)
	p.AwaitQueryEnds(4)
	ofOne := slices.DeleteFunc(replyTaskNames(p), func(task string) bool { return !strings.HasPrefix(task, "ai:1:") })
	require.Equal(t, []string{"ai:1:a", "ai:1:a", "ai:1:c", "ai:1:c"}, ofOne)
}

// The code of eight labels runs in the kernel at once: none can go on before all have started.
func TestBL8_EightLabelsAtOnce(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	const labels = 8
	var queries []string
	for i := 1; i <= labels; i++ {
		code := fmt.Sprintf(`
import asyncio
if 'gate' not in globals(): gate, here = asyncio.Event(), 0
here += 1
if here == %[2]d: gate.set()
print('%[1]d begins')
await gate.wait()
own_%[1]d = here * 10
print('%[1]d ends')
%[1]d`, i, labels)
		queries = append(queries, fmt.Sprintf("@%d %s", i, promptForReplyWithBlocks(code)))
	}
	p.SendQueries(queries...)
	p.AwaitQueryEnds(labels)
	outputs := map[string]string{}
	for _, f := range p.EventsOfType("ai_exec_result") {
		outputs[f.ObjectField("metadata").StringField("label")] = f.StringField("text")
	}
	for i := 1; i <= labels; i++ {
		require.Equal(t, fmt.Sprintf("%[1]d begins\n%[1]d ends\n%[1]d", i), outputs[fmt.Sprint(i)])
	}
	require.Equal(t, "[Block 1 output]\n[80, 80, 80, 80, 80, 80, 80, 80]", queryAndGetFeedback(p, promptForReplyWithBlocks("[globals()[f'own_{i}'] for i in range(1, 9)]")))
}

// The code of one label never runs at the same time: the counter of running blocks stays 1.
func TestBL8_OneLabelNeverOverlapsItself(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	code := "import asyncio\nrunning = globals().get('running', 0) + 1\nprint(running)\nfor _ in range(100): await asyncio.sleep(0)\nrunning -= 1"
	p.SendQueries(slices.Repeat([]string{"@x " + promptForReplyWithBlocks(code, code)}, 5)...)
	p.AwaitQueryEnds(5)
	outputs := p.EventsOfType("ai_exec_result")
	require.Len(t, outputs, 10)
	for _, f := range outputs {
		require.Equal(t, "1", f.StringField("text"))
	}
}

// What a block prints after an await is its own output, although other labels print meanwhile.
func TestBL5_OutputBelongsToItsBlock(t *testing.T) {
	t.Parallel()
	p := startAgentOnPythonKernel(t)
	queryAndGetFeedback(p, promptForReplyWithBlocks("import asyncio\nfirst, second = asyncio.Event(), asyncio.Event()"))
	p.SendQueries(
		"@a "+promptForReplyWithBlocks("print('a1')\nfirst.set()\nawait second.wait()\nprint('a2')"),
		"@b "+promptForReplyWithBlocks("await first.wait()\nprint('b1')\nsecond.set()\nfor _ in range(9): await asyncio.sleep(0)\nprint('b2')"),
	)
	p.AwaitQueryEnds(2)
	outputs := map[string]string{}
	for _, f := range p.EventsOfType("ai_exec_result") {
		outputs[f.ObjectField("metadata").StringField("label")] = f.StringField("text")
	}
	require.Equal(t, "a1\na2", outputs["a"])
	require.Equal(t, "b1\nb2", outputs["b"])
}

func TestBL8_TaskNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ strategy, query, current, label, name string }{
		{"blocks", "@2 go", "", "2", "ai:2:go"},
		{"blocks", "go", "", "1", "ai:1:go"},
		{"blocks", "go", "3", "3", "ai:3:go"},
		{"blocks", "@2", "", "1", "ai:1:@2"},
		{"blocks", "@ x", "4", "4", "ai:4:@ x"},
		{"blocks", "hello @2 x", "", "1", "ai:1:hello @2 x"},
		{"blocks", "@a 123456789 123456789 123456789 x", "", "a", "ai:a:123456789 123456789 123456789 "},
		{"tools", "@2 go", "", "1", "ai:1:@2 go"},
	} {
		label, name := blocks.LabelAndTaskName(test.query, test.current, test.strategy == blocks.StrategyName)
		require.Equal(t, []string{test.label, test.name}, []string{label, name}, test.query)
	}
}

// An agent is not ready while another label is still at work.
func TestCO6_NotReadyWhileAnotherLabelWorks(t *testing.T) {
	t.Parallel()
	p, m := startAgentOnReplies(t, blocks.Config{}, agenttest.NewModelReply(model.Text("```\n1\n```")), errors.New("no idea"))
	m.LastReply = agenttest.NewModelReply(model.Text("fine"))
	held := p.WithholdResponses("execute_code")
	p.InitAndAwaitReady(nil)
	p.SendFrame(frame{"type": "agent_query", "query": "@1 a", "request_id": "0"})
	tx := <-held
	p.SendFrame(frame{"type": "agent_query", "query": "@2 b", "request_id": "1"})
	p.AwaitFrame(0, "the end of the second", func(f frame) bool {
		return f.ObjectField("metadata").StringField("request_id") == "1" && agenttest.IsQueryEndedEvent(f)
	})
	p.RespondToAction(tx, nil)
	p.AwaitFrame(0, "done", func(f frame) bool { return f.StringField("status") == "done" })
	require.Equal(t, 1, p.CountFramesWithField("status", "ready"), "it answers the init")
}
