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

// A session without consoles stops after --session-idle, and starts again with its notebook when a
// console connects. A session in which a cell runs does not stop.
func TestServe_IdleSessionStops(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--session-idle", "1s"}})
	c := s.connectView(t, "s1")
	c.runNewCell(t, 0, "x = 1\nprint('kept')")
	c.agent.awaitItem(t, "the end of the run", hasType("cell_result"))
	shown, pid := c.shownCells(t), c.ready.PID
	c.disconnect()
	state := func() string {
		_, session := s.get(t, "/api/sessions/s1")
		return session
	}
	awaitCondition(t, "the session did not stop", func() bool { return strings.Contains(state(), `"state":"stopped"`) })
	require.Equal(t, "it was idle for 1s", s.endCause(t, "s1"))

	c = s.connectView(t, "s1")
	require.Equal(t, "running", c.ready.Kernel)
	require.NotEqual(t, pid, c.ready.PID)
	require.Equal(t, shown, c.shownCells(t))
	c.doAction(t, "run_cell", jsonObject{"cell_id": shown[0].ID})
	c.agent.awaitItem(t, "the end of the run", hasType("cell_result"))
	require.Equal(t, shown, c.shownCells(t))

	// A session in which a cell runs goes on without a console.
	c.doAction(t, "edit_cell", jsonObject{"cell_id": shown[0].ID, "source": sourceWaitingForFile("on my way", "go"), "auto_run": true})
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	c.disconnect()
	s.connectView(t, "s2").disconnect()
	awaitCondition(t, "session s2, which was idle later, did not stop", func() bool {
		_, session := s.get(t, "/api/sessions/s2")
		return strings.Contains(session, `"state":"stopped"`)
	})
	require.Contains(t, state(), `"state":"running"`)
	s.stop(t)
}

// A console whose session cannot start is disconnected with the reason, and may connect again.
func TestServe_ReportsFailedSessionStart(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	s.connectView(t, "default")
	agent := filepath.Join(s.dir, "agent.py")
	writeFile(t, agent, "raise SystemExit('out of order')")
	for path, first := range map[string]jsonObject{"/run": {"token": s.token}, "/agent": {"type": "init", "session_id": 1}} {
		w := s.dial(t, path+"?session=bad", nil)
		w.send(first)
		closed := w.awaitClose(t)
		require.Equal(t, websocket.StatusPolicyViolation, closed.Code)
		require.Contains(t, closed.Reason, "agent exited with status 1; it printed last: out of order")
	}
	_, session := s.get(t, "/api/sessions/bad")
	require.Contains(t, session, `"problem":"session \"bad\" could not start: agent exited with status 1`)
	status, _ := s.get(t, "/readyz")
	require.Equal(t, http.StatusOK, status, "other sessions are not affected")
	writeFile(t, agent, scriptedAgentSource)
	s.connectView(t, "bad")
	s.stop(t)
}

// Ten sessions at once have ten kernels, agents and sandboxes, and no console receives anything of
// another session. All resources are freed when they are idle.
func TestServe_TenSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--session-idle", "1s"}})
	const sessions = 10
	word := func(i int) string { return fmt.Sprintf("word-of-s%d.", i) }
	consoles := []*console{s.connectRun(t, consoleOptions{})} // not connected to /agent
	for i := range sessions {
		consoles = append(consoles, s.connect(t, consoleOptions{session: fmt.Sprintf("s%d", i+1)}))
	}
	for i, c := range consoles[1:] {
		c.queryAgent(fmt.Sprintf("open('mine', 'w').write(%[1]q)\nassert run_cell(\"x = open('mine').read()\\nprint(x)\")['logs'] == %[1]q + '\\n'\nrun_cell('x')", word(i)))
	}
	pids := map[int]bool{}
	for i, c := range consoles[1:] {
		c.agent.awaitItem(t, "the end of the work", isAgentDone)
		shown := c.shownCells(t)
		require.Equal(t, []string{"ran", "ran"}, cellStatuses(shown))
		require.Equal(t, word(i)+"\n", shown[0].Outputs[0]["text"])
		pids[c.ready.PID] = true
		received := fmt.Sprintf("%s", c.agent.itemsMatching(func(consoleMessage) bool { return true }))
		for j := range sessions {
			require.Equal(t, i == j, strings.Contains(received, word(j)), "session %d, word %d", i, j)
		}
	}
	require.Len(t, pids, sessions, "one kernel for each session")
	_, metrics := s.get(t, "/metrics")
	require.Contains(t, metrics, fmt.Sprintf("\nassay_sessions %d\n", sessions+1))
	sandboxes, err := filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*", "mine"))
	require.NoError(t, err)
	require.Len(t, sandboxes, sessions)

	// All consoles disconnect: the sessions stop and free their resources.
	filesBefore := s.countOpenFiles(t)
	consoles[0].run.disconnect()
	for _, c := range consoles[1:] {
		c.disconnect()
	}
	awaitCondition(t, "sessions or kernels are still running", func() bool {
		_, metrics := s.get(t, "/metrics")
		return strings.Contains(metrics, "\nassay_sessions 0\n") && strings.Contains(metrics, "\nassay_children_running{name=\"kernel\"} 0\n")
	})
	awaitCondition(t, "sockets or files are still open", func() bool { return s.countOpenFiles(t) < filesBefore-2*sessions })
	sandboxes, err = filepath.Glob(filepath.Join(s.dir, "boxes", "sandbox-*"))
	require.NoError(t, err)
	require.Empty(t, sandboxes)
	s.stop(t)
}

// countOpenFiles returns the number of the server's file descriptors.
func (s *serveProcess) countOpenFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	require.NoError(t, err)
	return len(files)
}

// Two consoles show one case and edit its notebook. One of them reconnects while a cell runs. In
// the end both show the same cells, and so does a console that connects after the verdict.
func TestServe_TwoConsolesShowTheSame(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "shown", `
assert run_cell("x = 6\nprint('one')\nx * 7")["logs"] == "one\n"
assert run_cell("1 / 0")["status"] == "error"
cell = start_cell(`+"'''"+sourceWaitingForFile("on my way", "go")+"\nprint('there')'''"+`)
receive(has_type("agent_query"))                      # a console sends a query
open("go", "w").close()
assert receive_from_cell("cell_result", cell)["logs"] == "on my way\nthere\n"
receive(has_type("agent_query"))
do_action("create_markdown_cell", position=0, source="# Title")
do_action("delete_cell", cell_id=cell_ids[1])
submit(42)
`)}})
	first, second := s.connectView(t, "default"), s.connectView(t, "default")

	// The second console edits a cell that the first one has created.
	first.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	running := first.agent.itemsMatching(hasType("start_cell"))
	cell := running[len(running)-1].CellID
	note := first.doAction(t, "create_cell", jsonObject{"position": 3, "cell_type": "code", "source": "noted"})
	require.Equal(t, "success", note.Status, note.body)
	edited := second.doAction(t, "edit_cell", jsonObject{"cell_id": note.CellID, "source": "noted well"})
	require.Equal(t, "success", edited.Status, edited.body)
	require.NotEmpty(t, second.agent.itemsMatching(hasTypeAndText("notebook_event", "noted well")), "the event comes before the response")

	// The second console is disconnected when the run ends.
	second.disconnect()
	first.queryAgent("pass")
	first.agent.awaitItem(t, "the end of the run", hasTypeAndCell("cell_result", cell))
	returned := s.connect(t, consoleOptions{connectionIndex: second.ready.Connection})
	require.Equal(t, second.ready.Connection, returned.ready.Connection, "it keeps its connection index")
	returned.awaitNotebook(t)
	returned.queryAgent("pass")

	// Both consoles and one that connects later receive the verdict exactly once.
	for _, c := range []*console{first, returned} {
		verdict := c.agent.awaitItem(t, "the verdict", hasType("eval_result"))
		require.Contains(t, verdict.body, `"passed":true`)
	}
	late := s.connectView(t, "default")
	late.agent.awaitItem(t, "the verdict", hasType("eval_result"))
	require.Equal(t, []string{"notebook_state", "eval_result"}, messageTypes(late.agent.itemsMatching(func(consoleMessage) bool { return true })))
	for _, c := range []*console{first, returned, late} {
		require.Len(t, c.agent.itemsMatching(hasType("eval_result")), 1)
	}

	shown := first.shownCells(t)
	require.Len(t, shown, 4)
	require.Equal(t, []string{"idle", "ran", "ran", "idle"}, cellStatuses(shown))
	require.Equal(t, shown, returned.shownCells(t))
	require.Equal(t, shown, late.shownCells(t))
	requireSameMessages(t, first, second)
	requireSameMessages(t, first, returned)

	attempt := s.awaitAttempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCompleted, attempt.Outcome, attempt.Detail)
	require.Equal(t, 4, attempt.Interventions, "two edits and two queries")
	s.stop(t)
}

// messageTypes returns the type of each message.
func messageTypes(messages []consoleMessage) (kinds []string) {
	for _, m := range messages {
		kinds = append(kinds, m.Type)
	}
	return kinds
}

// cellStatuses returns the status of each cell.
func cellStatuses(cells []shownCell) (cellStatuses []string) {
	for _, c := range cells {
		cellStatuses = append(cellStatuses, c.Status)
	}
	return cellStatuses
}

// requireSameMessages requires that two consoles received the same messages, in the order of the
// trace, from the first message of some on.
func requireSameMessages(t *testing.T, all, some *console) {
	t.Helper()
	numbered := func(m consoleMessage) bool { return m.Seq > 0 && m.Type != "notebook_state" }
	allMessages, someMessages := all.agent.itemsMatching(numbered), some.agent.itemsMatching(numbered)
	require.NotEmpty(t, someMessages)
	at := slices.IndexFunc(allMessages, func(m consoleMessage) bool { return m.Seq == someMessages[0].Seq })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, messageBodies(someMessages), messageBodies(allMessages[at:at+len(someMessages)]))
	require.True(t, slices.IsSortedFunc(allMessages, func(a, b consoleMessage) int { return int(a.Seq - b.Seq) }))
}

// messageBodies returns the JSON of each message.
func messageBodies(messages []consoleMessage) (texts []string) {
	for _, m := range messages {
		texts = append(texts, m.body)
	}
	return texts
}
