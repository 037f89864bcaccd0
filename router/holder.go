package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// fromDocument routes what the server's own document sends: its answers, and
// what they make the kernel do.
func (r *Router) fromDocument(p *Peer, it item) {
	if it.env.Type == protocol.TypeActionResponse {
		r.fromDocumentAnswer(p, it)
		return
	}
	it = p.enter(it, "")
	if it.env.Type == protocol.TypeSetWidgetValue && it.env.AgentTxID != "" {
		r.setWidget(it)
		return
	}
	r.toKernelFrom(p, it)
}

// setWidget asks the kernel to set a widget, for an action that its answer then
// answers.
func (r *Router) setWidget(it item) {
	ask := &pending{id: protocol.NewServerTxID(), action: "set_widget", whom: byKernel, within: r.cfg.DocumentTimeout}
	ask.reply = func(a answer) {
		action, _ := r.table.take(it.env.AgentTxID)
		switch {
		case action == nil:
			return // it was given up
		case a.failed != "":
			action.reply(a)
			return
		}
		if err := a.widgetError(); err != nil {
			action.reply(answer{failed: "set_widget: " + err.Error()})
			return
		}
		set := message(widgetSet{
			ActionResponse: protocol.ActionResponse{Type: protocol.TypeActionResponse, TxID: it.env.AgentTxID, Status: protocol.StatusSuccess},
			Key:            widgetKey(it.body),
		})
		set.cause = a.it.ref
		action.reply(answer{it: set})
	}
	r.table.passOn(it.env.AgentTxID)
	body, err := protocol.ReplaceFields(it.body, protocol.Field{Name: "agent_tx_id", Value: ask.id})
	if err != nil {
		ask.reply(answer{failed: err.Error()})
		return
	}
	request := frame(body)
	request.cause = it.ref
	if r.table.add(ask, r.kernelTimedOut) {
		r.askKernel(ask, request)
	}
}

// widgetSet is the answer to a set_widget.
type widgetSet struct {
	protocol.ActionResponse
	Key string `json:"key"`
}

// widgetError is why the kernel has not set a widget; nil: it has.
func (a answer) widgetError() error {
	var said struct {
		Status string            `json:"status"`
		Errors map[string]string `json:"errors"`
	}
	if err := json.Unmarshal(a.it.body, &said); err != nil {
		return fmt.Errorf("the kernel's answer: %w", err)
	}
	for key, text := range said.Errors { // one was set
		return fmt.Errorf("%s: %s", key, text)
	}
	if said.Status == protocol.StatusError {
		return errors.New("the kernel has not set it, and does not say why")
	}
	return nil
}

// widgetKey is the key in a set_widget_value of one widget.
func widgetKey(body []byte) string {
	var set struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	_ = json.Unmarshal(body, &set) // the document's own message is good
	for key := range set.Data {
		return key
	}
	return ""
}

// fromHolder routes what a console at /agent sends that holds the document.
func (r *Router) fromHolder(p *Peer, it item) {
	if it.env.Type == protocol.TypeActionResponse {
		r.fromDocumentAnswer(p, it)
		return
	}
	r.fromAgentConsole(p, it)
}

// fromAgentConsole routes what any console at /agent may send.
func (r *Router) fromAgentConsole(p *Peer, it item) {
	switch it.env.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		if it, may := r.enterOwned(p, it); may {
			r.toAgentFrom(p, it)
		}
	case protocol.TypeKernelMessage:
		p.enter(it, trace.NoteDropped) // the router relays these itself
	default:
		p.enter(it, trace.NoteDropped)
		p.sendAgentError(fmt.Sprintf("unknown message type %q", it.env.Type))
	}
}

// toAgentFrom passes on what a person says to the agent. The frame has been
// entered.
func (r *Router) toAgentFrom(p *Peer, it item) {
	r.mu.Lock()
	agent, refusal := r.agent, r.refusal
	r.mu.Unlock()
	switch {
	case agent == nil:
		p.sendAgentError("there is no agent")
	case refusal != "":
		p.sendAgentError(refusal)
	default:
		agent.send(it)
	}
}

func (p *Peer) sendAgentError(text string) {
	p.send(message(protocol.AgentError{Type: protocol.TypeAgentError, Error: text}))
}

func (r *Router) fromDocumentAnswer(p *Peer, it item) {
	ask, was := r.table.take(it.env.TxID)
	it = p.enter(it, was.note)
	if ask == nil {
		r.log.Warn("an answer to nothing that waits", "peer", p.name, "tx_id", it.env.TxID, "note", string(was.note))
		return
	}
	if ask.whom == byConsole && ask.action == "get_context" {
		if err := checkContext(it.body); err != nil {
			ask.reply(answer{failed: "get_context: the console's answer: " + err.Error()})
			return
		}
	}
	ask.reply(answer{it: it})
}

// checkContext refuses a console's notebook in which a cell has no id.
func checkContext(body []byte) error {
	var answer struct {
		Context struct {
			Cells []struct {
				CellID string `json:"cell_id"`
			} `json:"cells"`
		} `json:"context"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	for i, cell := range answer.Context.Cells {
		if cell.CellID == "" {
			return fmt.Errorf("cell %d has no cell_id", i)
		}
	}
	return nil
}

// documentOverflow answers what the server's own document has no room for. The
// caller holds mu.
func (r *Router) documentOverflow(it item) {
	r.failLocked(it.env.TxID, "the notebook has too many requests waiting")
}

// failLocked ends a request to the document. The caller holds mu.
func (r *Router) failLocked(tx, text string) {
	ask, _ := r.table.take(tx)
	switch {
	case ask == nil:
	case ask.agent != "":
		r.answerAgentLocked(ask.agent, answer{failed: text})
	default:
		ask.reply(answer{failed: text}) // of Ask: it only hands over
	}
}

// holderOverflow closes a console that holds the document and does not read;
// the action waits for its return. The caller of send holds mu.
func (r *Router) holderOverflow(p *Peer) func(item) {
	return func(it item) {
		r.holderMissed(it)
		p.tooSlow(it)
	}
}

// holderMissed keeps an action for the return of a holder that is on its way
// out. The caller of send holds mu.
func (r *Router) holderMissed(it item) {
	if it.env.Type == protocol.TypeAgentAction {
		r.keepLocked(it)
	}
}

// holderEnded keeps the actions that were not yet written for a holder's
// return; one that was written may still be answered then.
func (r *Router) holderEnded(p *Peer, unsent []item) {
	unsent = slices.DeleteFunc(unsent, func(it item) bool { return it.env.Type != protocol.TypeAgentAction })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder == p {
		r.holder = nil
		r.backlog = append(unsent, r.backlog...)
		return
	}
	for _, it := range unsent { // it was replaced: its successor is there
		if r.holder != nil && (it.env.TxID == "" || r.table.has(it.env.TxID)) {
			r.holder.send(it)
		}
	}
}
