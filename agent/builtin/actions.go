package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/agent/builtin/render"
	"assay/internal/protocol"
)

// maxAbandonedActions is how many abandoned actions are remembered; older ones are
// forgotten, and their late responses ignored.
const maxAbandonedActions = 16

// actionClient sends actions to the notebook and matches the responses by tx_id. It is
// safe for concurrent use.
type actionClient struct {
	server  *serverConn
	newTxID func() string

	mu        sync.Mutex
	pending   map[string]chan actionResult // by tx_id; each has a buffer of 1 for its response
	abandoned []abandonedAction            // the latest, at most maxAbandonedActions
	sent      int
}

// abandonedAction is an action that its caller gave up before the response came.
type abandonedAction struct {
	txID           string
	onLateResponse func(actionResult) // gets the response if it comes after all; must not block
}

func newActionClient(server *serverConn, newTxID func() string) *actionClient {
	return &actionClient{server: server, newTxID: newTxID, pending: map[string]chan actionResult{}}
}

// actionResult is the outcome of an action. An action without a response has a result
// too: a failure that the agent itself worded.
type actionResult struct {
	txID    string
	failure string          // what went wrong; "" for success
	body    json.RawMessage // the whole response; nil if none came
}

// do sends an action with params as JSON and waits for its response. The result is a failure
// if the action cannot be sent, if no response comes within timeout, or if ctx ends first.
func (c *actionClient) do(ctx context.Context, action string, params any, timeout time.Duration) actionResult {
	return c.doWithLateHandler(ctx, action, params, timeout, nil)
}

// doWithLateHandler sends an action and waits for its response like do. If ctx ends before
// the response comes, onLateResponse is called with the response when it does come, so that
// the caller can undo the action. It is called on the goroutine that reads the connection
// and must not block. If onLateResponse is nil, a late response is ignored.
func (c *actionClient) doWithLateHandler(ctx context.Context, action string, params any, timeout time.Duration, onLateResponse func(actionResult)) actionResult {
	txID := c.newTxID()
	response := make(chan actionResult, 1)
	c.registerPending(txID, response)
	defer c.unregisterPending(txID)

	timer := time.NewTimer(timeout)
	defer timer.Stop()
	if err := c.send(action, params, txID); err != nil {
		return unansweredActionResult(txID, "OPERATION FAILED: '%s' could not be sent: %v. The operation did not complete.", action, err)
	}
	select {
	case r := <-response:
		return r
	case <-timer.C:
		return unansweredActionResult(txID, "OPERATION FAILED: '%s' timed out after %s seconds. No answer came: the operation did not complete.", action, render.FormatSeconds(timeout))
	case <-ctx.Done():
		c.abandonAction(abandonedAction{txID, onLateResponse}, response)
		return unansweredActionResult(txID, "OPERATION FAILED: '%s' was given up: %v. The operation did not complete.", action, context.Cause(ctx))
	}
}

// unansweredActionResult returns the result of an action that got no response.
func unansweredActionResult(txID, format string, args ...any) actionResult {
	return actionResult{txID: txID, failure: fmt.Sprintf(format, args...)}
}

// send writes an agent_action frame with params as JSON and does not wait for the response;
// a caller that wants the response calls register first. It returns an error if params
// cannot be written as JSON or the connection is lost.
func (c *actionClient) send(action string, params any, txID string) error {
	raw, err := protocol.Marshal(params)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.sent++
	c.mu.Unlock()
	c.server.printToStderr("[agent] -> " + action + " " + txID)
	return c.server.send(protocol.AgentAction{Type: protocol.TypeAgentAction, Action: action, Params: raw, TxID: txID})
}

// handleResponse passes an agent_action_response to the caller that waits for it, or to the
// late-response handler of an abandoned action. It ignores responses with an unknown tx_id
// and repeated ones.
func (c *actionClient) handleResponse(env protocol.Envelope, body []byte) {
	r := actionResult{txID: env.TxID, body: body}
	if env.Status == protocol.StatusError {
		var response protocol.ActionResponse
		if json.Unmarshal(body, &response) != nil || response.Error == "" {
			response.Error = "the operation failed and gave no reason"
		}
		r.failure = response.Error
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if waiting, ok := c.pending[env.TxID]; ok {
		delete(c.pending, env.TxID)
		waiting <- r
	}
	if i := slices.IndexFunc(c.abandoned, func(a abandonedAction) bool { return a.txID == env.TxID }); i >= 0 {
		c.abandoned[i].onLateResponse(r)
		c.abandoned = slices.Delete(c.abandoned, i, i+1)
	}
}

// abandonAction remembers an action that its caller no longer waits for, so that handleResponse
// can call its late-response handler. If the response is in the channel already,
// abandonAction calls the handler at once.
func (c *actionClient) abandonAction(a abandonedAction, response chan actionResult) {
	if a.onLateResponse == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case r := <-response:
		a.onLateResponse(r)
		return
	default:
	}
	delete(c.pending, a.txID)
	c.abandoned = append(c.abandoned, a)
	c.abandoned = c.abandoned[max(0, len(c.abandoned)-maxAbandonedActions):]
}

// registerPending makes handleResponse send the response with tx_id txID to the channel response.
func (c *actionClient) registerPending(txID string, response chan actionResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[txID] = response
}

// unregisterPending makes handleResponse ignore the response with that tx_id.
func (c *actionClient) unregisterPending(txID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, txID)
}

// sentActionCount returns how many actions the agent has sent since it started.
func (c *actionClient) sentActionCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// decode decodes the JSON body of an action's response into out, unless out is nil. It
// returns an error if the action failed or the body cannot be decoded.
func (r actionResult) decode(out any) error {
	if r.failure != "" {
		return errors.New(r.failure)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(r.body, out); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}
