package builtin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
)

func TestBL8_Labels(t *testing.T) {
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
		label, text, ok := builtin.CutLabel(query)
		require.Equal(t, want, [2]string{label, text}, query)
		require.Equal(t, want[0] != "", ok, query)
	}
}

func TestBL8_Task(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ai:1:go", builtin.TaskTitle("1", " go\n"))
	require.Equal(t, "ai:lab:first line second line, and 日本", builtin.TaskTitle("lab", "first line\nsecond line, and 日本語"))
}

// askAtOnce sends queries one behind the other.
func (p *peer) askAtOnce(queries ...string) {
	for i, query := range queries {
		p.send(frame{"type": "agent_query", "query": query, "request_id": fmt.Sprint(i)})
	}
}

// allEnd waits for the end of so many queries that were asked at once.
func (p *peer) allEnd(n int) {
	p.t.Helper()
	for i := range n {
		p.await(0, "the end of a query", func(f frame) bool {
			metadata := f.object("metadata")
			return metadata.text("type") == "ended" && metadata.text("request_id") == fmt.Sprint(i)
		})
	}
}

// tasks lists the tasks of the replies, in their order.
func (p *peer) tasks() []string {
	var tasks []string
	for _, f := range p.events("response") {
		tasks = append(tasks, f.object("metadata").text("task"))
	}
	return tasks
}

func TestBL8_TheLastLabelIsKept(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("one"), saying("two"), saying("three"), saying("four"), saying("five"))
	p.init(nil)
	for _, query := range []string{"a", "@2 b", "c", "@2", "@ x", "hello @3 x", "@1 d"} {
		require.Equal(t, "done", p.ask(query))
	}
	require.Equal(t, []string{"ai:1:a", "ai:2:b", "ai:2:c", "ai:2:@2", "ai:2:@ x", "ai:2:hello @3 x", "ai:1:d"}, p.tasks())
	var texts []string
	for _, f := range p.events("response") {
		texts = append(texts, f.text("text"))
	}
	require.Equal(t, []string{"one", "one", "two", "three", "four", "five", "two"}, texts) // each label has its own conversation
}

// The label is that of the query, whatever comes behind it.
func TestBL8_LabelIsBoundAtDispatch(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("one"), saying("two"))
	p.init(nil)
	p.askAtOnce("@2 a", "@1 b", "c")
	p.allEnd(3)
	require.ElementsMatch(t, []string{"ai:2:a", "ai:1:b", "ai:1:c"}, p.tasks())
}

// A task is what it is: in an evaluation no word of it is a label.
func TestBL8_NoLabelsInAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("1 [EVAL_COMPLETE]"), saying("2 [EVAL_COMPLETE]"), saying("3"))
	p.init(frame{"eval_mode": true})
	for _, query := range []string{"@everyone count", "@2 b"} {
		require.Equal(t, "done", p.ask(query))
	}
	require.Equal(t, []string{"ai:1:@everyone count", "ai:1:@2 b"}, p.tasks())
	require.Contains(t, p.said()[0], "@everyone count")
	p.init(nil)
	require.Equal(t, "done", p.ask("@2 c"))
	require.Equal(t, "ai:2:c", p.tasks()[2])
}

// Two labels run at once; what is asked of one label waits for what it does.
func TestBL8_SideBySideAndOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("```\nx\n```"), saying("done"), saying("```\ny\n```"), saying("done"))
	p.onAction(func(action string, _ frame, _ string) bool { return action == "execute_code" }) // answered below
	p.init(nil)
	p.askAtOnce("@1 a", "@2 b", "@1 c", "@3 d")
	runs := func(label string) func(frame) bool {
		return func(f frame) bool {
			return f.text("action") == "execute_code" && f.object("params").text("session") == label
		}
	}
	first := p.await(0, "a block of 1", runs("1"))
	for _, label := range []string{"2", "3"} {
		p.answer(p.await(0, "a block of "+label, runs(label)).text("tx_id"), nil)
	}
	require.Equal(t, 3, p.count("action", "execute_code"))
	seen := len(p.seen())
	p.answer(first.text("tx_id"), nil)
	second := p.await(seen, "another block of 1", runs("1"))
	require.Equal(t, "y", second.object("params").text("code"))
	p.answer(second.text("tx_id"), nil)
	p.allEnd(4)
	ofOne := slices.DeleteFunc(p.tasks(), func(task string) bool { return !strings.HasPrefix(task, "ai:1:") })
	require.Equal(t, []string{"ai:1:a", "ai:1:a", "ai:1:c", "ai:1:c"}, ofOne)
}

// Eight labels are in the kernel at once: none can go on before all have come.
func TestBL8_EightAtOnce(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
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
		queries = append(queries, fmt.Sprintf("@%d %s", i, sayBlocks(code)))
	}
	p.askAtOnce(queries...)
	p.allEnd(labels)
	outputs := map[string]string{}
	for _, f := range p.events("ai_exec_result") {
		outputs[f.object("metadata").text("label")] = f.text("text")
	}
	for i := 1; i <= labels; i++ {
		require.Equal(t, fmt.Sprintf("%[1]d begins\n%[1]d ends\n%[1]d", i), outputs[fmt.Sprint(i)])
	}
	require.Equal(t, "[Block 1 output]\n[80, 80, 80, 80, 80, 80, 80, 80]", p.feedback(sayBlocks("[globals()[f'own_{i}'] for i in range(1, 9)]")))
}

// Had two queries of one label been in the kernel at once, one would have found
// the other running.
func TestBL8_OneLabelNeverOverlapsItself(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	code := "import asyncio\nrunning = globals().get('running', 0) + 1\nprint(running)\nfor _ in range(100): await asyncio.sleep(0)\nrunning -= 1"
	p.askAtOnce(slices.Repeat([]string{"@x " + sayBlocks(code, code)}, 5)...)
	p.allEnd(5)
	outputs := p.events("ai_exec_result")
	require.Len(t, outputs, 10)
	for _, f := range outputs {
		require.Equal(t, "1", f.text("text"))
	}
}

// What a block prints behind an await is its own, whatever runs beside it.
func TestBL5_OutputBelongsToItsBlock(t *testing.T) {
	t.Parallel()
	p := startParrot(t)
	p.feedback(sayBlocks("import asyncio\nfirst, second = asyncio.Event(), asyncio.Event()"))
	p.askAtOnce(
		"@a "+sayBlocks("print('a1')\nfirst.set()\nawait second.wait()\nprint('a2')"),
		"@b "+sayBlocks("await first.wait()\nprint('b1')\nsecond.set()\nfor _ in range(9): await asyncio.sleep(0)\nprint('b2')"),
	)
	p.allEnd(2)
	outputs := map[string]string{}
	for _, f := range p.events("ai_exec_result") {
		outputs[f.object("metadata").text("label")] = f.text("text")
	}
	require.Equal(t, "a1\na2", outputs["a"])
	require.Equal(t, "b1\nb2", outputs["b"])
}
