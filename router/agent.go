package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// agentHard is how far an agent's queue may grow past its bound while the agent
// has its time to read on, in bytes.
const agentHard = 8 * MaxQueueBytes

// place says who answers an action.
func place(action string) (kernel, document, needsCell bool) {
	switch action {
	case "request_globals_summary", "request_reactivity_summary", "execute_code", "get_global_info", "reset_kernel_globals":
		return true, false, false
	case "get_context", "create_cell", "create_markdown_cell", "set_widget":
		return false, true, false
	case "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell":
		return false, true, true
	default:
		return false, false, false
	}
}

// fromAgent routes what the agent sends: its actions to whom they are for,
// everything else to the console that holds the document.
func (r *Router) fromAgent(p *Peer, it item) {
	if it.env.Type == protocol.TypeAgentAction {
		r.fromAgentAction(p, it)
		return
	}
	if !isTold(it.env.Type) {
		p.enter(it, trace.NoteDropped)
		return
	}
	it = p.enter(it, "")
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holder == nil || r.ownDoc || isStream(it.env.Type) && r.holder.queue.busy() {
		return
	}
	r.holder.send(it)
}

// isTold tells whether consoles are told a frame of the agent, by its type. What
// the server or the kernel says to them, a verdict or a cell's output, no agent
// can.
func isTold(kind string) bool {
	switch kind {
	case protocol.TypeAgentStatus, protocol.TypeAgentHistoryUpdated, protocol.TypeAgentResult,
		protocol.TypeAgentUsageUpdate, protocol.TypeAgentEvent, protocol.TypeAgentError:
		return true
	default:
		return isStream(kind)
	}
}

func (r *Router) fromAgentAction(p *Peer, it item) {
	kernel, document, needsCell := place(it.env.Action)
	r.mu.Lock()
	refusal := r.refusal
	r.mu.Unlock()
	switch {
	case strings.HasPrefix(it.env.TxID, protocol.ServerTxIDPrefix):
		p.enter(it, trace.NoteTamper)
		r.answerAgent(it.env.TxID, answer{failed: fmt.Sprintf("tx_id %q: ids that begin with %s are the server's own", it.env.TxID, protocol.ServerTxIDPrefix)})
	case refusal != "":
		p.enter(it, "")
		r.answerAgent(it.env.TxID, answer{failed: refusal})
	case kernel:
		r.askKernelForAgent(p, it)
	case !document:
		p.enter(it, "")
		r.answerAgent(it.env.TxID, answer{failed: fmt.Sprintf("unknown action %q", it.env.Action)})
	case it.env.Action == protocol.TypeStopCell && it.env.CellID == "" && r.stopCode(p, it):
	case needsCell && it.env.CellID == "":
		p.enter(it, "")
		r.answerAgent(it.env.TxID, answer{failed: it.env.Action + ": params.cell_id is missing or empty"})
	default:
		r.askDocumentForAgent(p, it)
	}
}

// stopCode carries out a stop_cell that names, instead of a cell, the request
// of an execute_code. false: it names none.
func (r *Router) stopCode(p *Peer, it item) bool {
	var action struct {
		Params struct {
			AgentTxID string `json:"agent_tx_id"`
		} `json:"params"`
	}
	if err := json.Unmarshal(it.body, &action); err != nil || action.Params.AgentTxID == "" {
		return false
	}
	p.enter(it, trace.NoteIntercepted)
	id, ok := r.table.kernelID(action.Params.AgentTxID)
	if !ok {
		r.answerAgent(it.env.TxID, answer{failed: fmt.Sprintf("stop_cell: no request %q is in flight", action.Params.AgentTxID)})
		return true
	}
	if err := r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}); err != nil {
		r.answerAgent(it.env.TxID, answer{failed: "stop_cell: " + err.Error()})
		return true
	}
	r.answerAgent(it.env.TxID, answer{it: message(protocol.ActionResponse{
		Type: protocol.TypeActionResponse, TxID: it.env.TxID, Status: protocol.StatusSuccess,
	})})
	return true
}

// askDocumentForAgent passes an action on to the holder of the document, or
// keeps it until there is one.
func (r *Router) askDocumentForAgent(p *Peer, it item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ask := r.documentPending(it.env.TxID, it.env.Action)
	ask.agent = it.env.TxID
	ask.reply = func(a answer) { r.answerAgent(ask.agent, a) }
	if ask.id != "" && !r.table.add(ask, r.timedOut) {
		p.enter(it, trace.NoteTamper)
		r.answerAgentLocked(it.env.TxID, answer{failed: fmt.Sprintf("tx_id %q is in flight already", it.env.TxID)})
		return
	}
	it = p.enter(it, "")
	if r.holder == nil {
		r.keepLocked(it)
		return
	}
	r.holder.send(it)
}

// keepLocked keeps a request to the document until somebody holds it, as far as
// there is room. What has missed its deadline meanwhile makes room.
func (r *Router) keepLocked(it item) {
	r.backlog = slices.DeleteFunc(r.backlog, func(old item) bool {
		return old.env.TxID != "" && !r.table.has(old.env.TxID)
	})
	bytes := len(it.body)
	for _, old := range r.backlog {
		bytes += len(old.body)
	}
	if len(r.backlog) > 0 && (bytes > MaxQueueBytes || len(r.backlog) >= MaxQueueFrames) {
		r.failLocked(it.env.TxID, "too many requests wait for a console")
		return
	}
	r.backlog = append(r.backlog, it)
}

// documentPending is a request to whoever holds the document. The caller holds
// mu.
func (r *Router) documentPending(id, action string) *pending {
	if r.ownDoc {
		return &pending{id: id, action: action, whom: byNotebook, within: r.cfg.DocumentTimeout}
	}
	return &pending{id: id, action: action, whom: byConsole, within: r.cfg.HolderTimeout}
}

// answerAgent sends the agent the answer to its request tx. A request without
// an id wants none.
func (r *Router) answerAgent(tx string, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answerAgentLocked(tx, a)
}

func (r *Router) answerAgentLocked(tx string, a answer) {
	if tx == "" || r.agent == nil {
		return
	}
	if size := int64(len(a.it.body)); size > r.cfg.MaxFrameBytes {
		a.failed = fmt.Sprintf("the answer has %d bytes, more than the %d that a message may have", size, r.cfg.MaxFrameBytes)
	}
	if a.failed != "" {
		a.it = message(protocol.ActionError(tx, a.failed))
		a.it.note = a.note
	}
	r.agent.send(a.it)
}

// timedOut answers a request whose deadline has passed.
func (r *Router) timedOut(p *pending) {
	r.log.Warn("deadline missed", "action", p.action, "tx_id", p.id, "hop", string(p.whom), "limit", p.within)
	p.reply(answer{
		failed: fmt.Sprintf("the %s did not answer '%s' within %v", p.whom, p.action, p.within),
		note:   trace.NoteTimedOut,
	})
}

// agentBefore lets the agent be read when it reads itself: one that asks and
// asks and takes no answers is not heard any further.
func (r *Router) agentBefore(p *Peer) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			full, _, _ := p.queue.state()
			if !full {
				return r.journal.WaitForRoom(ctx)
			}
			select {
			case <-p.queue.freed:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// agentOverflow keeps what an agent must get although its queue is full, and
// ends an agent that has read nothing for its time.
func (r *Router) agentOverflow(p *Peer) func(item) {
	return func(it item) {
		p.queue.force(it, func() { p.leave(it, it.note) })
		_, bytes, _ := p.queue.state()
		if bytes > agentHard {
			p.end(protocol.ClosePolicyViolation, "", fmt.Errorf("the agent does not read: %d MiB wait for it", bytes>>20))
			return
		}
		p.stall.Do(func() { r.peers.Go(func() { r.watchStall(p) }) })
	}
}

func (r *Router) watchStall(p *Peer) {
	for {
		full, _, moved := p.queue.state()
		left := time.Until(moved.Add(r.cfg.AgentStallTimeout))
		if full && left <= 0 {
			p.end(protocol.ClosePolicyViolation, "", fmt.Errorf("the agent has not read for %v", r.cfg.AgentStallTimeout))
			return
		}
		if !full {
			left = r.cfg.AgentStallTimeout
		}
		wait := time.NewTimer(left)
		select {
		case <-wait.C:
		case <-p.ending:
			wait.Stop()
			return
		}
	}
}

func (r *Router) agentEnded(p *Peer, _ []item) {
	r.mu.Lock()
	if r.agent == p {
		r.agent = nil
	}
	r.mu.Unlock()
	r.table.fail("the agent has ended", func(p *pending) bool { return p.agent != "" })
}

// RefuseActions answers every action that the agent asks from now on with an error.
func (r *Router) RefuseActions(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusal = text
}

// ErrNotConnected says that a message could not be sent for want of its receiver.
var ErrNotConnected = errors.New("not connected")

// SendToAgent sends the agent a message of the server's own.
func (r *Router) SendToAgent(msg any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent == nil {
		return fmt.Errorf("agent: %w", ErrNotConnected)
	}
	r.agent.send(message(msg))
	return nil
}

// message makes a frame of one of the server's own messages, which can always
// be written as JSON.
func message(msg any) item {
	body, err := protocol.Marshal(msg)
	if err != nil {
		panic(fmt.Sprintf("message %T: %v", msg, err))
	}
	return frame(body)
}

// frame makes an item of a body that we made.
func frame(body []byte) item {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	if err != nil {
		panic(fmt.Sprintf("own message: %v", err))
	}
	return item{env: env, body: body}
}
