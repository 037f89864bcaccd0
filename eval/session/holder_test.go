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

// contextAskingAgentConfig returns the Config of an agent that sends get_context, with tx_id tx_1, as
// soon as it is ready.
func contextAskingAgentConfig() agent.Config {
	return agent.Config{Command: shellChildCommand(
		`{"type":"ready"}`, `{"type":"agent_status","status":"ready"}`,
		`{"type":"agent_action","action":"get_context","params":{},"tx_id":"tx_1"}`,
	)}
}

// answerMatcher returns a function that reports whether a trace entry is the answer to the
// agent's action with this tx_id.
func answerMatcher(tx string) func(*trace.Entry) bool {
	return func(e *trace.Entry) bool { return e.Hop == trace.ServerToAgent && e.TxID == tx }
}

// If no console connects within TakeOverDelay after the agent's first action, the server holds
// the document and answers the action.
func TestServerHoldsAfterTakeOverDelay(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{AwaitConsole: true, TakeOverDelay: 100 * time.Millisecond, Agent: contextAskingAgentConfig()})
	got := s.awaitEntry(t, "the answer", answerMatcher("tx_1"))
	require.Equal(t, protocol.StatusSuccess, got.Status, "%s", got.Body)
	require.Equal(t, "server", s.HolderKind())
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.ConsoleIdentity{ConnID: 1, Name: "late"})
	require.ErrorIs(t, err, session.ErrHeldByServer)
	require.NoError(t, theirs.Close(protocol.CloseNormal, ""))
}

// A console that connects before the server takes over holds the document and gets the agent's
// action. Whether it also gets agent_status ready depends on when exactly it was attached.
func TestConsoleThatCameFirstKeepsNotebook(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{AwaitConsole: true, TakeOverDelay: time.Hour, Agent: contextAskingAgentConfig()})
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.ConsoleIdentity{ConnID: 1, Name: "1"})
	require.NoError(t, err)
	body, asked := readMessage(t, theirs)
	if asked.Type == protocol.TypeAgentStatus {
		body, asked = readMessage(t, theirs)
	}
	require.Equal(t, "get_context", asked.Action, "%s", body)
	require.Equal(t, "console", s.HolderKind())
	view, gone := protocol.Pipe()
	_, err = s.AttachView(view, session.ConsoleIdentity{ConnID: 2})
	require.ErrorIs(t, err, session.ErrHeldByConsole)
	require.NoError(t, gone.Close(protocol.CloseNormal, ""))
}

// readMessage reads the next message from a connection and returns its body and envelope.
func readMessage(t *testing.T, conn protocol.Conn) (body []byte, env protocol.Envelope) {
	t.Helper()
	body, err := conn.Read()
	require.NoError(t, err)
	env, err = protocol.NewEnvelopeDecoder().Decode(body)
	require.NoError(t, err)
	return body, env
}

// Without Config.AwaitConsole the server holds the document from the start of the session.
func TestServerHoldsWithoutAwaitConsole(t *testing.T) {
	t.Parallel()
	s := startSession(t, newSupervisor(t), session.Config{})
	ours, theirs := protocol.Pipe()
	_, err := s.AttachHolder(ours, session.ConsoleIdentity{ConnID: 1, Name: "1"})
	require.ErrorIs(t, err, session.ErrHeldByServer)
	require.NoError(t, errors.Join(ours.Close(protocol.CloseNormal, ""), theirs.Close(protocol.CloseNormal, "")))
}

// AwaitHolder fails when its context ends, and when the agent has ended.
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
