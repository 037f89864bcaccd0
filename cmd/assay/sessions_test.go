package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// A session that nobody needs ends, and is there again with its notebook when
// somebody asks for it.
func TestServe_IdleSessionStops(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--session-idle", "1s"}})
	c := s.connectView(t, "s1")
	c.runNewCell(t, 0, "x = 1\nprint('kept')")
	c.agent.await(t, "the end of the run", hasType("cell_result"))
	shown, pid := c.shownCells(t), c.ready.PID
	c.disconnect()
	state := func() string {
		_, session := s.get(t, "/api/sessions/s1")
		return session
	}
	eventually(t, "it goes on", func() bool { return strings.Contains(state(), `"state":"stopped"`) })
	require.Equal(t, "it was idle for 1s", s.endCause(t, "s1"))

	c = s.connectView(t, "s1")
	require.Equal(t, "running", c.ready.Kernel)
	require.NotEqual(t, pid, c.ready.PID)
	require.Equal(t, shown, c.shownCells(t))
	c.doAction(t, "run_cell", jsonObject{"cell_id": shown[0].ID})
	c.agent.await(t, "the end of the run", hasType("cell_result"))
	require.Equal(t, shown, c.shownCells(t))

	// One where something runs goes on without anybody.
	c.doAction(t, "edit_cell", jsonObject{"cell_id": shown[0].ID, "source": sourceWaitingForFile("on my way", "go"), "auto_run": true})
	c.agent.await(t, "the run", contains("kernel_stdio", "on my way"))
	c.disconnect()
	s.connectView(t, "s2").disconnect()
	eventually(t, "the other one goes on, which is idle for less long", func() bool {
		_, session := s.get(t, "/api/sessions/s2")
		return strings.Contains(session, `"state":"stopped"`)
	})
	require.Contains(t, state(), `"state":"running"`)
	s.stop(t)
}

// Who asks for a session that cannot start is told why, and may ask again.
func TestServe_ReportsFailedSessionStart(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	s.connectView(t, "default")
	agent := filepath.Join(s.dir, "actor.py")
	writeFile(t, agent, "raise SystemExit('out of order')")
	for path, first := range map[string]jsonObject{"/run": {"token": s.token}, "/agent": {"type": "init", "session_id": 1}} {
		w := s.dial(t, path+"?session=bad", nil)
		w.send(first)
		how := w.awaitClose(t)
		require.Equal(t, websocket.StatusPolicyViolation, how.Code)
		require.Contains(t, how.Reason, "agent exited with status 1; it printed last: out of order")
	}
	_, session := s.get(t, "/api/sessions/bad")
	require.Contains(t, session, `"problem":"session \"bad\" could not start: agent exited with status 1`)
	status, _ := s.get(t, "/readyz")
	require.Equal(t, http.StatusOK, status, "the others are not concerned")
	writeFile(t, agent, scriptedAgent)
	s.connectView(t, "bad")
	s.stop(t)
}

// Ten sessions at once, each with a kernel and an agent of its own: of one
// nothing is seen in another.
func TestServe_TenSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--session-idle", "1s"}})
	const sessions = 10
	word := func(i int) string { return fmt.Sprintf("word-of-s%d.", i) }
	consoles := []*console{s.connectRun(t, consoleOptions{})} // without an agent's connection
	for i := range sessions {
		consoles = append(consoles, s.connect(t, consoleOptions{session: fmt.Sprintf("s%d", i+1)}))
	}
	for i, c := range consoles[1:] {
		c.queryAgent(fmt.Sprintf("open('mine', 'w').write(%[1]q)\nassert run_cell(\"x = open('mine').read()\\nprint(x)\")['logs'] == %[1]q + '\\n'\nrun_cell('x')", word(i)))
	}
	pids := map[int]bool{}
	for i, c := range consoles[1:] {
		c.agent.await(t, "the end of the work", isAgentDone)
		shown := c.shownCells(t)
		require.Equal(t, []string{"ran", "ran"}, statuses(shown))
		require.Equal(t, word(i)+"\n", shown[0].Outputs[0]["text"])
		pids[c.ready.PID] = true
		own := fmt.Sprintf("%s", c.agent.matching(func(message) bool { return true }))
		for j := range sessions {
			require.Equal(t, i == j, strings.Contains(own, word(j)), "session %d, word %d", i, j)
		}
	}
	require.Len(t, pids, sessions, "a kernel each")
	_, metrics := s.get(t, "/metrics")
	require.Contains(t, metrics, fmt.Sprintf("\nassay_sessions %d\n", sessions+1))
	sandboxes, err := filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*", "mine"))
	require.NoError(t, err)
	require.Len(t, sandboxes, sessions)

	// Nobody needs them any more: they end, and what they had is given back.
	most := s.countOpenFiles(t)
	consoles[0].run.disconnect()
	for _, c := range consoles[1:] {
		c.disconnect()
	}
	eventually(t, "sessions go on", func() bool {
		_, metrics := s.get(t, "/metrics")
		return strings.Contains(metrics, "\nassay_sessions 0\n") && strings.Contains(metrics, "\nassay_children_running{name=\"kernel\"} 0\n")
	})
	eventually(t, "sockets or files are left", func() bool { return s.countOpenFiles(t) < most-2*sessions })
	sandboxes, err = filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*"))
	require.NoError(t, err)
	require.Empty(t, sandboxes)
	s.stop(t)
}

// countOpenFiles counts the server's.
func (s *serveProcess) countOpenFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	require.NoError(t, err)
	return len(files)
}

// Two consoles show one case and take part in it; one of them loses its
// connections in the middle of a run and comes back. In the end they show the
// same, and so does one that comes when all is over.
func TestServe_TwoConsolesShowTheSame(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "shown", `
assert run_cell("x = 6\nprint('one')\nx * 7")["logs"] == "one\n"
assert run_cell("1 / 0")["status"] == "error"
cell = start_cell(`+"'''"+sourceWaitingForFile("on my way", "go")+"\nprint('there')'''"+`)
receive(has_type("agent_query"))                      # a person says to go on
open("go", "w").close()
assert receive_from_cell("cell_result", cell)["logs"] == "on my way\nthere\n"
receive(has_type("agent_query"))
do_action("create_markdown_cell", position=0, source="# Title")
do_action("delete_cell", cell_id=cell_ids[1])
submit(42)
`)}})
	first, second := s.connectView(t, "default"), s.connectView(t, "default")

	// One of them edits what the other has made.
	first.agent.await(t, "the run", contains("kernel_stdio", "on my way"))
	running := first.agent.matching(hasType("start_cell"))
	cell := running[len(running)-1].CellID
	note := first.doAction(t, "create_cell", jsonObject{"position": 3, "cell_type": "code", "source": "noted"})
	require.Equal(t, "success", note.Status, note.body)
	edited := second.doAction(t, "edit_cell", jsonObject{"cell_id": note.CellID, "source": "noted well"})
	require.Equal(t, "success", edited.Status, edited.body)
	require.NotEmpty(t, second.agent.matching(contains("notebook_event", "noted well")), "who is answered has been shown it")

	// The other one is away for the end of the run.
	second.disconnect()
	first.queryAgent("pass")
	first.agent.await(t, "the end of the run", isForCell("cell_result", cell))
	returned := s.connect(t, consoleOptions{connectionIndex: second.ready.Connection})
	require.Equal(t, second.ready.Connection, returned.ready.Connection, "it is the same console")
	returned.awaitNotebook(t)
	returned.queryAgent("pass")

	// The verdict comes to both, once, and to who comes then.
	for _, c := range []*console{first, returned} {
		verdict := c.agent.await(t, "the verdict", hasType("eval_result"))
		require.Contains(t, verdict.body, `"passed":true`)
	}
	late := s.connectView(t, "default")
	late.agent.await(t, "the verdict", hasType("eval_result"))
	require.Equal(t, []string{"notebook_state", "eval_result"}, messageTypes(late.agent.matching(func(message) bool { return true })))
	for _, c := range []*console{first, returned, late} {
		require.Len(t, c.agent.matching(hasType("eval_result")), 1)
	}

	shown := first.shownCells(t)
	require.Len(t, shown, 4)
	require.Equal(t, []string{"idle", "ran", "ran", "idle"}, statuses(shown))
	require.Equal(t, shown, returned.shownCells(t))
	require.Equal(t, shown, late.shownCells(t))
	requireSameMessages(t, first, second)
	requireSameMessages(t, first, returned)

	attempt := s.awaitAttempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCompleted, attempt.Outcome, attempt.Detail)
	require.Equal(t, 4, attempt.Interventions, "two edits and two queries")
	s.stop(t)
}

func messageTypes(messages []message) (kinds []string) {
	for _, m := range messages {
		kinds = append(kinds, m.Type)
	}
	return kinds
}

func statuses(cells []shownCell) (statuses []string) {
	for _, c := range cells {
		statuses = append(statuses, c.Status)
	}
	return statuses
}

// requireSameMessages makes sure that what two views were both shown, they were shown
// alike and in the order of the trace.
func requireSameMessages(t *testing.T, all, some *console) {
	t.Helper()
	numbered := func(m message) bool { return m.Seq > 0 && m.Type != "notebook_state" }
	whole, part := all.agent.matching(numbered), some.agent.matching(numbered)
	require.NotEmpty(t, part)
	at := slices.IndexFunc(whole, func(m message) bool { return m.Seq == part[0].Seq })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, messageBodies(part), messageBodies(whole[at:at+len(part)]))
	require.True(t, slices.IsSortedFunc(whole, func(a, b message) int { return int(a.Seq - b.Seq) }))
}

func messageBodies(messages []message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, m.body)
	}
	return texts
}
