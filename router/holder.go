package router

import (
	"encoding/json"
	"fmt"
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// AttachHolder makes a console's /agent connection the holder of the document, and
// owns conn from then on. Actions that wait for a holder are sent to it, unless
// they have missed their deadline. It replaces a holder that is attached, which is
// closed. id is the console's number, which no other console has; session is what
// the console calls itself, for the trace; runID is the number of the console's
// connection at /run, 0 if it has named none. It returns ErrClosed if the router is
// closed.
func (r *Router) AttachHolder(conn protocol.Conn, id int, session string, runID int) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{
		role: holderRole{defaultRole{r}}, name: "console", consoleID: id, pairedConsole: runID,
		hopIn: trace.ConsoleToServer, hopOut: trace.ServerToConsole,
	})
	return r.attach(p, func() {
		r.recordSessionEvent(TypeHolder, id, map[string]any{"type": TypeHolder, "by": "console", "conn": id, "session_id": session})
		r.setHolderLocked(p)
	})
}

// setHolderLocked makes p the holder, ends the one before it and sends p the
// backlog. The caller holds mu.
func (r *Router) setHolderLocked(p *Peer) {
	if previous := r.holder; previous != nil {
		previous.end(protocol.CloseReplaced, replacedReason, nil)
	}
	r.holder = p
	backlog := r.backlog
	r.backlog = nil
	for _, f := range backlog {
		if f.envelope.TxID == "" || r.inFlight.isOpen(f.envelope.TxID) {
			p.send(f)
		}
	}
}

// holderRole is the [role] of a console at /agent that holds the document.
type holderRole struct{ defaultRole }

// route routes the console's answers to actions, and what any console at /agent may
// send.
func (h holderRole) route(p *Peer, f frame) {
	if f.envelope.Type == protocol.TypeActionResponse {
		h.router.routeDocumentAnswer(p, f)
		return
	}
	h.router.routeFromAgentConsole(p, f)
}

// reportMalformed sends the console an agent_error.
func (holderRole) reportMalformed(p *Peer, problem string) { p.sendAgentError(problem) }

// onQueueFull closes the connection of a console that does not read. An action, for
// which the sender holds mu, waits for its return.
func (h holderRole) onQueueFull(p *Peer, f frame) {
	h.keepAction(f)
	p.closeAsTooSlow(f)
}

// onSentWhileEnding keeps an action, for which the sender holds mu, for the console's return,
// and notes any other frame as dropped.
func (h holderRole) onSentWhileEnding(p *Peer, f frame) {
	if !h.keepAction(f) {
		p.recordDropped(f)
	}
}

// keepAction puts f into the backlog and returns true if it is an action. The caller
// then holds mu.
func (h holderRole) keepAction(f frame) bool {
	if f.envelope.Type != protocol.TypeAgentAction {
		return false
	}
	h.router.addToBacklogLocked(f)
	return true
}

// onEnded keeps the actions that were not yet written for the console's return.
func (h holderRole) onEnded(p *Peer, unsent []frame) { h.router.keepUnsentActions(p, unsent) }

// keepUnsentActions puts the actions that were not yet written to a holder into the
// backlog, or sends them to the holder that has replaced it. An action that was
// written may still be answered after the console's return.
func (r *Router) keepUnsentActions(p *Peer, unsent []frame) {
	unsent = slices.DeleteFunc(unsent, func(f frame) bool { return f.envelope.Type != protocol.TypeAgentAction })
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder == p {
		r.holder = nil
		r.backlog = append(unsent, r.backlog...)
		return
	}
	for _, f := range unsent {
		if r.holder != nil && (f.envelope.TxID == "" || r.inFlight.isOpen(f.envelope.TxID)) {
			r.holder.send(f)
		}
	}
}

// addToBacklogLocked keeps a request to the document until there is a holder. The
// backlog has the limits of a queue; requests that have missed their deadline make
// room. Without room the request is answered with an error. The caller holds mu.
func (r *Router) addToBacklogLocked(f frame) {
	r.backlog = slices.DeleteFunc(r.backlog, func(old frame) bool {
		return old.envelope.TxID != "" && !r.inFlight.isOpen(old.envelope.TxID)
	})
	bytes := len(f.body)
	for _, old := range r.backlog {
		bytes += len(old.body)
	}
	if len(r.backlog) > 0 && (bytes > MaxQueueBytes || len(r.backlog) >= MaxQueueFrames) {
		r.failHolderRequestLocked(f.envelope.TxID, "too many requests wait for a console")
		return
	}
	r.backlog = append(r.backlog, f)
}

// newHolderRequestLocked returns a request to the holder of the document, or to the
// console that is waited for. The caller holds mu.
func (r *Router) newHolderRequestLocked(id, action string) *pendingRequest {
	if r.serverHolds {
		return &pendingRequest{id: id, action: action, answerer: answeredByNotebook, timeout: r.cfg.DocumentTimeout}
	}
	return &pendingRequest{id: id, action: action, answerer: answeredByConsole, timeout: r.cfg.HolderTimeout}
}

// failHolderRequestLocked ends a request to the holder with an error. The caller
// holds mu.
func (r *Router) failHolderRequestLocked(id, failure string) {
	request, _ := r.inFlight.takeByID(id)
	switch {
	case request == nil:
	case request.agentTxID != "":
		r.answerAgentLocked(request.agentTxID, answer{failure: failure})
	default:
		request.reply(answer{failure: failure}) // of ask: it takes no lock
	}
}

// routeDocumentAnswer gives an answer of the holder to the request that it is for.
// If that has ended, the answer is logged, noted as duplicate, late or orphaned,
// and dropped.
func (r *Router) routeDocumentAnswer(p *Peer, f frame) {
	request, ended := r.inFlight.takeByID(f.envelope.TxID)
	f = p.recordIn(f, ended.answerNote)
	if request == nil {
		r.log.Warn("an answer that nothing waits for", "peer", p.name, "tx_id", f.envelope.TxID, "note", string(ended.answerNote))
		return
	}
	if request.answerer == answeredByConsole && request.action == "get_context" {
		if err := validateContext(f.body); err != nil {
			request.reply(answer{failure: "get_context: the console's answer: " + err.Error()})
			return
		}
	}
	request.reply(answer{frame: f})
}

// validateContext returns an error if a cell in a console's answer to get_context
// has no id.
func validateContext(body []byte) error {
	var response struct {
		Context struct {
			Cells []struct {
				CellID string `json:"cell_id"`
			} `json:"cells"`
		} `json:"context"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return err
	}
	for i, cell := range response.Context.Cells {
		if cell.CellID == "" {
			return fmt.Errorf("cell %d has no cell_id", i)
		}
	}
	return nil
}

// routeFromAgentConsole routes what any console at /agent may send.
func (r *Router) routeFromAgentConsole(p *Peer, f frame) {
	switch f.envelope.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		if f, allowed := r.recordInIfOwner(p, f); allowed {
			r.sendToAgentFrom(p, f)
		}
	case protocol.TypeKernelMessage:
		p.recordIn(f, trace.NoteDropped) // the router makes these itself
	default:
		p.recordIn(f, trace.NoteDropped)
		p.sendAgentError(fmt.Sprintf("unknown message type %q", f.envelope.Type))
	}
}

// sendToAgentFrom passes a person's recorded message on to the agent. The console
// gets an error if there is no agent, or if the agent's actions are refused.
func (r *Router) sendToAgentFrom(p *Peer, f frame) {
	r.mu.Lock()
	agent, refusal := r.agent, r.actionRefusal
	r.mu.Unlock()
	switch {
	case agent == nil:
		p.sendAgentError("there is no agent")
	case refusal != "":
		p.sendAgentError(refusal)
	default:
		agent.send(f)
	}
}

// sendAgentError sends a console at /agent an agent_error of the server.
func (p *Peer) sendAgentError(text string) {
	p.send(newFrame(protocol.AgentError{Type: protocol.TypeAgentError, Error: text}))
}
