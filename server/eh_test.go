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
)

// The kernel is busy and both summaries are asked for: get_context and
// delete_cell sent after them are answered at once.
func TestEH1_BusyKernelDelaysNothingElse(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	newHolder(t, s.url)
	globals := s.agent.ask("request_globals_summary", nil)
	reactivity := s.agent.ask("request_reactivity_summary", nil)
	s.answeredAtOnce(t, "get_context", nil)
	s.answeredAtOnce(t, "delete_cell", params{"cell_id": "first"})
	require.Empty(t, s.agent.all(answerTo(globals)), "the kernel is busy")
	require.Empty(t, s.agent.all(answerTo(reactivity)), "the kernel is busy")
}

// The same with a Python kernel in the middle of a cell, which answers the
// summaries too.
func TestEH1_BusyPythonDelaysNothing(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	newHolder(t, s.url)
	s.agent.do(t, "create_cell", params{"position": 1, "cell_type": "code", "source": "while True: pass", "auto_run": true})
	s.trace.await(t, "the start of the cell", entry(trace.KernelToServer, protocol.TypeStartCell))
	require.Equal(t, "success", s.agent.do(t, "request_globals_summary", nil).Status)
	require.Equal(t, "success", s.agent.do(t, "request_reactivity_summary", nil).Status)
	s.answeredAtOnce(t, "get_context", nil)
	s.answeredAtOnce(t, "delete_cell", params{"cell_id": "first"})
	require.Empty(t, s.trace.all(entry(trace.KernelToServer, protocol.TypeCellResult)), "the kernel is busy")
}

// atOnce is far less than any deadline, and far more than an answer takes.
const atOnce = 2 * time.Second

func (s *stage) answeredAtOnce(t *testing.T, action string, p params) {
	t.Helper()
	answer := s.agent.do(t, action, p)
	require.Equal(t, "success", answer.Status, answer)
	of := s.entries(t, answer.TxID)
	require.Less(t, of[len(of)-1].Elapsed-of[0].Elapsed, atOnce, action)
}

// entry matches the trace's entries of a hop and type.
func entry(hop trace.Hop, kind string) func(line) bool {
	return func(e line) bool { return e.Hop == hop && e.Type == kind }
}

// get_context and both summaries at the same time, ten times over: each gets
// its own answer.
func TestEH2_EachGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	newHolder(t, s.url)
	own := map[string]string{
		"get_context": "context", "request_globals_summary": "summary", "request_reactivity_summary": "cell_reactivity",
	}
	asked := map[string]string{}
	for range 10 {
		for action := range own {
			asked[s.agent.ask(action, nil)] = action
		}
	}
	for tx, action := range asked {
		answer := s.agent.await(t, action, answerTo(tx))
		require.Equal(t, "success", answer.Status, answer)
		for other, field := range own {
			has := answer.fields(t)[field] != nil
			want := other == action || other == "request_globals_summary" && action == "request_reactivity_summary"
			require.Equal(t, want, has, "%s in the answer to %s: %s", field, action, answer)
		}
	}
	for tx := range asked {
		require.Len(t, s.agent.all(answerTo(tx)), 1, "answered once")
	}
}

// With a holder, every action goes server>console and its answer comes back
// console>server>agent, as the trace shows.
func TestEH3_EveryActionGoesThroughTheHolder(t *testing.T) {
	t.Parallel()
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Kernel: h.python(t)})
	newHolder(t, s.url)
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
		answer := s.agent.do(t, step.action, step.params)
		require.Equal(t, "success", answer.Status, answer)
		s.throughTheHolder(t, answer.TxID)
	}
}

// throughTheHolder requires the four hops of an action, the bytes being those
// that were sent.
func (s *stage) throughTheHolder(t *testing.T, tx string) {
	t.Helper()
	of := s.entries(t, tx)
	require.Equal(t, []trace.Hop{trace.AgentToServer, trace.ServerToConsole, trace.ConsoleToServer, trace.ServerToAgent}, hops(of))
	require.Equal(t, of[0].Seq, of[1].RefSeq)
	require.Equal(t, of[2].Seq, of[3].RefSeq)
}

// A holder that never answers: the server's error names the console. What it
// answers after that is dropped.
func TestEH4_SilentHolder(t *testing.T) {
	t.Parallel()
	require.Equal(t, 9500*time.Millisecond, router.DefaultHolderTimeout)
	s := newHouse(t, server.Config{}).play(t, session.Config{Router: router.Config{HolderTimeout: 300 * time.Millisecond}})
	silent := dial(t, s.url+"/agent", agentHello, nil)
	s.awaitHolder(t, 1)
	answer := s.agent.do(t, "get_context", nil)
	require.Equal(t, "the console did not answer 'get_context' within 300ms", answer.Error)
	require.Equal(t, "error", answer.Status)
	silent.await(t, "the action", ofType("agent_action"))

	silent.write(fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":"success","context":{"cells":[]}}`, answer.TxID))
	s.trace.await(t, "the late answer", func(e line) bool { return e.TxID == answer.TxID && e.Note == trace.NoteLate })
	s.agent.do(t, "no_such_action", nil) // what was sent to the agent before has come by now
	require.Len(t, s.agent.all(answerTo(answer.TxID)), 1)
}

// Where not even the server's error comes, the agent ends the action itself.
func TestEH4_AgentGivesUp(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "turns.jsonl")
	require.NoError(t, os.WriteFile(script, []byte(
		`{"content":[{"type":"tool_use","name":"get_context","input":{}}]}`+"\n"+`{"content":"I give up."}`+"\n"), 0o600))
	h := newHouse(t, server.Config{})
	s := h.play(t, session.Config{Agent: agent.Config{Command: playing("builtin", "300ms", script)}})
	silent := dial(t, s.url+"/agent", agentHello, nil)
	require.NoError(t, s.live.SendQuery(protocol.AgentQuery{Query: "look around", RequestID: "1"}))
	silent.await(t, "the action", ofType("agent_action"))
	const text = "OPERATION FAILED: 'get_context' timed out after 0.3 seconds."
	s.trace.await(t, "the agent's own end of it", func(e line) bool {
		return e.Hop == trace.AgentToServer && e.Type == protocol.TypeAgentHistoryUpdated && bytes.Contains(e.Body, []byte(text))
	})
}

// awaitHolder waits until a console has come to hold the notebook for the nth
// time.
func (s *stage) awaitHolder(t *testing.T, n int) {
	t.Helper()
	came := entry(trace.HopSession, router.TypeHolder)
	s.trace.await(t, "a holder", func(e line) bool { return came(e) && len(s.trace.all(came)) >= n })
}

// There is no agent_query before a console's init.
func TestEH5_NoQueryBeforeInit(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	queried := make(chan error, 1)
	go func() {
		queried <- errors.Join(s.live.AwaitHolder(t.Context()), s.live.SendQuery(protocol.AgentQuery{Query: "begin", RequestID: "1"}))
	}()
	run := dial(t, s.url+"/run", runHello, nil)
	run.await(t, "ready", ofType("ready"))
	require.Equal(t, "error", s.agent.do(t, "no_such_action", nil).Status)
	require.Empty(t, s.agent.all(ofType("agent_query")), "a console at /run is not enough")
	require.Equal(t, session.StateReady, s.live.State())

	dial(t, s.url+"/agent", agentHello, nil)
	require.NoError(t, <-queried)
	s.agent.await(t, "the query", ofType("agent_query"))
	came := s.trace.await(t, "the holder", entry(trace.HopSession, router.TypeHolder))
	query := s.trace.await(t, "the query", entry(trace.ServerToAgent, "agent_query"))
	require.Less(t, came.Seq, query.Seq)
	require.Equal(t, session.StateWorking, s.live.State())
}

// A cell without id is an error that names it, wherever it comes from.
func TestEH6_CellWithoutID(t *testing.T) {
	t.Parallel()
	s := newHouse(t, server.Config{}).play(t, session.Config{})
	for i, cells := range []string{`[{"cell_id":"a"},{"cell_id":""}]`, `[{"cell_id":"a"},{"index":1}]`, `[{"cell_id":"a"},{"cell_id":null}]`} {
		careless := dial(t, s.url+"/agent", agentHello, func(c *socket, f frame) {
			c.write(fmt.Sprintf(`{"type":"agent_action_response","tx_id":%q,"status":"success","context":{"cells":%s}}`, f.TxID, cells))
		})
		s.awaitHolder(t, i+1)
		answer := s.agent.do(t, "get_context", nil)
		require.Equal(t, "get_context: the console's answer: cell 1 has no cell_id", answer.Error)
		require.Equal(t, "error", answer.Status)
		careless.await(t, "the action", ofType("agent_action"))
	}
	for _, action := range []string{"edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell"} {
		for _, p := range []params{nil, {}, {"cell_id": ""}, {"cell_id": 7}} {
			answer := s.agent.do(t, action, p)
			require.Equal(t, action+": params.cell_id is missing or empty", answer.Error)
			require.Equal(t, []trace.Hop{trace.AgentToServer, trace.ServerToAgent}, hops(s.entries(t, answer.TxID)), "no console is asked")
		}
	}
}
