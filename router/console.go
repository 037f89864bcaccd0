package router

import (
	"encoding/json"
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
	r.toKernelFrom(p, it)
}

// fromHolder routes what a console at /agent sends that holds the document.
func (r *Router) fromHolder(p *Peer, it item) {
	switch it.env.Type {
	case protocol.TypeActionResponse:
		r.fromDocumentAnswer(p, it)
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		it = p.enter(it, "")
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.agent == nil {
			p.send(message(protocol.AgentError{Type: protocol.TypeAgentError, Error: "there is no agent"}))
			return
		}
		r.agent.send(it)
	case protocol.TypeKernelMessage:
		p.enter(it, trace.Dropped) // the router relays these itself
	default:
		p.enter(it, trace.Dropped)
		p.send(message(protocol.AgentError{Type: protocol.TypeAgentError, Error: fmt.Sprintf("unknown message type %q", it.env.Type)}))
	}
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

// fromConsole routes what a console at /run sends.
func (r *Router) fromConsole(p *Peer, it item) {
	switch it.env.Type {
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState,
		protocol.TypeExecuteCode, protocol.TypeSetWidgetValue:
		r.askKernelForConsole(p, p.enter(it, ""))
	default:
		r.toKernelFrom(p, it)
	}
}

// toKernelFrom passes on what makes the kernel do something.
func (r *Router) toKernelFrom(p *Peer, it item) {
	switch it.env.Type {
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue:
	default:
		p.enter(it, trace.Dropped)
		p.sendError(fmt.Sprintf("unknown message type %q", it.env.Type))
		return
	}
	it = p.enter(it, "")
	if it.env.Type == protocol.TypeRunCell {
		if err := needsCode(it.body); err != nil {
			p.sendError(err.Error())
			return
		}
	}
	r.mu.Lock()
	kernel := r.kernel
	r.mu.Unlock()
	if kernel == nil {
		p.sendError("there is no kernel to " + it.env.Type)
		return
	}
	if size := int64(len(it.body)); size > r.cfg.FrameLimit {
		kernel.drop(it)
		p.sendError(fmt.Sprintf("%s: a message of %d bytes, more than the %d that it may have", it.env.Type, size, r.cfg.FrameLimit))
		return
	}
	switch it.env.Type { // first: the kernel may be quicker than we are
	case protocol.TypeRunCell:
		r.runs.Sent(it.env.CellID)
	case protocol.TypeDisposeCell:
		r.runs.Disposed(it.env.CellID)
	}
	if !kernel.send(it) {
		p.sendError("the kernel does not read: too much is waiting for it")
	}
}

// needsCode refuses a run without code, of which the kernel would only say that
// it is malformed.
func needsCode(body []byte) error {
	var message struct {
		Type string  `json:"type"`
		Code *string `json:"code"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return err
	}
	if message.Code == nil {
		return fmt.Errorf("%s: code is missing", message.Type)
	}
	return nil
}

func (p *Peer) sendError(text string) {
	p.send(message(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: text}}))
}

// askKernelForConsole asks the kernel and gives the answer to p alone, with the
// id that p has asked with.
func (r *Router) askKernelForConsole(p *Peer, it item) {
	ask := &pending{id: protocol.NewServerTxID(), action: it.env.Type, whom: byKernel, within: r.cfg.Document}
	if it.env.Type == protocol.TypeExecuteCode {
		ask.within = r.cfg.Cell
		if err := needsCode(it.body); err != nil {
			p.sendError(err.Error())
			return
		}
	}
	ask.reply = func(a answer) {
		if a.failed != "" {
			p.sendError(a.failed)
			return
		}
		var id any
		if it.env.AgentTxID != "" {
			id = it.env.AgentTxID
		}
		p.sendRewritten(a.it, protocol.Field{Name: "agent_tx_id", Value: id})
	}
	body, err := protocol.Rewrite(it.body, protocol.Field{Name: "agent_tx_id", Value: ask.id})
	if err != nil {
		p.sendError(err.Error())
		return
	}
	request := frame(body)
	request.cause = it.ref
	if r.table.add(ask, r.kernelTimedOut) {
		r.askKernel(ask, request)
	}
}

func (p *Peer) sendRewritten(it item, field protocol.Field) {
	body, err := protocol.Rewrite(it.body, field)
	if err != nil {
		p.sendError(err.Error())
		return
	}
	answer := frame(body)
	answer.cause = it.ref
	p.send(answer)
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

func (r *Router) consoleEnded(p *Peer, _ []item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.consoles = slices.DeleteFunc(r.consoles, func(c *Peer) bool { return c == p })
}

// Tell sends every console at /run a message of the server's own.
func (r *Router) Tell(msg any) { r.toConsoles(message(msg)) }
