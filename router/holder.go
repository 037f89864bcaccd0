package router

import (
	"encoding/json"
	"fmt"
	"slices"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// AttachHolder makes a console's /agent connection the holder of the document and owns conn
// from then on. A previous holder is closed. Actions in the backlog that have not missed their
// deadline are sent to the new holder. id is the console's number, which no other console has;
// session is the name that the console gives itself, for the trace; runID is the number of the
// same console's connection at /run, 0 if unknown. It fails with ErrClosed if the router is
// closed.
func (r *Router) AttachHolder(conn protocol.Conn, id int, session string, runID int) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{
		role: holderRole{defaultPeerRole{r}}, name: "console", consoleID: id, pairedConsole: runID,
		hopIn: trace.ConsoleToServer, hopOut: trace.ServerToConsole,
	})
	return r.attachPeer(p, func() {
		r.recordSessionEvent(EntryTypeHolderChanged, id, map[string]any{"type": EntryTypeHolderChanged, "by": "console", "conn": id, "session_id": session})
		r.setHolderLocked(p)
	})
}

// setHolderLocked makes p the holder of the document, closes the previous holder's connection
// and sends p the actions in the backlog that are still in flight. The caller holds mu.
func (r *Router) setHolderLocked(p *Peer) {
	if previous := r.holder; previous != nil {
		previous.beginClose(protocol.CloseReplaced, replacedCloseReason, nil)
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

// holderRole implements [peerRole] for a console at /agent that holds the document.
type holderRole struct{ defaultPeerRole }

// routeFrame routes a frame from the console that holds the document: an answer to an action goes to
// the peer that asked; other frames are routed as from any console at /agent.
func (h holderRole) routeFrame(p *Peer, f frame) {
	if f.envelope.Type == protocol.TypeActionResponse {
		h.router.routeHolderAnswer(p, f)
		return
	}
	h.router.routeFromAgentConsole(p, f)
}

// reportMalformed sends the console that holds the document an agent_error with problem, which
// says why its message could not be read.
func (holderRole) reportMalformed(p *Peer, problem string) { p.sendErrorToAgentConsole(problem) }

// onQueueFull disconnects the console that holds the document because it reads too slowly. If f
// is an action it is kept in the backlog until a holder is attached again; the caller then
// holds mu.
func (h holderRole) onQueueFull(p *Peer, f frame) {
	h.keepActionInBacklog(f)
	p.closeAsTooSlow(f)
}

// onSentWhileEnding deals with a frame sent to a holder that is disconnecting: an action is
// kept in the backlog until a holder is attached again (the caller then holds mu), any other
// frame is recorded as dropped.
func (h holderRole) onSentWhileEnding(p *Peer, f frame) {
	if !h.keepActionInBacklog(f) {
		p.recordDroppedFrame(f)
	}
}

// keepActionInBacklog adds f to the backlog and returns true if f is an action; otherwise it
// returns false. If f is an action the caller holds mu.
func (h holderRole) keepActionInBacklog(f frame) bool {
	if f.envelope.Type != protocol.TypeAgentAction {
		return false
	}
	h.router.addToBacklogLocked(f)
	return true
}

// onEnded puts the actions that were not yet written to the holder's connection into the
// backlog until the console comes back.
func (h holderRole) onEnded(p *Peer, unsent []frame) { h.router.keepUnsentActions(p, unsent) }

// keepUnsentActions saves the actions that were not yet written to the holder p when its
// connection ended: it sends them to the holder that has replaced p, or puts them into the
// backlog. An action that was written may still be answered after the console has connected
// again.
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

// addToBacklogLocked keeps a request for the document until there is a holder. The backlog
// holds at most MaxQueueBytes and MaxQueueFrames; requests that have missed their deadline are
// removed first. If there is no room the request is answered with an error. The caller holds
// mu.
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

// newHolderRequestLocked returns a request, not yet in flight, for the holder of the document.
// Its timeout is Config.RequestTimeout if the server holds the document and
// Config.HolderTimeout if a console does or is waited for. The caller holds mu.
func (r *Router) newHolderRequestLocked(id, action string) *pendingRequest {
	if r.serverHolds {
		return &pendingRequest{id: id, action: action, answerer: answeredByNotebook, timeout: r.cfg.RequestTimeout}
	}
	return &pendingRequest{id: id, action: action, answerer: answeredByConsole, timeout: r.cfg.HolderTimeout}
}

// failHolderRequestLocked ends the request with this id, which was for the holder of the
// document, and replies to it with an error. It does nothing if the request has ended. The
// caller holds mu.
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

// routeHolderAnswer delivers an answer from the holder of the document to the request that
// waits for it. If no request waits, the answer is recorded as duplicate, late or orphaned,
// logged, and dropped.
func (r *Router) routeHolderAnswer(p *Peer, f frame) {
	request, ended := r.inFlight.takeByID(f.envelope.TxID)
	f = p.recordReceived(f, ended.answerNote)
	if request == nil {
		r.log.Warn("an answer that nothing waits for", "peer", p.name, "tx_id", f.envelope.TxID, "note", string(ended.answerNote))
		return
	}
	if request.answerer == answeredByConsole && request.action == "get_context" {
		body, err := normalizeContextAnswer(f.body)
		if err != nil {
			request.reply(answer{failure: "get_context: the console's answer: " + err.Error()})
			return
		}
		if body != nil {
			seq := f.bodySeq
			f = newFrameFromBody(body)
			f.causeSeq = seq
		}
	}
	request.reply(answer{frame: f})
}

// normalizeContextAnswer returns a console's answer to get_context with the cells in context, if the
// console has put them beside it; nil if body is right as it is. It fails if body is not valid JSON or
// has a cell without a cell_id.
func normalizeContextAnswer(body []byte) ([]byte, error) {
	type cellsHolder struct {
		Cells []json.RawMessage `json:"cells"`
	}
	var response struct {
		cellsHolder
		Name    json.RawMessage `json:"notebook_name"`
		Context *cellsHolder    `json:"context"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return nil, err
	}
	isBeside := response.Context == nil && response.Cells != nil
	if response.Context == nil {
		response.Context = &response.cellsHolder
	}
	for i, cell := range response.Context.Cells {
		var id struct {
			CellID string `json:"cell_id"`
		}
		if err := json.Unmarshal(cell, &id); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		if id.CellID == "" {
			return nil, fmt.Errorf("cell %d has no cell_id", i)
		}
	}
	if !isBeside {
		return nil, nil
	}
	if response.Name == nil {
		response.Name = json.RawMessage(`"notebook"`)
	}
	context := map[string]any{"cell_count": len(response.Cells), "notebook_name": response.Name, "cells": response.Cells}
	return protocol.ReplaceFields(body, protocol.Field{Name: "type", Value: protocol.TypeActionResponse},
		protocol.Field{Name: "context", Value: context},
		protocol.Field{Name: "cells"}, protocol.Field{Name: "cell_count"}, protocol.Field{Name: "notebook_name"})
}

// routeFromAgentConsole routes a frame that any console at /agent may send: if the console owns
// the session, a query, cancel or clear_history goes to the agent. An attempt_start of the owner is
// only recorded, because an attempt that waits for it reads the trace. Other types are recorded as
// dropped and, except for kernel_message, answered with an agent_error.
func (r *Router) routeFromAgentConsole(p *Peer, f frame) {
	switch f.envelope.Type {
	case protocol.TypeAgentQuery, protocol.TypeAgentCancel, protocol.TypeAgentClearHistory:
		if f, allowed := r.recordIfFromOwner(p, f); allowed {
			r.sendConsoleMessageToAgent(p, f)
		}
	case protocol.TypeAttemptStart:
		r.recordIfFromOwner(p, f)
	case protocol.TypeKernelMessage:
		p.recordReceived(f, trace.NoteDropped) // the router makes these itself
	default:
		p.recordReceived(f, trace.NoteDropped)
		p.sendErrorToAgentConsole(fmt.Sprintf("unknown message type %q", f.envelope.Type))
	}
}

// sendConsoleMessageToAgent sends the agent a recorded message from a person at a console. The console
// gets an agent_error if there is no agent or the agent's actions are refused.
func (r *Router) sendConsoleMessageToAgent(p *Peer, f frame) {
	r.mu.Lock()
	agent, refusal := r.agent, r.actionRefusal
	r.mu.Unlock()
	switch {
	case agent == nil:
		p.sendErrorToAgentConsole("there is no agent")
	case refusal != "":
		p.sendErrorToAgentConsole(refusal)
	default:
		agent.send(f)
	}
}

// sendErrorToAgentConsole sends a console at /agent an agent_error with this text.
func (p *Peer) sendErrorToAgentConsole(text string) {
	p.send(newFrame(protocol.AgentError{Type: protocol.TypeAgentError, Error: text}))
}
