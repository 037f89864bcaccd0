package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"assay/internal/model"
	"assay/internal/protocol"
)

// call is one call of a tool.
type call struct {
	block  model.Block // the tool_use
	query  *openQuery  // that was open when it was entered; nil: none
	begun  bool
	works  bool // it counts as under way, as a submission does not
	cancel context.CancelCauseFunc
	result chan model.Block // has room for it
}

// enter takes a call in, unless the server is gone.
func (h *ExternalAgent) enter(c *call, name string, input json.RawMessage) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return h.over
	}
	h.made++
	c.block = model.ToolUse(fmt.Sprintf("toolu_hands_%d", h.made), name, asObject(input))
	c.query = h.query
	h.calls[c] = true
	return nil
}

// asObject is the input of a call as a conversation can have it.
func asObject(input json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(input)
	switch {
	case len(trimmed) == 0, bytes.Equal(trimmed, []byte("null")):
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid(trimmed) && !protocol.IsDeeperThan(trimmed, maxNesting):
		return soundInput(trimmed)
	default: // no tool takes it, and its error says so
		wrapped, _ := json.Marshal(map[string]string{"input": string(input)}) //nolint:errchkjson // a string
		return wrapped
	}
}

// withdraw takes back a call that was not begun, and tells whether it could.
func (h *ExternalAgent) withdraw(c *call) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.begun {
		return false
	}
	h.leaveLocked(c)
	return true
}

func (h *ExternalAgent) leaveLocked(c *call) {
	delete(h.calls, c)
	close(h.changed)
	h.changed = make(chan struct{})
}

// begin marks a call as begun, unless it was withdrawn.
func (h *ExternalAgent) begin(c *call) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.begun = h.calls[c]
	c.works = c.begun && h.agent.initialised && !isSubmit(c.block.Name)
	if c.works {
		if h.working++; h.working == 1 {
			h.agent.wire.status(protocol.AgentExecuting)
		}
	}
	return c.begun
}

// carryOut runs a call. It is a job of the inbox: what an init changes stays as
// it is meanwhile.
func (h *ExternalAgent) carryOut(ctx context.Context, c *call) {
	if !h.begin(c) {
		return
	}
	switch {
	case !h.agent.initialised:
		h.finish(c, model.ToolResult(c.block.ID, true, says("%s was not run: the session has not begun.", c.block.Name)...), false)
	case isSubmit(c.block.Name):
		h.handIn(ctx, c)
	default:
		h.finish(c, h.run(ctx, c.block), true)
	}
}

// run runs a tool. A cell is run by one call at a time.
func (h *ExternalAgent) run(ctx context.Context, use model.Block) model.Block {
	var input cellInput
	runs := use.Name == "run_cell" || use.Name == "edit_cell"
	if runs && json.Unmarshal(use.Input, &input) == nil && input.CellID != "" {
		leave, err := h.cells.take(ctx, input.CellID)
		if err != nil {
			return model.ToolResult(use.ID, true, says("%v", err)...)
		}
		defer leave()
	}
	result, _ := h.executor.result(ctx, use)
	return result
}

// finish ends a call, and tells the server of it if that is wanted.
func (h *ExternalAgent) finish(c *call, result model.Block, told bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if told {
		h.tellLocked(c, result)
	}
	if c.works {
		if h.working--; h.working == 0 {
			h.restLocked()
		}
	}
	h.leaveLocked(c)
	c.result <- result
}

// restLocked says that no call is under way.
func (h *ExternalAgent) restLocked() {
	switch {
	case h.query == nil:
		h.agent.wire.status(protocol.AgentReady)
	case h.query.submission == nil:
		h.agent.wire.status(protocol.AgentThinking)
	}
}

// tellLocked commits a call and its result, together.
func (h *ExternalAgent) tellLocked(c *call, result model.Block) {
	h.say(assistantMessage(c.block), c.query)
	h.say(userMessage(result), c.query)
}

// handIn runs a submission when no other call is under way: whoever sees it may
// take the work for finished. One that is refused is no submission, and only
// complained of; so is one that was made for another query than the open one.
func (h *ExternalAgent) handIn(ctx context.Context, c *call) {
	for {
		h.mu.Lock()
		if h.working == 0 {
			break
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			h.refuse(c, model.ToolResult(c.block.ID, true, says("Nothing was submitted: %v.", context.Cause(ctx))...))
			return
		}
	}
	result := h.submittedLocked(ctx, c)
	accepted := !result.IsError
	if accepted {
		h.tellLocked(c, result)
	}
	h.mu.Unlock()
	if !accepted {
		h.refuse(c, result)
		return
	}
	h.finish(c, result, false)
}

// submittedLocked is what comes of a submission.
func (h *ExternalAgent) submittedLocked(ctx context.Context, c *call) model.Block {
	if h.query != nil && h.query != c.query {
		return model.ToolResult(c.block.ID, true, says("Nothing was submitted: something else is asked for now.")...)
	}
	result, _ := h.executor.result(ctx, c.block)
	return result
}

func (h *ExternalAgent) refuse(c *call, result model.Block) {
	h.Complain(c.block.Name + " was refused: " + model.PlainText(result.Content))
	h.finish(c, result, false)
}
