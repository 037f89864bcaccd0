package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// When the kernel or the agent has died, every console receives managed_process_exit, and a console
// can restart it. The notebook stays.
func TestServe_RestartKernelAndAgent(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	first, second := s.connectView(t, "default"), s.connectView(t, "default")
	cell := first.runNewCell(t, 0, "x = 1\nprint('on my way', flush=True)\nimport time\ntime.sleep(600)")
	first.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	require.NoError(t, syscall.Kill(first.ready.PID, syscall.SIGKILL))
	for _, c := range []*console{first, second} {
		exit := c.run.awaitItem(t, "the end of the kernel", hasType("managed_process_exit"))
		require.Contains(t, exit.body, `"name":"kernel"`)
		require.Contains(t, exit.body, `"signal":"SIGKILL"`)
	}
	dead := s.connectRun(t, consoleOptions{}).ready
	require.Equal(t, "dead", dead.Kernel)
	require.Contains(t, dead.body, `"cell_status":{"`+cell+`":"error"}`)
	first.doAction(t, "run_cell", jsonObject{"cell_id": cell})
	for _, c := range []*console{first, second} {
		c.run.awaitItem(t, "the error", hasTypeAndText("error", "there is no kernel to run_cell"))
	}

	second.run.send(jsonObject{"type": "managed_process_restart", "name": "kernel"})
	for _, c := range []*console{first, second} {
		again := c.run.awaitNthItem(t, 2, "ready again", hasType("ready"))
		require.Equal(t, "running", again.Kernel)
		require.NotEqual(t, first.ready.PID, again.PID)
		require.Contains(t, again.body, `"cell_sequencers":{}`)
		require.Contains(t, again.body, "on my way", "outputs stay")
	}
	require.Equal(t, "success", first.doAction(t, "edit_cell", jsonObject{"cell_id": cell, "source": "'x' in globals()", "auto_run": true}).Status)
	first.agent.awaitItem(t, "the end of the run", hasTypeAndCell("cell_result", cell))
	shown := first.shownCells(t)
	require.Equal(t, []string{"ran"}, cellStatuses(shown))
	require.Equal(t, map[string]any{"text/plain": "False"}, shown[0].Outputs[0]["data"], "the kernel must be a new one")

	first.queryAgent("x = 1")
	first.agent.awaitItem(t, "the end of the work", isAgentDone)
	first.run.send(jsonObject{"type": "managed_process_restart", "name": "agent"})
	first.agent.awaitItem(t, "another agent", func(m consoleMessage) bool { return m.Type == "agent_status" && m.Status == "ready" })
	second.queryAgent("assert 'x' not in globals()\nrun_cell('1')")
	first.agent.awaitNthItem(t, 2, "the end of the work", isAgentDone)

	second.queryAgent("print('out of luck', file=sys.stderr)\nos._exit(7)")
	for _, c := range []*console{first, second} {
		c.run.awaitItem(t, "the end of the agent", hasTypeAndText("managed_process_exit", `"name":"agent","exit_code":7`))
		c.agent.awaitItem(t, "the error", hasTypeAndText("agent_error", "the agent exited with status 7"))
	}
	second.run.send(jsonObject{"type": "managed_process_restart", "name": "agent"})
	first.agent.awaitNthItem(t, 2, "a third agent", func(m consoleMessage) bool { return m.Type == "agent_status" && m.Status == "ready" })
	first.queryAgent("run_cell('1')")
	first.agent.awaitNthItem(t, 3, "the end of the work", isAgentDone)

	first.run.send(jsonObject{"type": "managed_process_restart", "name": "console"})
	first.run.awaitItem(t, "a refusal", hasTypeAndText("error", `want kernel or agent, not \"console\"`))
	s.stop(t)
}

// While a case is attached, kernel and agent cannot be restarted, and the death of the kernel is
// the outcome. After the case, a restart of the kernel begins a session with the case's notebook.
func TestServe_RestartAfterCase(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "tried", `
run_cell("x = 6")
run_cell("print('on my way', flush=True)\nimport time\ntime.sleep(600)")
`)}})
	c := s.connectView(t, "default")
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	for n, name := range []string{"kernel", "agent"} {
		c.run.send(jsonObject{"type": "managed_process_restart", "name": name})
		require.Contains(t, c.run.awaitNthItem(t, n+1, "a refusal", hasType("error")).body, "a case is attached")
	}
	require.NoError(t, syscall.Kill(c.ready.PID, syscall.SIGKILL))
	c.run.awaitItem(t, "the end of the kernel", hasTypeAndText("managed_process_exit", "SIGKILL"))
	verdict := c.agent.awaitItem(t, "the verdict", hasType("eval_result"))
	require.Contains(t, verdict.body, `"outcome":"kernel_exit"`)
	require.Contains(t, verdict.body, `"passed":false`, "the kernel died while it ran code of the agent")
	shown := c.shownCells(t)

	c.run.send(jsonObject{"type": "run_cell", "cell_id": shown[0].ID, "code": "1"})
	require.Contains(t, c.run.awaitItem(t, "a refusal", hasTypeAndText("error", "run_cell")).body, "managed_process_restart starts another")
	c.run.send(jsonObject{"type": "managed_process_restart", "name": "kernel"})
	require.Equal(t, "running", c.run.awaitNthItem(t, 2, "ready again", hasType("ready")).Kernel)
	c.agent.awaitNthItem(t, 2, "the notebook", hasType("notebook_state"))
	again := c.shownCells(t)
	require.Equal(t, []string{"ran", "error"}, cellStatuses(again))
	require.Equal(t, shown[0].Source, again[0].Source)
	require.Equal(t, "on my way\n", again[1].Outputs[0]["text"])
	c.queryAgent("assert run_cell('print(\"x\" in globals())')['logs'] == 'False\\n'")
	c.agent.awaitItem(t, "the end of the work", isAgentDone)
	require.Len(t, c.agent.itemsMatching(hasType("eval_result")), 1)
	s.awaitAttempts(t, 1)
	s.stop(t)
}

// A server that is started with the --out of an earlier one restores the notebooks of its sessions
// and cases, after SIGTERM and after SIGKILL. Cells that ran then have the status error.
func TestServe_RestoresNotebooksAfterRestart(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "first", `
run_cell("x = 6\nprint('of the case')\nx * 7")
do_action("create_markdown_cell", position=0, source="# Title")
submit(42)
`)}})
	sessions := []string{"default", "a", "b"}
	consoles := map[string]*console{}
	for _, session := range sessions {
		consoles[session] = s.connectView(t, session)
	}
	consoles["default"].agent.awaitItem(t, "the verdict", hasType("eval_result"))
	createMixedCells(t, consoles["a"])
	consoles["b"].runNewCell(t, 0, uninterruptibleCell)
	consoles["b"].agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "in C"))
	shown := map[string][]shownCell{}
	for _, session := range sessions {
		shown[session] = consoles[session].shownCells(t)
		s.awaitTraceWritten(t, session, consoles[session])
	}
	require.Equal(t, []string{"idle", "ran"}, cellStatuses(shown["default"]))
	require.Equal(t, []string{"ran", "error", "idle", "running", "running"}, cellStatuses(shown["a"]))
	require.Equal(t, []string{"running"}, cellStatuses(shown["b"]))
	require.NoError(t, s.cmd.Process.Kill())
	require.Error(t, s.awaitExit(t))
	s.requireCleanedUp(t)

	for _, cells := range shown {
		for i := range cells {
			if cells[i].Status == "running" {
				cells[i].Status = "error"
			}
		}
	}
	for range 2 { // restored notebooks are restored as well
		s = startServe(t, serveConfig{dir: s.dir})
		for _, session := range sessions {
			require.Equal(t, shown[session], s.connectView(t, session).shownCells(t), session)
		}
		s.stop(t)
	}

	// A restored notebook can be edited and run, and is restored with the changes.
	s = startServe(t, serveConfig{dir: s.dir})
	c := s.connectView(t, "a")
	first, third := shown["a"][0].ID, shown["a"][2].ID
	require.Equal(t, "success", c.doAction(t, "edit_cell", jsonObject{"cell_id": first, "source": "print('anew')", "auto_run": true}).Status)
	c.agent.awaitItem(t, "the run", hasTypeAndCell("cell_result", first))
	require.Equal(t, "success", c.doAction(t, "delete_cell", jsonObject{"cell_id": third}).Status)
	after := c.shownCells(t)
	require.Equal(t, []string{"ran", "error", "error", "error"}, cellStatuses(after))
	require.Equal(t, "anew\n", after[0].Outputs[0]["text"])
	s.stop(t)
	s = startServe(t, serveConfig{dir: s.dir})
	require.Equal(t, after, s.connectView(t, "a").shownCells(t))
	s.stop(t)
}

// awaitTraceWritten waits until the trace file has the last message that the console received. The
// server sends messages before it writes them.
func (s *serveProcess) awaitTraceWritten(t *testing.T, session string, c *console) {
	t.Helper()
	messages, _, _ := c.agent.snapshot()
	var last int64
	for _, m := range messages {
		last = max(last, m.Seq)
	}
	awaitCondition(t, "the trace file lacks the last message", func() bool {
		files, _ := filepath.Glob(filepath.Join(s.dir, "out", session+"@*"))
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		_, entry, found := strings.Cut(string(text), fmt.Sprintf("\n{\"seq\":%d,", last))
		return err == nil && found && strings.Contains(entry, "\n")
	})
}

// createMixedCells creates five cells: two that have run, the second with an error, a Markdown
// cell, one that runs and one that is queued behind it.
func createMixedCells(t *testing.T, c *console) {
	t.Helper()
	succeeded := c.runNewCell(t, 0, "import sys\nprint('out')\nprint('err', file=sys.stderr)\n{'a': 1}")
	failed := c.runNewCell(t, 1, "print('before')\n1 / 0")
	for _, cell := range []string{succeeded, failed} {
		c.agent.awaitItem(t, "the end of a run", hasTypeAndCell("cell_result", cell))
	}
	require.Equal(t, "success", c.doAction(t, "create_markdown_cell", jsonObject{"position": 2, "source": "*text* with \"quotes\" and ünï\u2028codes"}).Status)
	running := c.runNewCell(t, 3, "import time\nprint('on my way', flush=True)\nwhile True: time.sleep(0.005)")
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	queued := c.runNewCell(t, 4, "print('never')")
	c.agent.awaitItem(t, "the queue", hasTypeAndText("run_queue", queued))
	c.agent.awaitItem(t, "the run", hasTypeAndCell("start_cell", running))
}
