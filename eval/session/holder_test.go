package session_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// contextAskingAgent is an agent that asks for the notebook as soon as it is ready.
func contextAskingAgent() agent.Config {
	return agent.Config{Command: shellChild(
		`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`,
		`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_1"}`,
	)}
}

func isAnswerTo(tx string) func(*trace.Entry) bool {
	return func(e *trace.Entry) bool { return e.Hop == trace.ServerToAgent && e.TxID == tx }
}

// Without a case, the server holds the notebook when no console has come within
// its time after the agent's first action, which is then answered.
func TestServerHoldsAfterTakeOverDelay(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{AwaitConsole: true, TakeOverDelay: 100 * time.Millisecond, Agent: contextAskingAgent()})
	got := s.await(t, "the answer", isAnswerTo("tx_1"))
	require.Equal(t, protocol.StatusSuccess, got.Status, "%s", got.Body)
	require.Equal(t, "server", s.HolderKind())
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.Console{ConnID: 1, Name: "late"})
	require.ErrorIs(t, err, session.ErrHeldByServer)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// A console that has come first keeps the notebook, and is asked. Whether it is
// still told that the agent is ready depends on when exactly it has come.
func TestConsoleThatCameFirstKeepsNotebook(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{AwaitConsole: true, TakeOverDelay: time.Hour, Agent: contextAskingAgent()})
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.Console{ConnID: 1, Name: "1"})
	require.NoError(t, err)
	body, asked := readMessage(t, theirs)
	if asked.Type == protocol.TypeAgentStatus {
		body, asked = readMessage(t, theirs)
	}
	require.Equal(t, "get_context", asked.Action, "%s", body)
	require.Equal(t, "console", s.HolderKind())
	view, gone := protocol.Pipe()
	_, err = s.AttachView(view, session.Console{ConnID: 2})
	require.ErrorIs(t, err, session.ErrHeldByConsole)
	require.NoError(t, gone.Close(protocol.CloseNormal, ""))
}

// readMessage reads the next message of a connection.
func readMessage(t *testing.T, conn protocol.Conn) (body []byte, env protocol.Envelope) {
	t.Helper()
	body, err := conn.Read()
	require.NoError(t, err)
	env, err = protocol.NewEnvelopeDecoder().Decode(body)
	require.NoError(t, err)
	return body, env
}

// The server holds the notebook of a session without consoles, from its start.
func TestServerHoldsWithoutAwaitConsole(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.Console{ConnID: 1, Name: "1"})
	require.ErrorIs(t, err, session.ErrHeldByServer)
	require.NoError(t, errors.Join(ours.Close(protocol.CloseNormal, ""), theirs.Close(protocol.CloseNormal, "")))
}

// The wait for a console is given up with its context, and with its agent.
func TestAwaitHolderFails(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{AwaitConsole: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCancelledByTest)
	require.ErrorIs(t, s.AwaitHolder(ctx), errCancelledByTest)
	require.NoError(t, s.StopAgent(t.Context()))
	require.Error(t, s.AwaitHolder(t.Context()))
	require.Equal(t, session.StateReady, s.State())
}
