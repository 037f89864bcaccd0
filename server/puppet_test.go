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
)

// puppet is an agent whose mind is the test: a process of its own, which passes
// on what the test says, and to the test what the server says.
type puppet struct {
	*box[frame]
	command []string
	listens net.Listener

	mu   sync.Mutex
	conn protocol.Conn // nil: the process has not called yet
	last atomic.Int64  // number of the last tx_id
}

// newPuppet returns an agent that is ready for a query as soon as its command
// is started.
func newPuppet(t *testing.T, dir string) *puppet {
	t.Helper()
	path := filepath.Join(dir, "agent.sock")
	listens, err := net.Listen("unix", path)
	require.NoError(t, err)
	a := &puppet{box: newBox[frame](), command: playing("puppet", path), listens: listens}
	var reading sync.WaitGroup
	reading.Go(a.run)
	t.Cleanup(func() {
		_ = listens.Close() // run has closed it, unless nobody called
		a.leave()
		reading.Wait()
	})
	return a
}

func (a *puppet) run() {
	socket, err := a.listens.Accept()
	_ = a.listens.Close()
	if err != nil {
		return
	}
	conn := protocol.NewStream(socket, 0)
	a.mu.Lock()
	a.conn = conn
	a.mu.Unlock()
	a.say(protocol.Ready{Type: protocol.TypeReady})
	next := frames(conn.Read)
	a.fill(func() (frame, error) {
		f, err := next()
		if err == nil && f.Type == protocol.TypeInit {
			a.status(protocol.AgentReady)
		}
		return f, err
	})
}

// leave ends the agent's process.
func (a *puppet) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		_ = a.conn.Close(protocol.CloseNormal, "")
	}
}

// say sends a message. One that cannot be sent is missed by who waits for it.
func (a *puppet) say(message any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if body, err := json.Marshal(message); err == nil {
		_ = a.conn.Write(body)
	}
}

func (a *puppet) status(status string) {
	a.say(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: status})
}

type params map[string]any

// ask sends an action and returns its tx_id.
func (a *puppet) ask(action string, p params) string {
	tx := fmt.Sprintf("tx_%d", a.last.Add(1))
	a.say(map[string]any{"type": "agent_action", "action": action, "params": p, "tx_id": tx})
	return tx
}

// do sends an action and returns the answer.
func (a *puppet) do(t *testing.T, action string, p params) frame {
	t.Helper()
	return a.await(t, "the answer to "+action, answerTo(a.ask(action, p)))
}

// result waits for the end of a cell's run.
func (a *puppet) result(t *testing.T, cellID string) protocol.KernelMessageResult {
	t.Helper()
	var result protocol.KernelMessageResult
	a.await(t, "the result of "+cellID, func(f frame) bool {
		var r protocol.KernelMessageResult
		if f.Type != protocol.TypeKernelMessage || json.Unmarshal(f.Message, &r) != nil {
			return false
		}
		result = r
		return r.Type == protocol.TypeCellResult && r.CellID == cellID
	})
	return result
}

// write commits a message of the conversation; content is text or blocks.
func (a *puppet) write(role string, content any) {
	a.say(map[string]any{"type": "agent_history_updated", "entry": map[string]any{
		"type": "anthropic_message", "role": role, "content": content, "timestamp": "2026-01-01T00:00:00Z",
	}})
}

// use commits a message that calls a tool.
func (a *puppet) use(tool string, input params) {
	a.write("assistant", []any{map[string]any{"type": "tool_use", "id": "toolu_1", "name": tool, "input": input}})
}

// submit hands in an answer as the task asks for it.
func (a *puppet) submit(answer string) {
	summary := "Done. <EVAL_ANSWER>" + answer + "</EVAL_ANSWER>\n[EVAL_COMPLETE]"
	a.use("submit_response", params{"summary": summary, "next_status": "done"})
}
