package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A kernel that is killed is told of at every /run, and restarted when a person
// says so; so is an agent. The notebook stays.
func TestServe_Restart(t *testing.T) {
	t.Parallel()
	s := open(t, plan{})
	first, second := s.view(t, "default"), s.view(t, "default")
	cell := first.cell(t, 0, "x = 1\nprint('on my way', flush=True)\nimport time\ntime.sleep(600)")
	first.agent.await(t, "the run", saying("kernel_stdio", "on my way"))
	require.NoError(t, syscall.Kill(first.ready.PID, syscall.SIGKILL))
	for _, c := range []*console{first, second} {
		gone := c.run.await(t, "the end of the kernel", ofType("managed_process_exit"))
		require.Contains(t, gone.body, `"name":"kernel"`)
		require.Contains(t, gone.body, `"signal":"SIGKILL"`)
	}
	dead := s.sit(t, who{}).ready
	require.Equal(t, "dead", dead.Kernel)
	require.Contains(t, dead.body, `"cell_status":{"`+cell+`":"error"}`)
	first.do(t, "run_cell", fields{"cell_id": cell})
	for _, c := range []*console{first, second} {
		c.run.await(t, "why it does not run", saying("error", "there is no kernel to run_cell"))
	}

	second.run.say(fields{"type": "managed_process_restart", "name": "kernel"})
	for _, c := range []*console{first, second} {
		again := c.run.awaitNth(t, 2, "ready again", ofType("ready"))
		require.Equal(t, "running", again.Kernel)
		require.NotEqual(t, first.ready.PID, again.PID)
		require.Contains(t, again.body, `"cell_sequencers":{}`)
		require.Contains(t, again.body, "on my way", "what was shown stays")
	}
	require.Equal(t, "success", first.do(t, "edit_cell", fields{"cell_id": cell, "source": "'x' in globals()", "auto_run": true}).Status)
	first.agent.await(t, "the end of the run", ofCell("cell_result", cell))
	shown := first.shown(t)
	require.Equal(t, []string{"ran"}, statuses(shown))
	require.Equal(t, map[string]any{"text/plain": "False"}, shown[0].Outputs[0]["data"], "the kernel is a new one")

	first.tell("x = 1")
	first.agent.await(t, "the end of the work", finished)
	first.run.say(fields{"type": "managed_process_restart", "name": "agent"})
	first.agent.await(t, "another agent", func(m message) bool { return m.Type == "agent_status" && m.Status == "ready" })
	second.tell("assert 'x' not in globals()\nrun('1')")
	first.agent.awaitNth(t, 2, "the end of the work", finished)

	second.tell("print('out of luck', file=sys.stderr)\nos._exit(7)")
	for _, c := range []*console{first, second} {
		c.run.await(t, "the end of the agent", saying("managed_process_exit", `"name":"agent","exit_code":7`))
		c.agent.await(t, "what has happened", saying("agent_error", "the agent exited with status 7"))
	}
	second.run.say(fields{"type": "managed_process_restart", "name": "agent"})
	first.agent.awaitNth(t, 2, "a third agent", func(m message) bool { return m.Type == "agent_status" && m.Status == "ready" })
	first.tell("run('1')")
	first.agent.awaitNth(t, 3, "the end of the work", finished)

	first.run.say(fields{"type": "managed_process_restart", "name": "console"})
	first.run.await(t, "a refusal", saying("error", `want kernel or agent, not \"console\"`))
	s.stop(t)
}

// While a case is attached, the end of its kernel is its outcome. When it has
// ended, a restart begins a session with its notebook.
func TestServe_RestartAfterACase(t *testing.T) {
	t.Parallel()
	s := open(t, plan{args: []string{"--case", actorCase(t, t.TempDir(), "tried", `
run("x = 6")
run("print('on my way', flush=True)\nimport time\ntime.sleep(600)")
`)}})
	c := s.view(t, "default")
	c.agent.await(t, "the run", saying("kernel_stdio", "on my way"))
	for n, name := range []string{"kernel", "agent"} {
		c.run.say(fields{"type": "managed_process_restart", "name": name})
		require.Contains(t, c.run.awaitNth(t, n+1, "a refusal", ofType("error")).body, "a case is attached")
	}
	require.NoError(t, syscall.Kill(c.ready.PID, syscall.SIGKILL))
	c.run.await(t, "the end of the kernel", saying("managed_process_exit", "SIGKILL"))
	verdict := c.agent.await(t, "the verdict", ofType("eval_result"))
	require.Contains(t, verdict.body, `"outcome":"kernel_exit"`)
	require.Contains(t, verdict.body, `"passed":false`, "it ran what the agent has written")
	shown := c.shown(t)

	c.run.say(fields{"type": "run_cell", "cell_id": shown[0].ID, "code": "1"})
	require.Contains(t, c.run.await(t, "a refusal", saying("error", "run_cell")).body, "managed_process_restart starts another")
	c.run.say(fields{"type": "managed_process_restart", "name": "kernel"})
	require.Equal(t, "running", c.run.awaitNth(t, 2, "ready again", ofType("ready")).Kernel)
	c.agent.awaitNth(t, 2, "the notebook", ofType("notebook_state"))
	again := c.shown(t)
	require.Equal(t, []string{"ran", "error"}, statuses(again))
	require.Equal(t, shown[0].Source, again[0].Source)
	require.Equal(t, "on my way\n", again[1].Outputs[0]["text"])
	c.tell("assert run('print(\"x\" in globals())')['logs'] == 'False\\n'")
	c.agent.await(t, "the end of the work", finished)
	require.Len(t, c.agent.all(ofType("eval_result")), 1)
	s.attempts(t, 1)
	s.stop(t)
}
