package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// HelloFunc makes what a console at /run is told first, the state so far, and what
// the trace has of it, which has all that happened already. It is made anew when
// the state changes at one blow: with another kernel, or when the console becomes
// the session's owner.
type HelloFunc func(id int, owner bool) (body, recorded []byte)

func (g HelloFunc) item(id int, owner bool) item {
	body, recorded := g(id, owner)
	it := frame(recorded)
	it.body, it.recorded = body, recorded
	return it
}

// AttachConsole adds a console's /run connection under its number, which no other
// console has. It is sent its greeting, made while no kernel frame passes, and
// then every kernel frame. One that is attached under this number is the same
// console, and is closed.
func (r *Router) AttachConsole(conn protocol.Conn, id int, greet HelloFunc) (*Peer, error) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	owner := r.willOwn(id)
	greeting := greet.item(id, owner) // it may be large: only the kernel's frames wait for it
	p, err := r.attach(conn, id, "run", trace.ConsoleToServer, trace.ServerToConsole, func(p *Peer) {
		p.handle, p.before, p.overflow, p.ended = r.fromConsole, r.journal.WaitForRoom, p.tooSlow, r.consoleEnded
		p.greet = func(owner bool) item { return greet.item(id, owner) }
		p.complain = func(text string) { p.sendError(item{}, text, "") }
		for _, old := range r.consoles {
			if old.id == id {
				old.end(protocol.CloseReplaced, replaced, nil)
			}
			if old.id == id && r.owner == old {
				r.owner = p
			}
		}
		r.consoles = append(slices.DeleteFunc(r.consoles, func(c *Peer) bool { return c.id == id }), p)
		p.send(greeting)
	})
	if err == nil && owner {
		r.succeed()
	}
	return p, err
}

// fromConsole routes what a console at /run sends.
func (r *Router) fromConsole(p *Peer, it item) {
	switch it.env.Type {
	case protocol.TypeGlobalsSummary, protocol.TypeReactivitySummary, protocol.TypeDebugState:
		r.askKernelForConsole(p, p.enter(it, ""))
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell,
		protocol.TypeSetWidgetValue, protocol.TypeExecuteCode, protocol.TypeManagedProcessRestart:
		if it, may := r.enterOwned(p, it); may {
			r.fromOwner(p, it)
		}
	default:
		p.enter(it, trace.NoteDropped)
		p.sendError(it, fmt.Sprintf("unknown message type %q", it.env.Type), "")
	}
}

// fromOwner routes what only the session's owner may ask for at /run.
func (r *Router) fromOwner(p *Peer, it item) {
	r.mu.Lock()
	ownDoc := r.ownDoc
	r.mu.Unlock()
	switch it.env.Type {
	case protocol.TypeSetWidgetValue, protocol.TypeExecuteCode:
		r.askKernelForConsole(p, it)
	case protocol.TypeManagedProcessRestart:
		r.restart(p, it)
	case protocol.TypeRunCell:
		if ownDoc {
			r.editAndRun(p, it)
			return
		}
		fallthrough
	default:
		r.toKernelFrom(p, it)
	}
}

// editAndRun is a console's run_cell when the server holds the document: the
// cell gets the code that is to run.
func (r *Router) editAndRun(p *Peer, it item) {
	var run struct {
		Code *string `json:"code"`
	}
	params := map[string]any{"cell_id": it.env.CellID}
	action := "run_cell"
	if err := json.Unmarshal(it.body, &run); err != nil {
		p.sendError(it, err.Error(), "")
		return
	}
	if run.Code != nil {
		action = "edit_cell"
		params["source"], params["auto_run"] = *run.Code, true
	}
	r.ask(protocol.NewServerTxID(), action, params, it.ref, func(a answer) {
		if _, err := a.result(protocol.TypeRunCell); err != nil {
			p.sendError(it, strings.Replace(err.Error(), "edit_cell: ", "", 1), "")
		}
	})
}

// restart lets the session start a child anew, which takes its time.
func (r *Router) restart(p *Peer, it item) {
	var message struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(it.body, &message); err != nil {
		p.sendError(it, err.Error(), "")
		return
	}
	r.peers.Go(func() {
		if err := r.cfg.RestartChild(message.Name); err != nil {
			p.sendError(it, it.env.Type+": "+err.Error(), "")
		}
	})
}

// toKernelFrom passes on what makes the kernel do something. The frame has been
// entered.
func (r *Router) toKernelFrom(p *Peer, it item) {
	switch it.env.Type {
	case protocol.TypeRunCell, protocol.TypeStopCell, protocol.TypeDisposeCell, protocol.TypeSetWidgetValue:
	default:
		p.sendError(it, fmt.Sprintf("unknown message type %q", it.env.Type), "")
		return
	}
	if it.env.Type == protocol.TypeRunCell {
		if err := needsCode(it.body); err != nil {
			p.sendError(it, err.Error(), "")
			return
		}
	}
	r.mu.Lock()
	kernel, gone := r.kernel, r.gone
	r.mu.Unlock()
	if kernel == nil {
		text := "there is no kernel to " + it.env.Type
		if gone != "" {
			text += ": the last one has ended: " + gone
		}
		r.cannot(p, it, text)
		return
	}
	if size := int64(len(it.body)); size > r.cfg.MaxFrameBytes {
		kernel.drop(it)
		r.cannot(p, it, fmt.Sprintf("%s: a message of %d bytes, more than the %d that it may have", it.env.Type, size, r.cfg.MaxFrameBytes))
		return
	}
	full, closed := kernel.sendThen(it, func() { // before it is written: the kernel may be quicker than we are
		switch it.env.Type {
		case protocol.TypeRunCell:
			r.runs.MarkSent(it.env.CellID)
		case protocol.TypeDisposeCell:
			r.runs.MarkDisposed(it.env.CellID)
		}
	})
	switch {
	case full:
		r.cannot(p, it, "the kernel does not read: too much is waiting for it")
	case closed:
		r.cannot(p, it, "the kernel is ending: it cannot "+it.env.Type)
	}
}

// cannot says why the kernel does not get a message: to the agent, which may wait
// for what is run, and to who has sent it; where that is the server's own
// document, which has answered already and does not listen, to all who look at it.
func (r *Router) cannot(p *Peer, it item, text string) {
	if it.env.Type == protocol.TypeRunCell {
		r.failRun(it.env.CellID, text)
	}
	if p.in != "" {
		p.sendError(it, text, "")
		return
	}
	r.SendToRunConsoles(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: text}})
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

// sendError tells p what is wrong with a message of its own.
func (p *Peer) sendError(of item, text string, note trace.Note) {
	it := message(protocol.Error{
		Type: protocol.TypeError, AgentTxID: of.env.AgentTxID, Data: protocol.ErrorData{Message: text},
	})
	it.cause, it.note = of.ref, note
	p.send(it)
}

// askKernelForConsole asks the kernel and gives the answer to p alone, with the
// id that p has asked with.
func (r *Router) askKernelForConsole(p *Peer, it item) {
	ask := &pending{id: protocol.NewServerTxID(), action: it.env.Type, whom: byKernel, within: r.cfg.DocumentTimeout}
	if it.env.Type == protocol.TypeExecuteCode {
		ask.within = r.cfg.CellTimeout
		if err := needsCode(it.body); err != nil {
			p.sendError(it, err.Error(), "")
			return
		}
	}
	ask.reply = func(a answer) {
		if a.failed != "" {
			p.sendError(it, a.failed, a.note)
			return
		}
		var id any
		if it.env.AgentTxID != "" {
			id = it.env.AgentTxID
		}
		p.sendRewritten(a.it, protocol.Field{Name: "agent_tx_id", Value: id})
	}
	body, err := protocol.ReplaceFields(it.body, protocol.Field{Name: "agent_tx_id", Value: ask.id})
	if err != nil {
		p.sendError(it, err.Error(), "")
		return
	}
	request := frame(body)
	request.cause = it.ref
	if r.table.add(ask, r.kernelTimedOut) {
		r.askKernel(ask, request)
	}
}

func (p *Peer) sendRewritten(it item, fields ...protocol.Field) {
	body, err := protocol.ReplaceFields(it.body, fields...)
	if err != nil {
		p.sendError(it, err.Error(), "")
		return
	}
	answer := frame(body)
	answer.cause = it.ref
	p.send(answer)
}

func (r *Router) consoleEnded(p *Peer, _ []item) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.mu.Lock()
	r.consoles = slices.DeleteFunc(r.consoles, func(c *Peer) bool { return c == p })
	r.mu.Unlock()
	r.succeed()
}

// SendToRunConsoles sends every console at /run a message of the server's own. One that is
// being greeted gets it behind its greeting.
func (r *Router) SendToRunConsoles(msg any) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.toConsoles(message(msg))
}

func (r *Router) toConsoles(it item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, console := range r.consoles {
		console.send(it)
	}
}

// ResendHello sends every console at /run its greeting again: the kernel is another.
func (r *Router) ResendHello() {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	r.mu.Lock()
	consoles, owner := slices.Clone(r.consoles), r.owner
	r.mu.Unlock()
	for _, console := range consoles {
		console.send(console.greet(!r.cfg.ReadOnly && (r.cfg.Shared || console == owner)))
	}
}
