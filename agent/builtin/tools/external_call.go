package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// externalCall is one tool call that the external program has made and that has not
// finished.
type externalCall struct {
	block   model.Block // the tool_use
	query   *openQuery  // the open query when the call was registered; nil if none
	started bool
	active  bool // counted in externalCalls.active; false for submissions
	cancel  context.CancelCauseFunc
	result  chan model.Block // buffer of 1
}

// externalCalls are the calls of an external program. They are protected by ExternalAgent.mu.
type externalCalls struct {
	unfinished map[*externalCall]bool
	unclaimed  []callKey     // of the open query; see ClaimCall
	count      int           // calls so far, for their ids
	active     int           // calls that have started, except submissions
	changed    chan struct{} // closed and replaced when unfinished or active shrinks
}

// callKey says which tool of the notebook was called, and with which input.
type callKey struct {
	tool      string
	inputHash [sha256.Size]byte
}

func newExternalCalls() externalCalls {
	return externalCalls{unfinished: map[*externalCall]bool{}, changed: make(chan struct{})}
}

// nextID returns the id of a new call.
func (c *externalCalls) nextID() string {
	c.count++
	return fmt.Sprintf("toolu_hands_%d", c.count)
}

// registerCall accepts a call, or returns an error if the connection to the server has ended.
func (a *ExternalAgent) registerCall(c *externalCall, name string, input json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closedErr != nil {
		return a.closedErr
	}
	if isOffered := slices.ContainsFunc(a.Tools(), func(t model.Tool) bool { return t.Name == name }); isOffered && a.query != nil {
		a.calls.unclaimed = append(a.calls.unclaimed, callKey{name, hashInput(input)})
	}
	c.block = model.ToolUse(a.calls.nextID(), name, toObjectInput(input))
	c.query = a.query
	a.calls.unfinished[c] = true
	return nil
}

// hashInput returns a hash of the input of a call, which does not depend on white space or the order of
// members.
func hashInput(input json.RawMessage) [sha256.Size]byte {
	var value any
	if json.Unmarshal(input, &value) == nil {
		input, _ = json.Marshal(value) //nolint:errchkjson // it came from JSON
	}
	return sha256.Sum256(input)
}

// toObjectInput returns the input of a call as a JSON object that a conversation can hold.
// Input that is not an object is wrapped into one, which no tool accepts; the tool's error then
// quotes it.
func toObjectInput(input json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(input)
	switch {
	case len(trimmed) == 0, bytes.Equal(trimmed, []byte("null")):
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid(trimmed) && !protocol.IsDeeperThan(trimmed, builtin.MaxInputDepth):
		return builtin.SanitizeInput(trimmed)
	default:
		wrapped, _ := json.Marshal(map[string]string{"input": string(input)}) //nolint:errchkjson // a string
		return wrapped
	}
}

// withdrawCall removes a call that has not started. It reports false if the call has started.
func (a *ExternalAgent) withdrawCall(c *externalCall) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.started {
		return false
	}
	a.removeCallLocked(c)
	return true
}

// removeCallLocked forgets a call and wakes those who wait for the end of calls.
func (a *ExternalAgent) removeCallLocked(c *externalCall) {
	delete(a.calls.unfinished, c)
	close(a.calls.changed)
	a.calls.changed = make(chan struct{})
}

// startCall marks a call as started. It reports false if the call has been withdrawn.
func (a *ExternalAgent) startCall(c *externalCall) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.started = a.calls.unfinished[c]
	c.active = c.started && a.agent.IsInitialised() && !isSubmission(c.block.Name)
	if c.active {
		if a.calls.active++; a.calls.active == 1 {
			a.agent.SendStatus(protocol.AgentExecuting)
		}
	}
	return c.started
}

// runCall runs a call as a job of the agent's queue, so that no init is applied meanwhile.
func (a *ExternalAgent) runCall(ctx context.Context, c *externalCall) {
	if !a.startCall(c) {
		return
	}
	switch {
	case !a.agent.IsInitialised():
		a.finishCall(c, model.ToolResult(c.block.ID, true, textResult("%s was not run: the session has not begun.", c.block.Name)...), false)
	case isSubmission(c.block.Name):
		a.runSubmission(ctx, c)
	default:
		a.finishCall(c, a.runTool(ctx, c.block), true)
	}
}

// runTool runs a tool and returns its result. A call that runs a cell first waits until no
// other call runs that cell; if ctx ends meanwhile, the result is an error.
func (a *ExternalAgent) runTool(ctx context.Context, use model.Block) model.Block {
	var input cellToolInput
	runsCell := use.Name == "run_cell" || use.Name == "edit_cell"
	if runsCell && json.Unmarshal(use.Input, &input) == nil && input.CellID != "" {
		unlock, err := a.cellLocks.lock(ctx, input.CellID)
		if err != nil {
			return model.ToolResult(use.ID, true, textResult("%v", err)...)
		}
		defer unlock()
	}
	result, _ := a.executor.runForResult(ctx, use)
	return result
}

// finishCall ends a call with its result. If send is true it sends the call to the server.
func (a *ExternalAgent) finishCall(c *externalCall, result model.Block, send bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if send {
		a.sendCallLocked(c, result)
	}
	if c.active {
		if a.calls.active--; a.calls.active == 0 {
			a.sendIdleStatusLocked()
		}
	}
	a.removeCallLocked(c)
	c.result <- result
}

// sendIdleStatusLocked sends the status of an agent without active calls: ready between
// queries, thinking during one, and none after its submission.
func (a *ExternalAgent) sendIdleStatusLocked() {
	switch {
	case a.query == nil:
		a.agent.SendStatus(protocol.AgentReady)
	case a.query.submission == nil:
		a.agent.SendStatus(protocol.AgentThinking)
	}
}

// sendCallLocked sends a call and its result, with no other message between them. What the program's
// model has written before the call is in the same message.
func (a *ExternalAgent) sendCallLocked(c *externalCall, result model.Block) {
	var content []model.Block
	if c.query == a.query {
		content = a.reply.take()
	}
	a.sendMessage(builtin.AssistantMessage(append(content, c.block)...), c.query)
	a.sendMessage(builtin.UserMessage(result), c.query)
}

// runSubmission runs a submission once no other call is active: a console that sees it may take
// the work for finished. An invalid submission, and one for a query that is no longer open,
// is only reported as an error.
func (a *ExternalAgent) runSubmission(ctx context.Context, c *externalCall) {
	for {
		a.mu.Lock()
		if a.calls.active == 0 {
			break
		}
		changed := a.calls.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			a.rejectSubmission(c, model.ToolResult(c.block.ID, true, textResult("Nothing was submitted: %v.", context.Cause(ctx))...))
			return
		}
	}
	result := a.submissionResultLocked(ctx, c)
	accepted := !result.IsError
	if accepted {
		a.sendCallLocked(c, result)
	}
	a.mu.Unlock()
	if !accepted {
		a.rejectSubmission(c, result)
		return
	}
	a.finishCall(c, result, false)
}

// submissionResultLocked runs submit_response if the call's query is still open.
func (a *ExternalAgent) submissionResultLocked(ctx context.Context, c *externalCall) model.Block {
	if a.query != nil && a.query != c.query {
		return model.ToolResult(c.block.ID, true, textResult("Nothing was submitted: something else is asked for now.")...)
	}
	result, _ := a.executor.runForResult(ctx, c.block)
	return result
}

// rejectSubmission ends a submission with an error and reports that to the server.
func (a *ExternalAgent) rejectSubmission(c *externalCall, result model.Block) {
	a.ReportError(c.block.Name + " was refused: " + model.JoinTextBlocks(result.Content))
	a.finishCall(c, result, false)
}

// cellLocks lets one call at a time run a cell: the ends of two runs of the same cell could
// not be told apart.
type cellLocks struct {
	mu     sync.Mutex
	locked map[string]chan struct{} // by cell id; closed when the cell is unlocked
}

// lock waits until no other call runs the cell. It returns an error if ctx ends first.
func (l *cellLocks) lock(ctx context.Context, cellID string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		unlocked, busy := l.locked[cellID]
		if !busy {
			mine := make(chan struct{})
			l.locked[cellID] = mine
			l.mu.Unlock()
			return func() { l.unlock(cellID, mine) }, nil
		}
		l.mu.Unlock()
		select {
		case <-unlocked:
		case <-ctx.Done():
			return nil, fmt.Errorf("another call runs cell %s, and the wait for it was given up: %w", cellID, context.Cause(ctx))
		}
	}
}

// unlock lets the next call run the cell.
func (l *cellLocks) unlock(cellID string, mine chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.locked, cellID)
	close(mine)
}
