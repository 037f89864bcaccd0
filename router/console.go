package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// HelloFunc makes the first message to a console at /run, which has the state so far.
// body is what the console is sent; recorded is what the trace gets in its place,
// without what the trace has already. It is called again when the kernel was replaced,
// and when the console becomes the owner or no longer is. id is the console's number.
type HelloFunc func(id int, owner bool) (body, recorded []byte)

// frame returns the first message as a frame.
func (hello HelloFunc) frame(id int, owner bool) frame {
	body, recorded := hello(id, owner)
	f := frameOfBody(recorded)
	f.body, f.traceBody = body, recorded
	return f
}

// AttachConsole adds a console's /run connection under the console's number, which
// no other console has, and owns conn from then on. The console is sent hello, made
// while no kernel frame passes, and then every kernel frame. A connection that is
// attached under the same number is the same console's, and is closed. It returns
// ErrClosed if the router is closed.
func (r *Router) AttachConsole(conn protocol.Conn, id int, hello HelloFunc) (*Peer, error) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	owner := r.wouldBeOwner(id)
	first := hello.frame(id, owner) // it may be large: made without mu, so that only the kernel's frames wait for it
	console := &runConsoleRole{defaultRole: defaultRole{r}, id: id, hello: hello}
	console.peer = newPeer(r, conn, peerConfig{
		role: console, name: "run", consoleID: id, hopIn: trace.ConsoleToServer, hopOut: trace.ServerToConsole,
	})
	p, err := r.attach(console.peer, func() {
		for _, old := range r.runConsoles {
			if old.id == id {
				old.peer.end(protocol.CloseReplaced, replacedReason, nil)
			}
			if old.id == id && r.owner == old {
				r.owner = console
			}
		}
		r.runConsoles = append(slices.DeleteFunc(r.runConsoles, func(c *runConsoleRole) bool { return c.id == id }), console)
		console.peer.send(first)
	})
	if err == nil && owner {
		r.reassignOwner()
	}
	return p, err
}

// runConsoleRole is the [role] of a console's connection at /run.
type runConsoleRole struct {
	defaultRole
	peer  *Peer
	id    int // the console's number
	hello HelloFunc
}

// route routes requests to the kernel, which every console may make, and what only
// the owner may do.
func (c *runConsoleRole) route(p *Peer, f frame) {
	r := c.router
	switch f.envelope.Type {
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState:
		r.askKernelForConsole(p, p.recordIn(f, ""))
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell,
		protocol.TypeSetWidgetValue, protocol.TypeExecuteCode, protocol.TypeManagedProcessRestart:
		if f, allowed := r.recordInIfOwner(p, f); allowed {
			r.routeFromOwner(p, f)
		}
	default:
		p.recordIn(f, trace.NoteDropped)
		p.sendError(f, fmt.Sprintf("unknown message type %q", f.envelope.Type), "")
	}
}

// reportMalformed sends the console an error.
func (c *runConsoleRole) reportMalformed(p *Peer, problem string) { p.sendError(frame{}, problem, "") }

// onEnded removes the console and reassigns the session's owner.
func (c *runConsoleRole) onEnded(*Peer, []frame) {
	r := c.router
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.mu.Lock()
	r.runConsoles = slices.DeleteFunc(r.runConsoles, func(other *runConsoleRole) bool { return other == c })
	r.mu.Unlock()
	r.reassignOwner()
}

// sendHello sends the console its hello message again.
func (c *runConsoleRole) sendHello(owner bool) { c.peer.send(c.hello.frame(c.id, owner)) }

// ResendHello sends every console at /run its hello message again. It is called after
// the kernel was replaced, as that changes the whole state.
func (r *Router) ResendHello() {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.mu.Lock()
	consoles, owner := slices.Clone(r.runConsoles), r.owner
	r.mu.Unlock()
	for _, console := range consoles {
		console.sendHello(!r.cfg.ReadOnly && (r.cfg.Shared || console == owner))
	}
}

// SendToRunConsoles sends every console at /run one of the server's own messages. A
// console that is being attached gets it after its first message.
func (r *Router) SendToRunConsoles(message any) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.sendFrameToRunConsoles(newFrame(message))
}

// sendFrameToRunConsoles sends every console at /run a frame.
func (r *Router) sendFrameToRunConsoles(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, console := range r.runConsoles {
		console.peer.send(f)
	}
}

// routeFromOwner routes a recorded frame at /run that only the session's owner may
// send.
func (r *Router) routeFromOwner(p *Peer, f frame) {
	r.mu.Lock()
	serverHolds := r.serverHolds
	r.mu.Unlock()
	switch f.envelope.Type {
	case protocol.TypeSetWidgetValue, protocol.TypeExecuteCode:
		r.askKernelForConsole(p, f)
	case protocol.TypeManagedProcessRestart:
		r.restartChild(p, f)
	case protocol.TypeRunCell:
		if serverHolds {
			r.editAndRunCell(p, f)
			return
		}
		fallthrough
	default:
		r.sendToKernelFrom(p, f)
	}
}

// editAndRunCell carries out a console's run_cell when the server holds the
// document: the cell's source becomes the code that runs.
func (r *Router) editAndRunCell(p *Peer, f frame) {
	var run struct {
		Code *string `json:"code"`
	}
	params := map[string]any{"cell_id": f.envelope.CellID}
	action := "run_cell"
	if err := json.Unmarshal(f.body, &run); err != nil {
		p.sendError(f, err.Error(), "")
		return
	}
	if run.Code != nil {
		action = "edit_cell"
		params["source"], params["auto_run"] = *run.Code, true
	}
	r.ask(protocol.NewServerTxID(), action, params, f.bodySeq, func(a answer) {
		if _, err := a.result(protocol.TypeRunCell); err != nil {
			p.sendError(f, strings.Replace(err.Error(), "edit_cell: ", "", 1), "")
		}
	})
}

// restartChild restarts a child of the session on another goroutine, as that takes a
// while. The console gets an error if it fails.
func (r *Router) restartChild(p *Peer, f frame) {
	var message struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(f.body, &message); err != nil {
		p.sendError(f, err.Error(), "")
		return
	}
	r.goroutines.Go(func() {
		if err := r.cfg.RestartChild(message.Name); err != nil {
			p.sendError(f, f.envelope.Type+": "+err.Error(), "")
		}
	})
}

// sendToKernelFrom passes a recorded command of a console, or of the server's
// document, on to the kernel. If it cannot, it reports why.
func (r *Router) sendToKernelFrom(p *Peer, f frame) {
	switch f.envelope.Type {
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue:
	default:
		p.sendError(f, fmt.Sprintf("unknown message type %q", f.envelope.Type), "")
		return
	}
	if f.envelope.Type == protocol.TypeRunCell {
		if err := requireCode(f.body); err != nil {
			p.sendError(f, err.Error(), "")
			return
		}
	}
	r.mu.Lock()
	kernel, endReason := r.kernel, r.kernelEndReason
	r.mu.Unlock()
	if kernel == nil {
		text := "there is no kernel to " + f.envelope.Type
		if endReason != "" {
			text += ": the last one has ended: " + endReason
		}
		r.reportUnsent(p, f, text)
		return
	}
	if size := int64(len(f.body)); size > r.cfg.MaxFrameBytes {
		kernel.recordDropped(f)
		r.reportUnsent(p, f, fmt.Sprintf("%s: a message of %d bytes, more than the %d that it may have", f.envelope.Type, size, r.cfg.MaxFrameBytes))
		return
	}
	full, closed := kernel.sendAccepted(f, func() { // before it is written, as the kernel may answer at once
		switch f.envelope.Type {
		case protocol.TypeRunCell:
			r.executions.MarkSent(f.envelope.CellID)
		case protocol.TypeDisposeCell:
			r.executions.MarkDisposed(f.envelope.CellID)
		}
	})
	switch {
	case full:
		r.reportUnsent(p, f, "the kernel does not read: too much is waiting for it")
	case closed:
		r.reportUnsent(p, f, "the kernel is ending: it cannot "+f.envelope.Type)
	}
}

// reportUnsent says why the kernel does not get a command: to the agent if it is a
// run_cell, as the agent may wait for the run, and to the console that has sent it.
// If that is the server's own document, which does not read errors, all consoles at
// /run are told.
func (r *Router) reportUnsent(p *Peer, f frame, why string) {
	if f.envelope.Type == protocol.TypeRunCell {
		r.reportFailedRun(f.envelope.CellID, why)
	}
	if p.hopIn != "" {
		p.sendError(f, why, "")
		return
	}
	r.SendToRunConsoles(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: why}})
}

// requireCode returns an error if a message has no "code". The kernel would only
// say that the message is malformed.
func requireCode(body []byte) error {
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

// sendError sends a console at /run an error about request, a frame that it has
// sent; the zero frame: about none in particular.
func (p *Peer) sendError(request frame, text string, note trace.Note) {
	f := newFrame(protocol.Error{
		Type: protocol.TypeError, AgentTxID: request.envelope.AgentTxID, Data: protocol.ErrorData{Message: text},
	})
	f.causeSeq, f.note = request.bodySeq, note
	p.send(f)
}

// askKernelForConsole asks the kernel and sends the answer to p alone, under the id
// with which p has asked; without an id if p gave none.
func (r *Router) askKernelForConsole(p *Peer, f frame) {
	request := &pendingRequest{
		id: protocol.NewServerTxID(), action: f.envelope.Type, answerer: answeredByKernel, timeout: r.cfg.DocumentTimeout,
	}
	if f.envelope.Type == protocol.TypeExecuteCode {
		request.timeout = r.cfg.CellTimeout
		if err := requireCode(f.body); err != nil {
			p.sendError(f, err.Error(), "")
			return
		}
	}
	request.reply = func(a answer) {
		if a.failure != "" {
			p.sendError(f, a.failure, a.note)
			return
		}
		var id any // nil removes the field
		if f.envelope.AgentTxID != "" {
			id = f.envelope.AgentTxID
		}
		p.sendWithFields(a.frame, protocol.Field{Name: "agent_tx_id", Value: id})
	}
	body, err := protocol.ReplaceFields(f.body, protocol.Field{Name: "agent_tx_id", Value: request.id})
	if err != nil {
		p.sendError(f, err.Error(), "")
		return
	}
	toKernel := frameOfBody(body)
	toKernel.causeSeq = f.bodySeq
	if r.inFlight.add(request, r.answerKernelTimedOut) {
		r.sendToKernelOrFail(request, toKernel)
	}
}

// sendWithFields sends p a recorded frame with some of its fields replaced.
func (p *Peer) sendWithFields(f frame, fields ...protocol.Field) {
	body, err := protocol.ReplaceFields(f.body, fields...)
	if err != nil {
		p.sendError(f, err.Error(), "")
		return
	}
	replaced := frameOfBody(body)
	replaced.causeSeq = f.bodySeq
	p.send(replaced)
}
