package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// Ask asks on the server's own behalf for an action, as the agent does, and returns
// the whole answer: an agent_action_response or, for actions that the kernel
// answers, the kernel's own reply. It returns an error if the answer reports one, if
// the deadline passes, and, with its cause, if ctx ends; an execute_code is then
// interrupted.
func (r *Router) Ask(ctx context.Context, action string, params map[string]any) (json.RawMessage, error) {
	got := make(chan answer, 1)
	id := protocol.NewServerTxID()
	r.ask(id, action, params, 0, func(a answer) { got <- a })
	select {
	case a := <-got:
		return a.result(action)
	case <-ctx.Done():
		if request, _ := r.inFlight.takeByID(id); request == nil {
			return (<-got).result(action) // it was answered at the same moment
		}
		if action == protocol.TypeExecuteCode {
			_ = r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}) // without a kernel nothing runs
		}
		return nil, fmt.Errorf("%s: %w", action, context.Cause(ctx))
	}
}

// serverAction is an action that the router requests under one of its own ids.
type serverAction struct {
	protocol.AgentAction
	By string `json:"by,omitempty"` // "console": a person at a console wants it; empty: the server does
}

// ask asks for an action under an id of the router. causeSeq is the number of the
// trace entry by which a console has asked for it; 0: the server asks. reply is
// called once, perhaps before ask returns, and perhaps with mu held: it must not
// take mu.
func (r *Router) ask(id, action string, params map[string]any, causeSeq int64, reply func(answer)) {
	if params == nil {
		params = map[string]any{}
	}
	raw, err := protocol.Marshal(params)
	if err != nil {
		reply(answer{failure: err.Error()})
		return
	}
	message := serverAction{AgentAction: protocol.AgentAction{Type: protocol.TypeAgentAction, Action: action, Params: raw, TxID: id}}
	if causeSeq != 0 {
		message.By = "console"
	}
	f := newFrame(message)
	f.causeSeq = causeSeq
	if routeOf(action) != routeKernel {
		r.askHolder(id, f, reply)
		return
	}
	request := &pendingRequest{id: id, action: action, answerer: answeredByKernel, timeout: r.cfg.DocumentTimeout, reply: reply}
	toKernel, err := r.newKernelFrame(request, f.body)
	if err != nil {
		reply(answer{failure: err.Error()})
		return
	}
	toKernel.causeSeq = causeSeq
	if !r.inFlight.add(request, r.answerKernelTimedOut) {
		reply(answer{failure: ErrClosed.Error()})
		return
	}
	r.sendToKernelOrFail(request, toKernel)
}

// askHolder sends the holder of the document a request, or keeps it in the backlog
// until there is one.
func (r *Router) askHolder(id string, f frame, reply func(answer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := r.newHolderRequestLocked(id, f.envelope.Action)
	request.reply = reply
	switch {
	case !r.inFlight.add(request, r.answerTimedOut):
		reply(answer{failure: ErrClosed.Error()})
	case r.holder == nil:
		r.addToBacklogLocked(f)
	default:
		r.holder.send(f)
	}
}

// result returns the answer's frame, or an error if the answer is a failure or
// reports one.
func (a answer) result(action string) (json.RawMessage, error) {
	if a.failure != "" {
		return nil, fmt.Errorf("%s: %s", action, a.failure)
	}
	if a.frame.envelope.Status == protocol.StatusError && a.frame.envelope.Type == protocol.TypeActionResponse {
		var failed protocol.ActionResponse
		if err := json.Unmarshal(a.frame.body, &failed); err != nil {
			return nil, fmt.Errorf("%s: %w", action, err)
		}
		return nil, errors.New(action + ": " + failed.Error)
	}
	return a.frame.body, nil
}
