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

// maxStalledAgentBytes limits the queue of an agent that does not read. What the agent
// must get is queued beyond the limits of a queue, up to this.
const maxStalledAgentBytes = 8 * MaxQueueBytes

// AttachAgent makes conn the session's agent, and owns conn from then on. It
// returns ErrClosed if the router is closed.
func (r *Router) AttachAgent(conn protocol.Conn) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{
		role: &agentRole{defaultRole: defaultRole{r}}, name: "agent", hopIn: trace.AgentToServer, hopOut: trace.ServerToAgent,
	})
	return r.attach(p, func() { r.agent = p })
}

// agentRole is the [role] of the agent.
type agentRole struct {
	defaultRole
	watchStallOnce sync.Once
}

// route routes the agent's actions to whoever answers them, and everything else to
// the console that holds the document.
func (a *agentRole) route(p *Peer, f frame) {
	r := a.router
	switch {
	case f.envelope.Type == protocol.TypeAgentAction:
		r.routeAction(p, f)
	case isForwarded(f.envelope.Type):
		r.forwardToHolder(p.recordIn(f, ""))
	default:
		p.recordIn(f, trace.NoteDropped)
	}
}

// waitToRead waits until the agent's queue has room: from an agent that asks on and
// reads no answers, nothing more is read.
func (a *agentRole) waitToRead(ctx context.Context, p *Peer) error {
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

// onQueueFull queues the frame although the queue is full, as the agent must get it.
// It ends the agent at once if more than maxStalledAgentBytes wait, and else after
// the stall timeout.
func (a *agentRole) onQueueFull(p *Peer, f frame) {
	p.outgoing.pushOverLimit(f, func() { p.recordOut(f, f.note) })
	_, bytes, _ := p.outgoing.fullness()
	if bytes > maxStalledAgentBytes {
		p.end(protocol.ClosePolicyViolation, "", fmt.Errorf("the agent does not read: %d MiB wait for it", bytes>>20))
		return
	}
	a.watchStallOnce.Do(func() { a.router.goroutines.Go(func() { a.router.watchStalledAgent(p) }) })
}

// onSentWhileEnding notes the frame as dropped.
func (a *agentRole) onSentWhileEnding(p *Peer, f frame) { p.recordDropped(f) }

// onEnded ends the agent's requests, as nobody waits for their answers any more.
func (a *agentRole) onEnded(p *Peer, _ []frame) {
	r := a.router
	r.mu.Lock()
	if r.agent == p {
		r.agent = nil
	}
	r.mu.Unlock()
	r.inFlight.fail("the agent has ended", func(p *pendingRequest) bool { return p.agentTxID != "" })
}

// watchStalledAgent ends the agent when its queue is full and nothing was taken out
// of it for the stall timeout. It returns when the agent ends.
func (r *Router) watchStalledAgent(p *Peer) {
	for {
		full, _, movedAt := p.outgoing.fullness()
		left := time.Until(movedAt.Add(r.cfg.AgentStallTimeout))
		if full && left <= 0 {
			p.end(protocol.ClosePolicyViolation, "", fmt.Errorf("the agent has not read for %v", r.cfg.AgentStallTimeout))
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

// forwardToHolder sends a recorded frame of the agent to the console that holds
// the document. It notes the frame as dropped if no console is there, and if the
// frame is part of a stream and the console is slow. If the server holds the
// document nothing is forwarded, as views are shown the trace.
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
		r.holder.recordDropped(f)
	default:
		r.holder.send(f)
	}
}

// actionRoute says who answers an action.
type actionRoute int

const (
	routeUnknown      actionRoute = iota // there is no such action
	routeKernel                          // only the kernel can
	routeDocument                        // the holder of the document
	routeDocumentCell                    // likewise; params.cell_id is required
)

// routeOf returns who answers an action.
func routeOf(action string) actionRoute {
	switch action {
	case "request_globals_summary", "request_reactivity_summary", "execute_code", "get_global_info", "reset_kernel_globals":
		return routeKernel
	case "get_context", "create_cell", "create_markdown_cell", "set_widget":
		return routeDocument
	case "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell":
		return routeDocumentCell
	default:
		return routeUnknown
	}
}

// routeAction records an action of the agent and passes it on to whoever answers
// it, or answers it with an error.
func (r *Router) routeAction(p *Peer, f frame) {
	txID, action, route := f.envelope.TxID, f.envelope.Action, routeOf(f.envelope.Action)
	r.mu.Lock()
	refusal := r.actionRefusal
	r.mu.Unlock()
	refuse := func(note trace.Note, text string) {
		p.recordIn(f, note)
		r.answerAgent(txID, answer{failure: text})
	}
	switch {
	case strings.HasPrefix(txID, protocol.ServerTxIDPrefix):
		refuse(trace.NoteTamper, fmt.Sprintf("tx_id %q: ids that begin with %s are the server's own", txID, protocol.ServerTxIDPrefix))
	case refusal != "":
		refuse("", refusal)
	case route == routeKernel:
		r.askKernelForAgent(p, f)
	case route == routeUnknown:
		refuse("", fmt.Sprintf("unknown action %q", action))
	case action == protocol.TypeStopCell && f.envelope.CellID == "" && r.stopExecuteCode(p, f):
	case route == routeDocumentCell && f.envelope.CellID == "":
		refuse("", action+": params.cell_id is missing or empty")
	default:
		r.askHolderForAgent(p, f)
	}
}

// stopExecuteCode handles a stop_cell whose params name the tx_id of an
// execute_code instead of a cell: it interrupts that code. It returns false, and
// does nothing, if the params name none.
func (r *Router) stopExecuteCode(p *Peer, f frame) bool {
	var action struct {
		Params struct {
			AgentTxID string `json:"agent_tx_id"`
		} `json:"params"`
	}
	if err := json.Unmarshal(f.body, &action); err != nil || action.Params.AgentTxID == "" {
		return false
	}
	p.recordIn(f, trace.NoteIntercepted)
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

// askHolderForAgent passes an action on to the holder of the document, or keeps it
// in the backlog until there is one.
func (r *Router) askHolderForAgent(p *Peer, f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := r.newHolderRequestLocked(f.envelope.TxID, f.envelope.Action)
	request.agentTxID = f.envelope.TxID
	request.reply = func(a answer) { r.answerAgent(request.agentTxID, a) }
	if request.id != "" && !r.inFlight.add(request, r.answerTimedOut) {
		p.recordIn(f, trace.NoteTamper)
		r.answerAgentLocked(f.envelope.TxID, answer{failure: fmt.Sprintf("tx_id %q is in flight already", f.envelope.TxID)})
		return
	}
	f = p.recordIn(f, "")
	if r.holder == nil {
		r.addToBacklogLocked(f)
		return
	}
	r.holder.send(f)
}

// answerAgent sends the agent the answer to its request txID. It does nothing if
// txID is empty, as such a request wants no answer, or if there is no agent.
func (r *Router) answerAgent(txID string, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerAgentLocked(txID, a)
}

// answerAgentLocked is answerAgent. The caller holds mu.
func (r *Router) answerAgentLocked(txID string, a answer) {
	if txID == "" || r.agent == nil {
		return
	}
	if size := int64(len(a.frame.body)); size > r.cfg.MaxFrameBytes {
		a.failure = fmt.Sprintf("the answer has %d bytes, more than the %d that a message may have", size, r.cfg.MaxFrameBytes)
	}
	if a.failure != "" {
		a.frame = newFrame(protocol.ActionError(txID, a.failure))
		a.frame.note = a.note
	}
	r.agent.send(a.frame)
}

// answerTimedOut answers a request whose deadline has passed with an error.
func (r *Router) answerTimedOut(request *pendingRequest) {
	r.logTimeout(request)
	request.reply(answer{
		failure: fmt.Sprintf("the %s did not answer '%s' within %v", request.answerer, request.action, request.timeout),
		note:    trace.NoteTimedOut,
	})
}

func (r *Router) logTimeout(request *pendingRequest) {
	r.log.Warn("deadline missed", "action", request.action, "tx_id", request.id, "hop", string(request.answerer), "limit", request.timeout)
}

// RefuseActions makes every later action of the agent be answered with this error
// text.
func (r *Router) RefuseActions(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actionRefusal = text
}

// ErrNotConnected is returned for a message whose receiver is not attached.
var ErrNotConnected = errors.New("not connected")

// SendToAgent sends the agent one of the server's own messages. It returns
// ErrNotConnected if there is no agent.
func (r *Router) SendToAgent(message any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent == nil {
		return fmt.Errorf("agent: %w", ErrNotConnected)
	}
	r.agent.send(newFrame(message))
	return nil
}
