package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// A console that holds the notebook of a case loses its connections in the
// middle of an action and in the middle of a run, comes back each time, and is
// told the verdict.
func TestServe_HolderComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, plan{args: []string{"--case", actorCase(t, dir, "held", `
assert run("print('one')")["logs"] == "one\n"
assert act("get_context")["context"]["cell_count"] == 1
cell = start("import time\nprint('on my way', flush=True)\nwhile True: time.sleep(0.005)")
assert of_run("cell_result", cell)["status"] == "interrupted"
assert act("get_context")["context"]["cell_count"] == 2
assert run("print('three')")["logs"] == "three\n"
submit(42)
`)}})
	k := newKeeper(t, s)
	k.leaves("get_context")
	watch := s.dial(t, "/watch", nil)

	// Others are not let in, once it holds the notebook: the agent's first action comes to it.
	k.agent.await(t, "an action", ofType("agent_action"))
	for _, role := range []string{"holder", "view"} {
		how := s.come(t, who{role: role, name: "another"}).agent.closed(t)
		require.EqualValues(t, 4009, how.Code)
		require.Contains(t, how.Reason, "holds this notebook")
	}

	// In the middle of an action, which is answered after the return.
	asked := k.agent.await(t, "the question", func(m message) bool { return m.Action == "get_context" })
	k.breaks()
	s.awaitGone(t, watch, 1)
	k.come(t)
	k.leaves("nothing")
	k.answer(k.agent, asked)

	// In the middle of a run. What is asked meanwhile waits for the return.
	k.run.await(t, "the run", saying("kernel_stdio", "on my way"))
	running := k.run.all(ofType("start_cell"))
	helper := s.sit(t, who{})
	k.breaks()
	s.awaitGone(t, watch, 2)
	helper.run.say(fields{"type": "stop_cell", "cell_id": running[len(running)-1].CellID})
	watch.awaitNth(t, 2, "an action while nobody is there", func(m message) bool {
		return m.Hop == "agent>server" && m.Action == "get_context"
	})
	k.come(t)
	require.Contains(t, k.ready.body, "on my way", "what the kernel has done is told to who comes back")

	result := k.agent.await(t, "the verdict", ofType("eval_result"))
	require.Contains(t, result.body, `"passed":true`)
	attempt := s.attempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCompleted, attempt.Outcome, attempt.Detail)
	s.stop(t)
}

// awaitGone waits until the server knows for the nth time that who holds the
// notebook has gone.
func (s *station) awaitGone(t *testing.T, watch *wire, n int) {
	t.Helper()
	watch.awaitNth(t, n, "the holder's end", func(m message) bool {
		return m.Type == "peer_ended" && m.Action == "console"
	})
}

// One that is away for longer than it may be is the outcome.
func TestServe_HolderStaysAway(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--grace", "200ms", "--case", actorCase(t, t.TempDir(), "left", `
run("import time\nprint('on my way', flush=True)\nwhile True: time.sleep(0.005)")
`)}})
	k := newKeeper(t, s)
	k.console.run.await(t, "the run", saying("kernel_stdio", "on my way"))
	k.breaks()
	attempt := s.attempts(t, 1)[0]
	require.Equal(t, runs.OutcomeConsoleLost, attempt.Outcome, attempt.Detail)
	require.Nil(t, attempt.Passed)
	require.Regexp(t, `was away for 2\d\dms: configured 200ms`, attempt.Detail)

	// Whoever comes then is told.
	require.Contains(t, s.come(t, who{role: "holder"}).agent.await(t, "the verdict", ofType("eval_result")).body, `"outcome":"console_lost"`)
	s.stop(t)
}
