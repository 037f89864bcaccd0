package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// Two consoles show one case and take part in it; one of them loses its
// connections in the middle of a run and comes back. In the end they show the
// same, and so does one that comes when all is over.
func TestServe_TwoViews(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--case", actorCase(t, t.TempDir(), "shown", `
assert run("x = 6\nprint('one')\nx * 7")["logs"] == "one\n"
assert run("1 / 0")["status"] == "error"
cell = start(`+"'''"+untilFile("on my way", "go")+"\nprint('there')'''"+`)
hear(of_type("agent_query"))                      # a person says to go on
open("go", "w").close()
assert of_run("cell_result", cell)["logs"] == "on my way\nthere\n"
hear(of_type("agent_query"))
act("create_markdown_cell", position=0, source="# Title")
act("delete_cell", cell_id=made[1])
submit(42)
`)}})
	first, second := s.view(t, "default"), s.view(t, "default")

	// One of them edits what the other has made.
	first.agent.await(t, "the run", saying("kernel_stdio", "on my way"))
	running := first.agent.all(ofType("start_cell"))
	cell := running[len(running)-1].CellID
	note := first.do(t, "create_cell", fields{"position": 3, "cell_type": "code", "source": "noted"})
	require.Equal(t, "success", note.Status, note.body)
	edited := second.do(t, "edit_cell", fields{"cell_id": note.CellID, "source": "noted well"})
	require.Equal(t, "success", edited.Status, edited.body)
	require.NotEmpty(t, second.agent.all(saying("notebook_event", "noted well")), "who is answered has been shown it")

	// The other one is away for the end of the run.
	second.breaks()
	first.tell("pass")
	first.agent.await(t, "the end of the run", ofCell("cell_result", cell))
	returned := s.come(t, who{number: second.ready.Connection})
	require.Equal(t, second.ready.Connection, returned.ready.Connection, "it is the same console")
	returned.state(t)
	returned.tell("pass")

	// The verdict comes to both, once, and to who comes then.
	for _, c := range []*console{first, returned} {
		verdict := c.agent.await(t, "the verdict", ofType("eval_result"))
		require.Contains(t, verdict.body, `"passed":true`)
	}
	late := s.view(t, "default")
	late.agent.await(t, "the verdict", ofType("eval_result"))
	require.Equal(t, []string{"notebook_state", "eval_result"}, kinds(late.agent.all(func(message) bool { return true })))
	for _, c := range []*console{first, returned, late} {
		require.Len(t, c.agent.all(ofType("eval_result")), 1)
	}

	shown := first.shown(t)
	require.Len(t, shown, 4)
	require.Equal(t, []string{"idle", "ran", "ran", "idle"}, statuses(shown))
	require.Equal(t, shown, returned.shown(t))
	require.Equal(t, shown, late.shown(t))
	sameOrder(t, first, second)
	sameOrder(t, first, returned)

	attempt := s.attempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCompleted, attempt.Outcome, attempt.Detail)
	require.Equal(t, 4, attempt.Interventions, "two edits and two queries")
	s.stop(t)
}

func kinds(messages []message) (kinds []string) {
	for _, m := range messages {
		kinds = append(kinds, m.Type)
	}
	return kinds
}

func statuses(cells []pageCell) (statuses []string) {
	for _, c := range cells {
		statuses = append(statuses, c.Status)
	}
	return statuses
}

// sameOrder makes sure that what two views were both shown, they were shown
// alike and in the order of the trace.
func sameOrder(t *testing.T, all, some *console) {
	t.Helper()
	numbered := func(m message) bool { return m.Seq > 0 && m.Type != "notebook_state" }
	whole, part := all.agent.all(numbered), some.agent.all(numbered)
	require.NotEmpty(t, part)
	at := slices.IndexFunc(whole, func(m message) bool { return m.Seq == part[0].Seq })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, texts(part), texts(whole[at:at+len(part)]))
	require.True(t, slices.IsSortedFunc(whole, func(a, b message) int { return int(a.Seq - b.Seq) }))
}

func texts(messages []message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, m.body)
	}
	return texts
}
