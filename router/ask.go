package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/protocol"
)

// Ask performs an action on the server's own behalf, as if the agent had requested it, waits
// for the answer and returns its JSON: an agent_action_response, or the kernel's own reply for
// actions that the kernel answers. It fails if the answer reports an error, if the request's
// deadline passes, and with the cause of ctx if ctx ends; an execute_code is then interrupted. If ctx
// has ended already, nothing is sent.
func (r *Router) Ask(ctx context.Context, action string, params map[string]any) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", action, context.Cause(ctx))
	}
	got := make(chan answer, 1)
	id := protocol.NewServerTxID()
	r.startServerAction(id, action, params, 0, func(a answer) { got <- a })
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

// serverAction is the JSON of an action that the server requests, for itself or for a person at
// a console.
type serverAction struct {
	protocol.AgentAction
	By string `json:"by,omitempty"` // "console": a person at a console wants it; empty: the server does
}

// startServerAction sends an action under the given id of the server to the peer that answers
// it. causeSeq is the number of the trace entry in which a console asked for the action; 0
// means that the server itself wants it. reply is called once with the answer or failure,
// perhaps before startServerAction returns and perhaps while mu is held, so it must not lock
// mu.
func (r *Router) startServerAction(id, action string, params map[string]any, causeSeq int64, reply func(answer)) {
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
	if routeOfAction(action) != routeKernel {
		r.askHolder(id, f, reply)
		return
	}
	request := &pendingRequest{id: id, action: action, answerer: answeredByKernel, timeout: r.cfg.RequestTimeout, reply: reply}
	toKernel, err := r.newKernelActionFrame(request, f.body)
	if err != nil {
		reply(answer{failure: err.Error()})
		return
	}
	toKernel.causeSeq = causeSeq
	if !r.inFlight.add(request, r.replyWithKernelTimeoutError) {
		reply(answer{failure: ErrClosed.Error()})
		return
	}
	r.sendToKernelOrFail(request, toKernel)
}

// askHolder sends the holder of the document a request that the server itself made, or keeps it
// in the backlog until there is a holder. reply is called once with the answer or failure.
func (r *Router) askHolder(id string, f frame, reply func(answer)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := r.newHolderRequestLocked(id, f.envelope.Action)
	request.reply = reply
	switch {
	case !r.inFlight.add(request, r.replyWithTimeoutError):
		reply(answer{failure: ErrClosed.Error()})
	case r.holder == nil:
		r.addToBacklogLocked(f)
	default:
		r.holder.send(f)
	}
}

// withCellID returns an answer to run_cell with the cell_id of the action, if it has none itself and
// is no error: consoles of the original protocol leave it out.
func (a answer) withCellID(id string) answer {
	if a.failure != "" || a.frame.envelope.Status == protocol.StatusError || a.frame.envelope.CellID != "" {
		return a
	}
	body, err := protocol.ReplaceFields(a.frame.body, protocol.Field{Name: "cell_id", Value: id})
	if err != nil {
		return a // cannot happen: the frame was decoded before
	}
	f := newFrameFromBody(body)
	f.causeSeq = a.frame.bodySeq
	a.frame = f
	return a
}

// result returns the JSON of an answer to the given action. It fails if the request failed (for
// example by its deadline), or if the answer is an agent_action_response with the status
// "error".
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
