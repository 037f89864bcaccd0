package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
	"assay/server"
	"assay/server/servertest"
)

// While a busy kernel owes two answers, later actions that only the notebook answers
// are answered at once.
func TestEH1_BusyKernelDelaysNoNotebookAction(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	newFakeHolder(t, s.URL)
	globals := s.agent.sendAction("request_globals_summary", nil)
	reactivity := s.agent.sendAction("request_reactivity_summary", nil)
	s.requirePromptAnswer(t, "get_context", nil)
	s.requirePromptAnswer(t, "delete_cell", params{"cell_id": "first"})
	require.Empty(t, s.agent.itemsMatching(isAnswerTo(globals)), "the kernel is busy")
	require.Empty(t, s.agent.itemsMatching(isAnswerTo(reactivity)), "the kernel is busy")
}

// While the Python kernel runs a cell, it answers requests for summaries, and the
// notebook answers its actions at once.
func TestEH1_BusyPythonKernelDelaysNoAction(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	newFakeHolder(t, s.URL)
	s.agent.requestAction(t, "create_cell", params{"position": 1, "cell_type": "code", "source": "while True: pass", "auto_run": true})
	s.entries.awaitItem(t, "the start of the cell", isEntryOfHopAndType(trace.KernelToServer, protocol.TypeStartCell))
	require.Equal(t, "success", s.agent.requestAction(t, "request_globals_summary", nil).Status)
	require.Equal(t, "success", s.agent.requestAction(t, "request_reactivity_summary", nil).Status)
	s.requirePromptAnswer(t, "get_context", nil)
	s.requirePromptAnswer(t, "delete_cell", params{"cell_id": "first"})
	require.Empty(t, s.entries.itemsMatching(isEntryOfHopAndType(trace.KernelToServer, protocol.TypeCellResult)), "the kernel is busy")
}

// promptAnswerTimeout is far less than any timeout, and far more than an answer takes.
const promptAnswerTimeout = 2 * time.Second

// requirePromptAnswer sends an action, and requires that it succeeds within
// promptAnswerTimeout.
func (s *liveSession) requirePromptAnswer(t *testing.T, action string, p params) {
	t.Helper()
	answer := s.agent.requestAction(t, action, p)
	require.Equal(t, "success", answer.Status, answer)
	entries := s.entriesOf(t, answer.TxID)
	require.Less(t, entries[len(entries)-1].Elapsed-entries[0].Elapsed, promptAnswerTimeout, action)
}

// Of thirty actions sent without waiting, each gets one answer, with the fields of its
// kind of action.
func TestEH2_ConcurrentActionsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	newFakeHolder(t, s.URL)
	fieldOf := map[string]string{ // a field that only this action's answer has
		"get_context": "context", "request_globals_summary": "summary", "request_reactivity_summary": "cell_reactivity",
	}
	actionOf := map[string]string{} // by tx_id
	for range 10 {
		for action := range fieldOf {
			actionOf[s.agent.sendAction(action, nil)] = action
		}
	}
	for tx, action := range actionOf {
		answer := s.agent.awaitItem(t, action, isAnswerTo(tx))
		require.Equal(t, "success", answer.Status, answer)
		for other, field := range fieldOf {
			has := answer.fields(t)[field] != nil
			want := other == action || other == "request_globals_summary" && action == "request_reactivity_summary"
			require.Equal(t, want, has, "%s in the answer to %s: %s", field, action, answer)
		}
	}
	for tx := range actionOf {
		require.Len(t, s.agent.itemsMatching(isAnswerTo(tx)), 1, "answered once")
	}
}

// With a holder, the trace shows every action on its way from the agent through the
// server to the console, and its answer on the way back.
func TestEH3_ActionsPassThroughTheHolder(t *testing.T) {
	t.Parallel()
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Kernel: h.pythonKernelConfig(t)})
	newFakeHolder(t, s.URL)
	for _, step := range []struct {
		action string
		params params
	}{
		{"create_cell", params{"position": 0, "cell_type": "code", "source": "print(1)", "auto_run": true}},
		{"create_markdown_cell", params{"position": 1, "source": "# a heading"}},
		{"edit_cell", params{"cell_id": "cell-1", "source": "print(2)"}},
		{"run_cell", params{"cell_id": "cell-1"}},
		{"stop_cell", params{"cell_id": "cell-1"}},
		{"set_widget", params{"key": "cell-1/w", "value": "1"}},
		{"get_context", nil},
		{"move_cell", params{"cell_id": "cell-2", "position": 0}},
		{"delete_cell", params{"cell_id": "cell-2"}},
	} {
		answer := s.agent.requestAction(t, step.action, step.params)
		require.Equal(t, "success", answer.Status, answer)
		s.requireHolderHops(t, answer.TxID)
	}
}

// requireHolderHops requires that an action has passed the four hops of an action with
// a holder, and that the server has forwarded both messages unchanged.
func (s *liveSession) requireHolderHops(t *testing.T, tx string) {
	t.Helper()
	entries := s.entriesOf(t, tx)
	require.Equal(t, []trace.Hop{trace.AgentToServer, trace.ServerToConsole, trace.ConsoleToServer, trace.ServerToAgent}, hopsOf(entries))
	require.Equal(t, entries[0].Seq, entries[1].RefSeq)
	require.Equal(t, entries[2].Seq, entries[3].RefSeq)
}

// If the holder does not answer, the action fails with an error that names the console.
// An answer that comes later is dropped.
func TestEH4_ActionTimesOutIfTheHolderIsSilent(t *testing.T) {
	t.Parallel()
	require.Equal(t, 9500*time.Millisecond, router.DefaultHolderTimeout)
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{Router: router.Config{HolderTimeout: 300 * time.Millisecond}})
	silent := dialConsole(t, s.URL+"/agent", agentHello, nil)
	s.awaitHolder(t, 1)
	answer := s.agent.requestAction(t, "get_context", nil)
	require.Equal(t, "the console did not answer 'get_context' within 300ms", answer.Error)
	require.Equal(t, "error", answer.Status)
	silent.awaitItem(t, "the action", isMessageOfType("agent_action"))

	silent.writeText(fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":"success","context":{"cells":[]}}`, answer.TxID))
	s.entries.awaitItem(t, "the late answer", func(e traceEntry) bool { return e.TxID == answer.TxID && e.Note == trace.NoteLate })
	s.agent.requestAction(t, "no_such_action", nil) // by its answer, everything sent to the agent before has arrived
	require.Len(t, s.agent.itemsMatching(isAnswerTo(answer.TxID)), 1)
}

// The built-in agent ends an action itself if not even the server's timeout answers it.
func TestEH4_BuiltinAgentTimesOutByItself(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "turns.jsonl")
	require.NoError(t, os.WriteFile(script, []byte(
		`{"content":[{"type":"tool_use","name":"get_context","input":{}}]}`+"\n"+`{"content":"I give up."}`+"\n"), 0o600))
	h := newServerHarness(t, server.Config{})
	s := h.startSession(t, session.Config{Agent: agent.Config{Command: servertest.RoleCommand("builtin", "300ms", script)}})
	silent := dialConsole(t, s.URL+"/agent", agentHello, nil)
	require.NoError(t, s.session.SendQuery(protocol.AgentQuery{Query: "look around", RequestID: "1"}))
	silent.awaitItem(t, "the action", isMessageOfType("agent_action"))
	const text = "OPERATION FAILED: 'get_context' timed out after 0.3 seconds."
	s.entries.awaitItem(t, "the agent's own timeout", func(e traceEntry) bool {
		return e.Hop == trace.AgentToServer && e.Type == protocol.TypeAgentHistoryUpdated && bytes.Contains(e.Body, []byte(text))
	})
}

// The agent gets no query before a console has sent init at /agent.
func TestEH5_NoQueryBeforeTheConsolesInit(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(s.session.AwaitHolder(t.Context()), s.session.SendQuery(protocol.AgentQuery{Query: "begin", RequestID: "1"}))
	}()
	run := dialConsole(t, s.URL+"/run", runHello, nil)
	run.awaitItem(t, "ready", isMessageOfType("ready"))
	require.Equal(t, "error", s.agent.requestAction(t, "no_such_action", nil).Status)
	require.Empty(t, s.agent.itemsMatching(isMessageOfType("agent_query")), "a console at /run is not enough")
	require.Equal(t, session.StateReady, s.session.State())

	dialConsole(t, s.URL+"/agent", agentHello, nil)
	require.NoError(t, <-sent)
	s.agent.awaitItem(t, "the query", isMessageOfType("agent_query"))
	holder := s.entries.awaitItem(t, "the holder", isEntryOfHopAndType(trace.HopSession, router.EntryTypeHolderChanged))
	query := s.entries.awaitItem(t, "the query", isEntryOfHopAndType(trace.ServerToAgent, "agent_query"))
	require.Less(t, holder.Seq, query.Seq)
	require.Equal(t, session.StateWorking, s.session.State())
}

// A cell without an id is an error that names the cell or parameter, in a console's
// answer and in an action.
func TestEH6_CellWithoutIDIsAnError(t *testing.T) {
	t.Parallel()
	s := newServerHarness(t, server.Config{}).startSession(t, session.Config{})
	for i, cells := range []string{`[{"cell_id":"a"},{"cell_id":""}]`, `[{"cell_id":"a"},{"index":1}]`, `[{"cell_id":"a"},{"cell_id":null}]`} {
		console := dialConsole(t, s.URL+"/agent", agentHello, func(c *consoleSocket, f frame) {
			c.writeText(fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":"success","context":{"cells":%s}}`, f.TxID, cells))
		})
		s.awaitHolder(t, i+1)
		answer := s.agent.requestAction(t, "get_context", nil)
		require.Equal(t, "get_context: the console's answer: cell 1 has no cell_id", answer.Error)
		require.Equal(t, "error", answer.Status)
		console.awaitItem(t, "the action", isMessageOfType("agent_action"))
	}
	for _, action := range []string{"edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell"} {
		for _, p := range []params{nil, {}, {"cell_id": ""}, {"cell_id": 7}} {
			answer := s.agent.requestAction(t, action, p)
			require.Equal(t, action+": params.cell_id is missing or empty", answer.Error)
			require.Equal(t, []trace.Hop{trace.AgentToServer, trace.ServerToAgent}, hopsOf(s.entriesOf(t, answer.TxID)), "the action is not sent to a console")
		}
	}
}
