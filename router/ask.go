package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// Ask asks on the server's own behalf, as the agent asks for an action, and
// returns the whole answer: an agent_action_response, or for the kernel's
// actions the kernel's own reply. An answer that reports an error is an error. An
// execute_code is interrupted when ctx ends.
func (r *Router) Ask(ctx context.Context, action string, params map[string]any) (json.RawMessage, error) {
	got := make(chan answer, 1)
	id := protocol.NewServerTxID()
	r.ask(id, action, params, 0, func(a answer) { got <- a })
	select {
	case a := <-got:
		return a.result(action)
	case <-ctx.Done():
		if ask, _ := r.table.take(id); ask == nil {
			return (<-got).result(action) // it came just now
		}
		if action == protocol.TypeExecuteCode {
			_ = r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}) // without a kernel nothing runs
		}
		return nil, fmt.Errorf("%s: %w", action, context.Cause(ctx))
	}
}

// ownAction is an action that is asked under an id of the router's own.
type ownAction struct {
	protocol.AgentAction
	By string `json:"by,omitempty"` // "console": a person at one wants it; else the server does
}

// ask asks under an id of the router's own. cause is the entry of the trace by
// which a console has asked for it; 0: the server asks by itself.
func (r *Router) ask(id, action string, params map[string]any, cause int64, reply func(answer)) {
	if params == nil {
		params = map[string]any{}
	}
	raw, err := protocol.Marshal(params)
	if err != nil {
		reply(answer{failed: err.Error()})
		return
	}
	own := ownAction{AgentAction: protocol.AgentAction{Type: protocol.TypeAgentAction, Action: action, Params: raw, TxID: id}}
	if cause != 0 {
		own.By = "console"
	}
	request := message(own)
	request.cause = cause
	if kernel, _, _ := place(action); !kernel {
		r.askDocument(id, request, reply)
		return
	}
	ask := &pending{id: id, action: action, whom: byKernel, within: r.cfg.DocumentTimeout, reply: reply}
	toKernel, err := r.kernelRequest(ask, request.body)
	if err != nil {
		reply(answer{failed: err.Error()})
		return
	}
	toKernel.cause = cause
	if !r.table.add(ask, r.kernelTimedOut) {
		reply(answer{failed: ErrClosed.Error()})
		return
	}
	r.askKernel(ask, toKernel)
}

func (r *Router) askDocument(id string, request item, reply func(answer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ask := r.documentPending(id, request.env.Action)
	ask.reply = reply
	switch {
	case !r.table.add(ask, r.timedOut):
		reply(answer{failed: ErrClosed.Error()})
	case r.holder == nil:
		r.keepLocked(request)
	default:
		r.holder.send(request)
	}
}

// result is the answer's frame, or its failure as an error.
func (a answer) result(action string) (json.RawMessage, error) {
	if a.failed != "" {
		return nil, fmt.Errorf("%s: %s", action, a.failed)
	}
	if a.it.env.Status == protocol.StatusError && a.it.env.Type == protocol.TypeActionResponse {
		var failed protocol.ActionResponse
		if err := json.Unmarshal(a.it.body, &failed); err != nil {
			return nil, fmt.Errorf("%s: %w", action, err)
		}
		return nil, errors.New(action + ": " + failed.Error)
	}
	return a.it.body, nil
}
