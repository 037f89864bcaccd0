package server_test

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/protocol"
	"assay/server/servertest"
)

// fakeAgent is an agent that a test controls. Its process only relays messages between
// the test and the server. The inbox has what the server sends.
type fakeAgent struct {
	*inbox[frame]
	command  []string
	listener net.Listener

	mu     sync.Mutex
	conn   protocol.Conn // nil: the process has not connected yet
	lastTx atomic.Int64  // number of the last tx_id
}

// newFakeAgent returns an agent that becomes ready for a query when its command is
// started. It uses a socket in dir.
func newFakeAgent(t *testing.T, dir string) *fakeAgent {
	t.Helper()
	path := filepath.Join(dir, "agent.sock")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	a := &fakeAgent{inbox: newInbox[frame](), command: servertest.RoleCommand("relay", path), listener: listener}
	var serving sync.WaitGroup
	serving.Go(a.serve)
	t.Cleanup(func() {
		_ = listener.Close() // serve has closed it already, unless the process was never started
		a.disconnect()
		serving.Wait()
	})
	return a
}

// serve waits for the process, sends ready, and then reads what the server sends.
func (a *fakeAgent) serve() {
	socket, err := a.listener.Accept()
	_ = a.listener.Close()
	if err != nil {
		return
	}
	conn := protocol.NewStream(socket, 0)
	a.mu.Lock()
	a.conn = conn
	a.mu.Unlock()
	a.send(protocol.Ready{Type: protocol.TypeReady})
	next := newFrameReader(conn.Read)
	a.readFrom(func() (frame, error) {
		f, err := next()
		if err == nil && f.Type == protocol.TypeInit {
			a.sendStatus(protocol.AgentReady)
		}
		return f, err
	})
}

// disconnect ends the agent's process.
func (a *fakeAgent) disconnect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		_ = a.conn.Close(protocol.CloseNormal, "")
	}
}

// send sends a message. It ignores errors: the test misses the message's effect.
func (a *fakeAgent) send(message any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if body, err := json.Marshal(message); err == nil {
		_ = a.conn.Write(body)
	}
}

func (a *fakeAgent) sendStatus(status string) {
	a.send(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: status})
}

type params = servertest.JSONObject

// sendAction sends an action and returns its tx_id.
func (a *fakeAgent) sendAction(action string, p params) string {
	tx := fmt.Sprintf("tx_%d", a.lastTx.Add(1))
	a.send(map[string]any{"type": "agent_action", "action": action, "params": p, "tx_id": tx})
	return tx
}

// requestAction sends an action and waits for its answer.
func (a *fakeAgent) requestAction(t *testing.T, action string, p params) frame {
	t.Helper()
	return a.awaitItem(t, "the answer to "+action, isAnswerTo(a.sendAction(action, p)))
}

// requestActionOK is requestAction, and requires that the action succeeds. It returns the fields
// of the answer.
func (a *fakeAgent) requestActionOK(t *testing.T, action string, p params) map[string]any {
	t.Helper()
	answer := a.requestAction(t, action, p)
	require.Equal(t, "success", answer.Status, answer)
	return answer.fields(t)
}

// runNewCell creates a cell at this position, which is run at once, and returns its id.
func (a *fakeAgent) runNewCell(t *testing.T, position int, source string) string {
	t.Helper()
	answer := a.requestAction(t, "create_cell", params{"position": position, "cell_type": "code", "source": source, "auto_run": true})
	require.Equal(t, "success", answer.Status, answer)
	return answer.CellID
}

// contextCell is a cell in the answer to get_context.
type contextCell struct {
	Status  string            `json:"status"`
	Outputs []json.RawMessage `json:"outputs"`
}

// listCells asks for the notebook with get_context and returns its cells.
func (a *fakeAgent) listCells(t *testing.T) []contextCell {
	t.Helper()
	var answer struct {
		Context struct {
			Cells []contextCell `json:"cells"`
		} `json:"context"`
	}
	require.NoError(t, json.Unmarshal(a.requestAction(t, "get_context", nil).body, &answer))
	return answer.Context.Cells
}

// awaitResult waits for the end of a cell's run.
func (a *fakeAgent) awaitResult(t *testing.T, cellID string) protocol.KernelMessageResult {
	t.Helper()
	var result protocol.KernelMessageResult
	a.awaitItem(t, "the result of "+cellID, func(f frame) bool {
		var r protocol.KernelMessageResult
		if f.Type != protocol.TypeKernelMessage || json.Unmarshal(f.Message, &r) != nil {
			return false
		}
		result = r
		return r.Type == protocol.TypeCellResult && r.CellID == cellID
	})
	return result
}

// sendHistoryMessage adds a message to the conversation; content is text or a list of
// blocks.
func (a *fakeAgent) sendHistoryMessage(role string, content any) {
	a.send(map[string]any{"type": "agent_history_updated", "entry": map[string]any{
		"type": "anthropic_message", "role": role, "content": content, "timestamp": "2026-01-01T00:00:00Z",
	}})
}

// sendHistoryToolUse adds a message with a call of a tool to the conversation.
func (a *fakeAgent) sendHistoryToolUse(tool string, input params) {
	a.sendHistoryMessage("assistant", []any{map[string]any{"type": "tool_use", "id": "toolu_1", "name": tool, "input": input}})
}

// submitAnswer submits an answer, with the markers that the task asks for.
func (a *fakeAgent) submitAnswer(answer string) {
	summary := "Done. <EVAL_ANSWER>" + answer + "</EVAL_ANSWER>\n[EVAL_COMPLETE]"
	a.sendHistoryToolUse("submit_response", params{"summary": summary, "next_status": "done"})
}
