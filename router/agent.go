package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxStalledAgentBytes is how many bytes of frames may wait for an agent that has stopped
// reading before the router disconnects it. It is 8 times MaxQueueBytes, because frames for the
// agent are queued even if its queue is full.
const maxStalledAgentBytes = 8 * MaxQueueBytes

// AttachAgent makes conn the connection of the session's agent and owns conn from then on. It
// fails with ErrClosed if the router is closed.
func (r *Router) AttachAgent(conn protocol.Conn) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{
		role: &agentRole{defaultPeerRole: defaultPeerRole{r}}, name: "agent", hopIn: trace.AgentToServer, hopOut: trace.ServerToAgent,
	})
	return r.attachPeer(p, func() { r.agent = p })
}

// agentRole implements [peerRole] for the agent: it routes the frames that the agent sends and
// decides what happens if the agent does not read.
type agentRole struct {
	defaultPeerRole
	watchStallOnce sync.Once
	undecidedSeq   int64 // trace entry of the frame for which Config.AfterAgentFrame was not called yet; 0: none
}

// routeFrame routes a frame from the agent: an agent_action goes to the peer that answers it, a
// frame that consoles may see (see isForwardedToConsoles) goes to the console that holds the document,
// and any other frame is recorded as dropped.
func (a *agentRole) routeFrame(p *Peer, f frame) {
	r := a.router
	switch {
	case f.envelope.Type == protocol.TypeAgentAction:
		r.routeAction(p, f)
		if routeOfAction(f.envelope.Action) == routeSubmission {
			a.undecidedSeq, _ = r.journal.LastEntry() // of the submission, or later
		}
	case isForwardedToConsoles(f.envelope.Type):
		f = p.recordReceived(f, "")
		if !isStreamPart(f.envelope.Type) {
			a.undecidedSeq = f.bodySeq
		}
		r.forwardToHolder(f)
	default:
		p.recordReceived(f, trace.NoteDropped)
	}
}

// waitToRead calls Config.AfterAgentFrame if the frame that was routed last is for it. Then it
// blocks until the agent's outgoing queue and the trace have room, so that an agent that sends
// requests without reading the answers is not read any further. It fails if ctx ends or the trace
// has had no room for [trace.RoomTimeout].
func (a *agentRole) waitToRead(ctx context.Context, p *Peer) error {
	if seq := a.undecidedSeq; seq != 0 && a.router.cfg.AfterAgentFrame != nil {
		a.undecidedSeq = 0
		if err := a.router.cfg.AfterAgentFrame(ctx, seq); err != nil {
			return err
		}
	}
	for {
		full, _, _ := p.outgoing.fullness()
		if !full {
			return a.router.journal.WaitForRoom(ctx)
		}
		select {
		case <-p.outgoing.popped:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// onQueueFull queues a frame for the agent although its queue is full, because no frame for the
// agent may be lost. It disconnects the agent at once if more than maxStalledAgentBytes are
// waiting, and otherwise starts watchStalledAgent, which disconnects it after
// Config.AgentStallTimeout without reading.
func (a *agentRole) onQueueFull(p *Peer, f frame) {
	p.outgoing.pushOverLimit(f, func() { p.recordSent(f, f.note) })
	_, bytes, _ := p.outgoing.fullness()
	if bytes > maxStalledAgentBytes {
		p.beginClose(protocol.ClosePolicyViolation, "", fmt.Errorf("the agent does not read: %d MiB wait for it", bytes>>20))
		return
	}
	a.watchStallOnce.Do(func() { a.router.goroutines.Go(func() { a.router.watchStalledAgent(p) }) })
}

// onSentWhileEnding records a frame that was sent to an agent which is disconnecting as
// dropped.
func (a *agentRole) onSentWhileEnding(p *Peer, f frame) { p.recordDroppedFrame(f) }

// onEnded removes the agent from the router and fails its requests in flight, because nobody
// waits for their answers any more.
func (a *agentRole) onEnded(p *Peer, _ []frame) {
	r := a.router
	r.mu.Lock()
	if r.agent == p {
		r.agent = nil
	}
	r.mu.Unlock()
	r.inFlight.failMatching("the agent has ended", func(p *pendingRequest) bool { return p.agentTxID != "" })
}

// watchStalledAgent disconnects the agent when its queue has been full for
// Config.AgentStallTimeout without a frame being taken out. It returns when the agent ends.
func (r *Router) watchStalledAgent(p *Peer) {
	for {
		full, _, movedAt := p.outgoing.fullness()
		left := time.Until(movedAt.Add(r.cfg.AgentStallTimeout))
		if full && left <= 0 {
			p.beginClose(protocol.ClosePolicyViolation, "", fmt.Errorf("the agent has not read for %v", r.cfg.AgentStallTimeout))
			return
		}
		if !full {
			left = r.cfg.AgentStallTimeout
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-p.ending:
			timer.Stop()
			return
		}
	}
}

// forwardToHolder sends a frame of the agent, which is recorded already, to the console that
// holds the document. The frame is noted as dropped if no console is connected, or if it is
// part of a stream and the console is slow. If the server holds the document nothing is
// forwarded, because views get the frame from the trace.
func (r *Router) forwardToHolder(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.serverHolds:
	case r.holder == nil:
		r.journal.Append(trace.Entry{
			Hop: trace.ServerToConsole, Envelope: f.envelope, Note: trace.NoteDropped, BodyBytes: len(f.body), RefSeq: f.bodySeq,
		})
	case isStreamFrame(f.envelope.Type) && r.holder.outgoing.isHalfFull():
		r.holder.recordDroppedFrame(f)
	default:
		r.holder.send(f)
	}
}

// actionRoute says which peer answers an action: the kernel, the holder of the document, or
// nobody because the action is unknown.
type actionRoute int

const (
	routeUnknown      actionRoute = iota // there is no such action
	routeSubmission                      // the router, after a look at its parameters
	routeKernel                          // only the kernel can
	routeDocument                        // the holder of the document
	routeDocumentCell                    // likewise; params.cell_id is required
)

// routeOfAction returns which peer answers the action of this name (the kernel or the holder of
// the document), or routeUnknown if there is no such action.
func routeOfAction(action string) actionRoute {
	switch action {
	case "request_globals_summary", "request_reactivity_summary", "execute_code", "get_global_info", "reset_kernel_globals":
		return routeKernel
	case "submit_response":
		return routeSubmission
	case "get_context", "create_cell", "create_markdown_cell", "set_widget":
		return routeDocument
	case "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell":
		return routeDocumentCell
	default:
		return routeUnknown
	}
}

// routeAction records an agent_action in the trace and sends it to the kernel or to the holder
// of the document. It answers the agent with an error if the action is unknown or refused,
// lacks a cell_id that it needs, or uses a tx_id of the server's own form.
func (r *Router) routeAction(p *Peer, f frame) {
	txID, action, route := f.envelope.TxID, f.envelope.Action, routeOfAction(f.envelope.Action)
	r.mu.Lock()
	refusal := r.actionRefusal
	r.mu.Unlock()
	if txID == "" {
		if problem, mistyped := protocol.ProblemWithTxID(f.body); mistyped {
			r.log.Warn("an action gets no answer", "action", action, "problem", problem)
		}
	}
	refuse := func(note trace.Note, text string) {
		p.recordReceived(f, note)
		r.answerAgent(txID, answer{failure: text})
	}
	switch {
	case strings.HasPrefix(txID, protocol.ServerTxIDPrefix):
		refuse(trace.NoteTamper, fmt.Sprintf("tx_id %q: ids that begin with %s are the server's own", txID, protocol.ServerTxIDPrefix))
	case refusal != "":
		refuse("", refusal)
	case route == routeKernel:
		r.askKernelForAgent(p, f)
	case route == routeSubmission:
		r.acceptSubmission(p, f)
	case route == routeUnknown:
		refuse("", fmt.Sprintf("unknown action %q", action))
	case action == protocol.TypeStopCell && f.envelope.CellID == "" && r.stopExecuteCode(p, f):
	case route == routeDocumentCell && f.envelope.CellID == "":
		refuse("", action+": params.cell_id is missing or empty")
	default:
		r.askHolderForAgent(p, f)
	}
}

// acceptSubmission handles a submit_response that is sent as an action: it records it, which is all
// that a submission needs, and answers the agent. A submission without a summary is refused.
func (r *Router) acceptSubmission(p *Peer, f frame) {
	var action struct {
		Params struct {
			Summary string `json:"summary"`
		} `json:"params"`
	}
	f = p.recordReceived(f, trace.NoteIntercepted)
	if err := json.Unmarshal(f.body, &action); err != nil || action.Params.Summary == "" {
		r.answerAgent(f.envelope.TxID, answer{failure: `submit_response: want params {"summary": "…", "next_status": "done"} with a text that is not empty`})
		return
	}
	r.answerAgent(f.envelope.TxID, answer{frame: newFrame(protocol.ActionResponse{
		Type: protocol.TypeActionResponse, TxID: f.envelope.TxID, Status: protocol.StatusSuccess,
	})})
}

// stopExecuteCode handles a stop_cell whose params have the tx_id of an execute_code instead of
// a cell id: it makes the kernel interrupt that code and answers the agent. It returns false,
// and does nothing, if the params have no such tx_id.
func (r *Router) stopExecuteCode(p *Peer, f frame) bool {
	var action struct {
		Params struct {
			AgentTxID string `json:"agent_tx_id"`
		} `json:"params"`
	}
	if err := json.Unmarshal(f.body, &action); err != nil || action.Params.AgentTxID == "" {
		return false
	}
	p.recordReceived(f, trace.NoteIntercepted)
	txID := f.envelope.TxID
	id, ok := r.inFlight.kernelRequestID(action.Params.AgentTxID)
	if !ok {
		r.answerAgent(txID, answer{failure: fmt.Sprintf("stop_cell: no request %q is in flight", action.Params.AgentTxID)})
		return true
	}
	if err := r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}); err != nil {
		r.answerAgent(txID, answer{failure: "stop_cell: " + err.Error()})
		return true
	}
	r.answerAgent(txID, answer{frame: newFrame(protocol.ActionResponse{
		Type: protocol.TypeActionResponse, TxID: txID, Status: protocol.StatusSuccess,
	})})
	return true
}

// askHolderForAgent sends an agent's action to the holder of the document, or keeps it in the
// backlog until there is a holder. If the action's tx_id is in flight already, the agent gets
// an error.
func (r *Router) askHolderForAgent(p *Peer, f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := r.newHolderRequestLocked(f.envelope.TxID, f.envelope.Action)
	request.agentTxID = f.envelope.TxID
	request.reply = func(a answer) { r.answerAgent(request.agentTxID, a) }
	if cellID := f.envelope.CellID; request.action == "run_cell" {
		request.reply = func(a answer) { r.answerAgent(request.agentTxID, a.withCellID(cellID)) }
	}
	if request.id != "" && !r.inFlight.add(request, r.replyWithTimeoutError) {
		p.recordReceived(f, trace.NoteTamper)
		r.answerAgentLocked(f.envelope.TxID, answer{failure: fmt.Sprintf("tx_id %q is in flight already", f.envelope.TxID)})
		return
	}
	f = p.recordReceived(f, "")
	if r.holder == nil {
		r.addToBacklogLocked(f)
		return
	}
	r.holder.send(f)
}

// answerAgent sends the agent the answer a to its request txID. It does nothing if txID is
// empty, as such a request wants no answer, or if there is no agent.
func (r *Router) answerAgent(txID string, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerAgentLocked(txID, a)
}

// answerAgentLocked sends the agent the answer a to its request txID. An answer larger than
// Config.MaxFrameBytes is replaced by an error. It does nothing if txID is empty, as such a
// request wants no answer, or if there is no agent. The caller holds mu.
func (r *Router) answerAgentLocked(txID string, a answer) {
	if txID == "" || r.agent == nil {
		return
	}
	if size := int64(len(a.frame.body)); size > r.cfg.MaxFrameBytes {
		a.failure = fmt.Sprintf("the answer has %d bytes, more than the %d that a message may have", size, r.cfg.MaxFrameBytes)
	}
	if a.failure != "" {
		a.frame = newFrame(protocol.NewActionError(txID, a.failure))
		a.frame.note = a.note
	}
	r.agent.send(a.frame)
}

// replyWithTimeoutError logs that a request's deadline has passed and replies to it with an error that
// names the peer that did not answer.
func (r *Router) replyWithTimeoutError(request *pendingRequest) {
	r.logTimeout(request)
	request.reply(answer{
		failure: fmt.Sprintf("the %s did not answer '%s' within %v", request.answerer, request.action, request.timeout),
		note:    trace.NoteTimedOut,
	})
}

// logTimeout logs a warning that a request was not answered before its deadline.
func (r *Router) logTimeout(request *pendingRequest) {
	r.log.Warn("deadline missed", "action", request.action, "tx_id", request.id, "hop", string(request.answerer), "limit", request.timeout)
}

// RefuseActions makes the router answer every later action of the agent with an error that has
// this text, and the same for what consoles do with a document that the server holds, except for
// reading it and stopping cells. An empty text lets them act again.
func (r *Router) RefuseActions(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actionRefusal = text
}

// ErrNotConnected is wrapped by the errors of SendToAgent and SendToKernel if there is no agent
// or no kernel.
var ErrNotConnected = errors.New("not connected")

// SendToAgent sends the agent a message that the server itself made; message is encoded as
// JSON. It fails with ErrNotConnected if there is no agent.
func (r *Router) SendToAgent(message any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent == nil {
		return fmt.Errorf("agent: %w", ErrNotConnected)
	}
	r.agent.send(newFrame(message))
	return nil
}
