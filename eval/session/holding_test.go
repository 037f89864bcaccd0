package session_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/kernel"
	"assay/router"
)

// asking is an agent that asks for the notebook as soon as it is ready.
func asking() agent.Config {
	return agent.Config{Command: shell(
		`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`,
		`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_1"}`,
	)}
}

func answered(tx string) func(*trace.Entry) bool {
	return func(e *trace.Entry) bool { return e.Hop == trace.ServerToAgent && e.TxID == tx }
}

// Without a case, the server holds the notebook when no console has come within
// its time after the agent's first action, which is then answered.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{AwaitConsole: true, TakeOverDelay: 100 * time.Millisecond, Agent: asking()})
	got := s.await(t, "the answer", answered("tx_1"))
	require.Equal(t, protocol.StatusSuccess, got.Status, "%s", got.Body)
	require.Equal(t, "server", s.HolderKind())
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.Console{ConnID: 1, Name: "late"})
	require.ErrorIs(t, err, session.ErrHeldByServer)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// A console that has come first keeps the notebook, and is asked. Whether it is
// still told that the agent is ready depends on when exactly it has come.
func TestNoTakeOverFromAConsole(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{AwaitConsole: true, TakeOverDelay: time.Hour, Agent: asking()})
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.Console{ConnID: 1, Name: "1"})
	require.NoError(t, err)
	body, asked := hear(t, theirs)
	if asked.Type == protocol.TypeAgentStatus {
		body, asked = hear(t, theirs)
	}
	require.Equal(t, "get_context", asked.Action, "%s", body)
	require.Equal(t, "console", s.HolderKind())
	view, gone := protocol.Pipe()
	_, err = s.AttachView(view, session.Console{ConnID: 2})
	require.ErrorIs(t, err, session.ErrHeldByConsole)
	require.NoError(t, gone.Close(protocol.CloseNormal, ""))
}

// hear reads the next message of a connection.
func hear(t *testing.T, conn protocol.Conn) (body []byte, env protocol.Envelope) {
	t.Helper()
	body, err := conn.Read()
	require.NoError(t, err)
	env, err = protocol.NewDecoder().Envelope(body)
	require.NoError(t, err)
	return body, env
}

// A child that was killed is started anew: the kernel begins with nothing, and
// consoles are told; the agent is initialised again, and asks as the first did.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{Agent: asking()})
	s.await(t, "the answer", answered("tx_1"))
	greetings := make(chan int, 10)
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		greetings <- s.KernelPID()
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	first := <-greetings
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	s.await(t, "its end", entry(trace.Session, protocol.TypeManagedProcessExit))
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	require.NotEqual(t, first, <-greetings)
	require.True(t, s.IsKernelAlive())

	require.NoError(t, s.RestartChild(t.Context(), "agent"))
	s.await(t, "its init", entry(trace.ServerToAgent, protocol.TypeInit))
	s.await(t, "the answer", answered("tx_1"))
	require.EqualError(t, s.RestartChild(t.Context(), "moon"), `name: want kernel or agent, not "moon"`)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// A kernel that does not come up again leaves a session without one, which can
// be started anew later, and which ends as any other.
func TestRestartThatFails(t *testing.T) {
	t.Parallel()
	allowed := filepath.Join(t.TempDir(), "allowed")
	require.NoError(t, os.WriteFile(allowed, nil, 0o600))
	command := shell(`{"type":"ready"}`)
	command[2] = "test -e " + allowed + " || exit 7; " + command[2]
	s := start(t, supervisor(t), session.Config{Kernel: kernel.Config{Command: command}})
	require.NoError(t, os.Remove(allowed))
	require.ErrorContains(t, s.RestartChild(t.Context(), "kernel"), "status 7")
	require.False(t, s.IsKernelAlive())
	require.NoError(t, os.WriteFile(allowed, nil, 0o600))
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	require.True(t, s.IsKernelAlive())
}

// In an evaluation nothing is started anew.
func TestNoRestartInAnEvaluation(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{IsEvaluation: true})
	pid := s.KernelPID()
	require.ErrorContains(t, s.RestartChild(t.Context(), "kernel"), "a case is attached")
	require.Equal(t, pid, s.KernelPID())
}

// What a session was restored from stands first in its trace, so that the next
// one can be restored from that trace alone, and so on.
func TestRestoredFromItsTrace(t *testing.T) {
	t.Parallel()
	sup := supervisor(t)
	state := notebook.State{
		Cells: []notebook.Cell{{ID: "a", Type: notebook.Code, Source: "1", Rev: 3}},
		Executions: notebook.Snapshot{
			Status:  map[string]string{"a": notebook.StatusRan},
			Outputs: map[string][]json.RawMessage{"a": {json.RawMessage(`{"output_type":"stream","name":"stdout","text":"one\n"}`)}},
		},
	}
	for n := range 3 {
		path := filepath.Join(t.TempDir(), "trace.jsonl")
		recording, err := trace.NewRecording(trace.NewJournal("s"), path)
		require.NoError(t, err)
		live, err := session.Start(t.Context(), sup, session.Config{
			ID: "s", Journal: recording.Journal, Kernel: quickKernel(), Agent: quickAgent(), Environ: os.Environ(),
			WorkdirRoot: t.TempDir(), RestoreFrom: &state,
		})
		require.NoError(t, err)
		_, err = live.Router().Ask(t.Context(), "edit_cell", map[string]any{"cell_id": "a", "source": string(rune('2' + n))})
		require.NoError(t, err)
		require.NoError(t, live.End(t.Context(), "over"))
		require.NoError(t, recording.Close())
		again, err := session.NotebookFromTrace(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, []notebook.Cell{{ID: "a", Type: notebook.Code, Source: string(rune('2' + n)), Rev: 4 + n, By: notebook.ByServer}}, again.Cells)
		require.Equal(t, state.Executions.Outputs, again.Executions.Outputs)
		require.Equal(t, state.Executions.Status, again.Executions.Status)
		state = *again
	}
}

// A trace that says nothing of the notebook, because a console held it, is none
// to restore from.
func TestNothingToRestore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	recording, err := trace.NewRecording(trace.NewJournal("s"), path)
	require.NoError(t, err)
	recording.Journal.Append(trace.Entry{Hop: trace.Session, Envelope: protocol.Envelope{Type: router.TypeHolder}, Body: []byte(`{}`)})
	require.NoError(t, recording.Close())
	state, err := session.NotebookFromTrace(t.Context(), path)
	require.NoError(t, err)
	require.Nil(t, state)
	_, err = session.NotebookFromTrace(t.Context(), filepath.Join(t.TempDir(), "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A console is told of each kernel's end before it is greeted with the next.
func TestRestartsAreToldInOrder(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	const times = 30
	told := make(chan []string, 1)
	go func() {
		var types []string
		for len(types) < 1+2*times {
			body, err := theirs.Read()
			if err != nil {
				break
			}
			if env, err := protocol.NewDecoder().Envelope(body); err == nil {
				types = append(types, env.Type)
			}
		}
		told <- types
	}()
	for range times {
		require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	}
	want := []string{protocol.TypeReady}
	for range times {
		want = append(want, protocol.TypeManagedProcessExit, protocol.TypeReady)
	}
	require.Equal(t, want, <-told)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// An agent that does not become ready the second time is not kept.
func TestAgentThatIsNotReadyAgain(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	status := shell(`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`)
	silent := shell(`{"type":"ready"}`)
	command := []string{"sh", "-c", "if test -e " + once + "; then " + silent[2] + "; fi; touch " + once + "; " + status[2], "sh"}
	s := start(t, supervisor(t), session.Config{Agent: agent.Config{Command: command, ReadyTimeout: 2 * time.Second}})
	require.ErrorContains(t, s.RestartChild(t.Context(), "agent"), "did not answer init with agent_status ready within 2s")
	require.ErrorIs(t, s.SendQuery(protocol.AgentQuery{Query: "hello"}), router.ErrNoPeer)
}

// The end of a session's children is told to its consoles before their own.
func TestConsoleHearsOfTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, supervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.Router().AttachConsole(ours, 1, func(int, bool) (body, recorded []byte) {
		return []byte(`{"type":"ready"}`), []byte(`{"type":"ready"}`)
	})
	require.NoError(t, err)
	told := make(chan int, 1)
	go func() {
		exits := 0
		for body, err := theirs.Read(); err == nil; body, err = theirs.Read() {
			if env, err := protocol.NewDecoder().Envelope(body); err == nil && env.Type == protocol.TypeManagedProcessExit {
				exits++
			}
		}
		told <- exits
	}()
	require.NoError(t, s.End(t.Context(), "over"))
	require.Equal(t, 2, <-told)
}
