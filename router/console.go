package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// HelloFunc makes the first message to a console at /run, which has the session's state so far.
// id is the console's number, owner tells whether it owns the session. body is the message for
// the console; recorded is the shorter message that the trace records in its place. It is
// called again after the kernel was replaced and when the console gains or loses the ownership.
type HelloFunc func(id int, owner bool) (body, recorded []byte)

// newHelloFrame calls hello for console id and returns the message as a frame whose trace entry has the
// recorded form.
func (hello HelloFunc) newHelloFrame(id int, owner bool) frame {
	body, recorded := hello(id, owner)
	f := newFrameFromBody(recorded)
	f.body, f.traceBody = body, recorded
	return f
}

// AttachConsole adds a console's /run connection and owns conn from then on. id is the
// console's number; an older connection with the same number is the same console's and is
// closed. The console is first sent the message that hello makes, and then every frame of the
// kernel, without a gap or overlap. It fails with ErrClosed if the router is closed.
func (r *Router) AttachConsole(conn protocol.Conn, id int, hello HelloFunc) (*Peer, error) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	owner := r.wouldBeOwner(id)
	first := hello.newHelloFrame(id, owner) // it may be large: made without mu, so that only the kernel's frames wait for it
	console := &runConsoleRole{defaultPeerRole: defaultPeerRole{r}, id: id, hello: hello}
	console.peer = newPeer(r, conn, peerConfig{
		role: console, name: "run", consoleID: id, hopIn: trace.ConsoleToServer, hopOut: trace.ServerToConsole,
	})
	p, err := r.attachPeer(console.peer, func() {
		for _, old := range r.runConsoles {
			if old.id == id {
				old.peer.beginClose(protocol.CloseReplaced, replacedCloseReason, nil)
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

// runConsoleRole implements [peerRole] for a console's connection at /run.
type runConsoleRole struct {
	defaultPeerRole
	peer  *Peer
	id    int // the console's number
	hello HelloFunc
}

// routeFrame routes a frame from a console at /run: a request for a summary, for debug_state or of a
// type that the kernel's ready message names goes to the kernel, commands such as run_cell are carried out only if the console owns the session,
// and an unknown type is answered with an error.
func (c *runConsoleRole) routeFrame(p *Peer, f frame) {
	r := c.router
	switch f.envelope.Type {
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState:
		r.askKernelForConsole(p, p.recordReceived(f, ""))
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell,
		protocol.TypeSetWidgetValue, protocol.TypeExecuteCode, protocol.TypeManagedProcessRestart:
		if f, allowed := r.recordIfFromOwner(p, f); allowed {
			r.routeOwnerCommand(p, f)
		}
	default:
		if r.doesKernelServe(f.envelope.Type) {
			r.askKernelForConsole(p, p.recordReceived(f, ""))
			return
		}
		p.recordReceived(f, trace.NoteDropped)
		p.sendErrorToRunConsole(f, fmt.Sprintf("unknown message type %q", f.envelope.Type), "")
	}
}

// reportMalformed sends the console at /run an error with problem, which says why its message
// could not be read.
func (c *runConsoleRole) reportMalformed(p *Peer, problem string) {
	p.sendErrorToRunConsole(frame{}, problem, "")
}

// onEnded removes a console at /run from the router and makes another console the session's
// owner if it was the owner.
func (c *runConsoleRole) onEnded(*Peer, []frame) {
	r := c.router
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.mu.Lock()
	r.runConsoles = slices.DeleteFunc(r.runConsoles, func(other *runConsoleRole) bool { return other == c })
	r.mu.Unlock()
	r.reassignOwner()
}

// sendHello makes a new hello message and sends it to the console at /run; owner tells whether
// the console owns the session.
func (c *runConsoleRole) sendHello(owner bool) { c.peer.send(c.hello.newHelloFrame(c.id, owner)) }

// ResendHello sends every console at /run a new hello message. Call it after the kernel was
// replaced, which changes the whole state.
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

// SendToRunConsoles sends every console at /run a message that the server itself made; message
// is encoded as JSON. A console that is being attached gets it after its hello message.
func (r *Router) SendToRunConsoles(message any) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.sendFrameToRunConsoles(newFrame(message))
}

// sendFrameToRunConsoles queues a frame for every console that is connected at /run.
func (r *Router) sendFrameToRunConsoles(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, console := range r.runConsoles {
		console.peer.send(f)
	}
}

// routeOwnerCommand carries out a recorded frame of the session's owner at /run: a command for a
// cell or widget, an execute_code, or a restart of the kernel or agent. While the agent's actions are
// refused and the server holds the document, all but stop_cell are refused too. (A console that holds the
// document may still have to run what the agent has asked for.)
func (r *Router) routeOwnerCommand(p *Peer, f frame) {
	r.mu.Lock()
	serverHolds, refusal := r.serverHolds, r.actionRefusal
	r.mu.Unlock()
	if serverHolds && refusal != "" && f.envelope.Type != protocol.TypeStopCell {
		p.sendErrorToRunConsole(f, refusal, "")
		return
	}
	switch f.envelope.Type {
	case protocol.TypeSetWidgetValue, protocol.TypeExecuteCode:
		r.askKernelForConsole(p, f)
	case protocol.TypeManagedProcessRestart:
		r.restartKernelOrAgent(p, f)
	case protocol.TypeRunCell:
		if serverHolds {
			r.editAndRunCell(p, f)
			return
		}
		fallthrough
	default:
		r.sendPeerCommandToKernel(p, f)
	}
}

// editAndRunCell carries out a console's run_cell if the server holds the document: it makes
// the code in the message the cell's source and runs the cell. If that fails the console gets
// an error.
func (r *Router) editAndRunCell(p *Peer, f frame) {
	var run struct {
		Code *string `json:"code"`
	}
	params := map[string]any{"cell_id": f.envelope.CellID}
	action := "run_cell"
	if err := json.Unmarshal(f.body, &run); err != nil {
		p.sendErrorToRunConsole(f, err.Error(), "")
		return
	}
	if run.Code != nil {
		action = "edit_cell"
		params["source"], params["auto_run"] = *run.Code, true
	}
	r.startServerAction(protocol.NewServerTxID(), action, params, f.bodySeq, func(a answer) {
		if _, err := a.result(protocol.TypeRunCell); err != nil {
			p.sendErrorToRunConsole(f, strings.Replace(err.Error(), "edit_cell: ", "", 1), "")
		}
	})
}

// restartKernelOrAgent restarts the kernel or the agent, whose name is in the console's message f, in a
// new goroutine, because that takes seconds. If the restart fails the console gets an error.
func (r *Router) restartKernelOrAgent(p *Peer, f frame) {
	var message struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(f.body, &message); err != nil {
		p.sendErrorToRunConsole(f, err.Error(), "")
		return
	}
	r.goroutines.Go(func() {
		if err := r.cfg.RestartChild(message.Name); err != nil {
			p.sendErrorToRunConsole(f, f.envelope.Type+": "+err.Error(), "")
		}
	})
}

// sendPeerCommandToKernel sends the kernel a recorded command, such as run_cell, of the console or
// server document p. If there is no kernel, the command is too large or the queue is full, it
// reports that with reportUnsentCommand.
func (r *Router) sendPeerCommandToKernel(p *Peer, f frame) {
	switch f.envelope.Type {
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue:
	default:
		p.sendErrorToRunConsole(f, fmt.Sprintf("unknown message type %q", f.envelope.Type), "")
		return
	}
	if f.envelope.Type == protocol.TypeRunCell {
		if err := requireCodeField(f.body); err != nil {
			p.sendErrorToRunConsole(f, err.Error(), "")
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
		r.reportUnsentCommand(p, f, text)
		return
	}
	if size := int64(len(f.body)); size > r.cfg.MaxFrameBytes {
		kernel.recordDroppedFrame(f)
		r.reportUnsentCommand(p, f, fmt.Sprintf("%s: a message of %d bytes, more than the %d that it may have", f.envelope.Type, size, r.cfg.MaxFrameBytes))
		return
	}
	full, closed := kernel.sendWithCallback(f, func() { // before it is written, as the kernel may answer at once
		switch f.envelope.Type {
		case protocol.TypeRunCell:
			r.executions.MarkRunSent(f.envelope.CellID)
		case protocol.TypeDisposeCell:
			r.executions.MarkCellDisposed(f.envelope.CellID)
		}
	})
	switch {
	case full:
		r.reportUnsentCommand(p, f, "the kernel does not read: too much is waiting for it")
	case closed:
		r.reportUnsentCommand(p, f, "the kernel is ending: it cannot "+f.envelope.Type)
	}
}

// reportUnsentCommand says why a command was not sent to the kernel. If the command is a
// run_cell the agent receives an error for the run, because it may wait for it. The console that sent
// the command gets an error; if the server's own document sent it, all consoles at /run do.
func (r *Router) reportUnsentCommand(p *Peer, f frame, why string) {
	if f.envelope.Type == protocol.TypeRunCell {
		r.reportFailedRun(f.envelope.CellID, why)
	}
	if p.hopIn != "" {
		p.sendErrorToRunConsole(f, why, "")
		return
	}
	r.SendToRunConsoles(protocol.ErrorResponse{Type: protocol.TypeError, Data: protocol.ErrorResponseData{Message: why}})
}

// requireCodeField returns an error if the JSON message body has no field "code". Without this
// check the kernel would only report that the message is malformed.
func requireCodeField(body []byte) error {
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

// sendErrorToRunConsole sends a console at /run an error message with this text. request is the
// console's frame that caused the error; the zero frame means that no particular one did. note
// goes into the trace entry.
func (p *Peer) sendErrorToRunConsole(request frame, text string, note trace.Note) {
	f := newFrame(protocol.ErrorResponse{
		Type: protocol.TypeError, AgentTxID: request.envelope.AgentTxID, Data: protocol.ErrorResponseData{Message: text},
	})
	f.causeSeq, f.note = request.bodySeq, note
	p.send(f)
}

// askKernelForConsole sends the kernel a console's request and sends the answer, or an error,
// to that console alone. The answer has the id that the console gave its request, or no id if
// it gave none.
func (r *Router) askKernelForConsole(p *Peer, f frame) {
	request := &pendingRequest{
		id: protocol.NewServerTxID(), action: f.envelope.Type, answerer: answeredByKernel, timeout: r.cfg.RequestTimeout,
	}
	if f.envelope.Type == protocol.TypeExecuteCode {
		request.timeout = r.cfg.CellTimeout
		if err := requireCodeField(f.body); err != nil {
			p.sendErrorToRunConsole(f, err.Error(), "")
			return
		}
	}
	request.reply = func(a answer) {
		if a.failure != "" {
			p.sendErrorToRunConsole(f, a.failure, a.note)
			return
		}
		var id any // nil removes the field
		if f.envelope.AgentTxID != "" {
			id = f.envelope.AgentTxID
		}
		p.sendWithReplacedFields(a.frame, protocol.Field{Name: "agent_tx_id", Value: id})
	}
	body, err := protocol.ReplaceFields(f.body, protocol.Field{Name: "agent_tx_id", Value: request.id})
	if err != nil {
		p.sendErrorToRunConsole(f, err.Error(), "")
		return
	}
	toKernel := newFrameFromBody(body)
	toKernel.causeSeq = f.bodySeq
	if r.inFlight.add(request, r.replyWithKernelTimeoutError) {
		r.sendToKernelOrFail(request, toKernel)
	}
}

// sendWithReplacedFields sends the console p a frame that is in the trace already, with some of its
// top-level JSON fields replaced. If the frame is no JSON object it sends an error instead.
func (p *Peer) sendWithReplacedFields(f frame, fields ...protocol.Field) {
	body, err := protocol.ReplaceFields(f.body, fields...)
	if err != nil {
		p.sendErrorToRunConsole(f, err.Error(), "")
		return
	}
	replaced := newFrameFromBody(body)
	replaced.causeSeq = f.bodySeq
	p.send(replaced)
}
