package router

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// AttachKernel makes conn the session's kernel, and owns conn from then on.
// takesActions says that the kernel's ready announced "actions": it is asked for
// summaries by agent_action. It returns ErrClosed if the router is closed.
func (r *Router) AttachKernel(conn protocol.Conn, takesActions bool) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{
		role: kernelRole{defaultRole{r}}, name: "kernel", hopIn: trace.KernelToServer, hopOut: trace.ServerToKernel,
	})
	return r.attach(p, func() {
		r.kernel, r.kernelTakesActions, r.kernelEndReason, r.lastGlobalsSummary = p, takesActions, "", globalsSummary{}
	})
}

// kernelRole is the [role] of the kernel.
type kernelRole struct{ defaultRole }

// route routes answers to whoever has asked, the frames of runs to every console,
// and what the agent must know of a run to the agent.
func (k kernelRole) route(p *Peer, f frame) {
	r := k.router
	if isRunFrame(f.envelope.Type) {
		r.routeRunFrame(p, f)
		return
	}
	switch f.envelope.Type {
	case protocol.TypeError:
		f = p.recordIn(f, "")
		r.log.Warn("the kernel did not understand a message", "error", string(f.body))
		r.sendFrameToRunConsoles(f)
	case protocol.TypeActionResponse:
		r.routeKernelAnswer(p, f, f.envelope.TxID)
	default:
		r.routeKernelAnswer(p, f, f.envelope.AgentTxID)
	}
}

// onQueueFull notes the frame as dropped. Its sender answers with an error.
func (k kernelRole) onQueueFull(p *Peer, f frame) { p.recordDropped(f) }

// onSentWhileEnding notes the frame as dropped.
func (k kernelRole) onSentWhileEnding(p *Peer, f frame) { p.recordDropped(f) }

// onEnded fails the open runs and the requests to the kernel, naming why it ended.
func (k kernelRole) onEnded(p *Peer, _ []frame) {
	r := k.router
	reason := "its connection was closed"
	if p.endErr != nil {
		reason = p.endErr.Error()
	}
	r.mu.Lock()
	current := r.kernel == p
	if current {
		r.kernel, r.kernelEndReason = nil, reason
	}
	r.mu.Unlock()
	text := "the kernel has ended: " + reason
	if current {
		open := r.executions.OpenCells()
		r.executions.MarkKernelEnded()
		for _, cellID := range open {
			r.reportFailedRun(cellID, text)
		}
	}
	r.inFlight.fail(text, func(p *pendingRequest) bool { return p.answerer == answeredByKernel })
}

// routeRunFrame applies a frame about a run to the executions and sends it to the
// consoles at /run that have no view, as a view is shown it from the trace. The
// agent is sent a kernel_message if the frame starts or ends a run; without an
// agent that is noted as dropped.
func (r *Router) routeRunFrame(p *Peer, f frame) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	f = p.recordIn(f, "")
	if err := r.executions.ApplyFrame(f.bodySeq, f.envelope, f.body); err != nil {
		r.log.Warn("a kernel frame does not fit", "type", f.envelope.Type, "error", err)
	}
	r.mu.Lock()
	for _, console := range r.runConsoles {
		if !r.pairedConsoles[console.id] {
			console.peer.send(f)
		}
	}
	r.mu.Unlock()
	if content, ok := r.executions.KernelMessage(f.envelope, f.body); ok {
		relay := newFrame(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: content})
		relay.envelope.CellID, relay.note, relay.causeSeq = f.envelope.CellID, trace.NoteRelayed, f.bodySeq
		r.sendKernelMessage(relay)
	}
}

// sendKernelMessage sends the agent a kernel_message. Without an agent it appends a
// note to the trace, without the message's body.
func (r *Router) sendKernelMessage(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent != nil {
		r.agent.send(f)
		return
	}
	r.journal.Append(trace.Entry{
		Hop: trace.ServerToAgent, Envelope: f.envelope, Note: trace.NoteDropped, BodyBytes: len(f.body), CauseSeq: f.causeSeq,
	})
}

// routeKernelAnswer gives an answer of the kernel to the request with this id. If
// that has ended, the answer is noted as duplicate, late or orphaned, and dropped.
func (r *Router) routeKernelAnswer(p *Peer, f frame, id string) {
	request, ended := r.inFlight.takeByID(id)
	f = p.recordIn(f, ended.answerNote)
	action := ended.action
	if request != nil {
		action = request.action
	}
	if isGlobalsSummary(action) && ended.answerNote != trace.NoteDuplicate {
		r.rememberSummary(f)
	}
	if request != nil {
		request.reply(answer{frame: f})
	}
}

// askKernelForAgent asks the kernel on behalf of an action of the agent that only
// the kernel can answer.
func (r *Router) askKernelForAgent(p *Peer, f frame) {
	request := &pendingRequest{
		id: protocol.NewServerTxID(), agentTxID: f.envelope.TxID, askedByAgent: true, action: f.envelope.Action,
		answerer: answeredByKernel, timeout: r.cfg.DocumentTimeout,
	}
	request.reply = func(a answer) {
		if a.failure == "" {
			a.frame = newResponse(protocol.TypeActionResponse, request.agentTxID, request.action, a)
		}
		r.answerAgent(request.agentTxID, a)
	}
	toKernel, err := r.newKernelFrame(request, f.body)
	if err != nil {
		p.recordIn(f, trace.NoteIntercepted)
		request.reply(answer{failure: err.Error()})
		return
	}
	if !r.inFlight.add(request, r.answerKernelTimedOut) {
		p.recordIn(f, trace.NoteTamper)
		r.answerAgent(request.agentTxID, answer{failure: fmt.Sprintf("tx_id %q is in flight already", request.agentTxID)})
		return
	}
	toKernel.causeSeq = p.recordIn(f, trace.NoteIntercepted).bodySeq
	r.sendToKernelOrFail(request, toKernel)
}

// newKernelFrame makes the frame that asks the kernel for an action; body is the
// action's message. For an execute_code it also sets the request's timeout. An
// error says which parameter is missing or wrong.
func (r *Router) newKernelFrame(request *pendingRequest, body []byte) (frame, error) {
	var action struct {
		Params struct {
			Key      string   `json:"key"`
			Code     *string  `json:"code"`
			Session  string   `json:"session"`
			TimeoutS *float64 `json:"timeout_s"`
			Pristine bool     `json:"pristine"`
		} `json:"params"`
	}
	if err := json.Unmarshal(body, &action); err != nil {
		return frame{}, fmt.Errorf("%s: %w", request.action, err)
	}
	params := action.Params
	message := protocol.KernelRequest{AgentTxID: request.id}
	switch request.action {
	case "request_globals_summary", "request_reactivity_summary":
		return r.newSummaryFrame(request), nil
	case "get_global_info":
		if params.Key == "" {
			return frame{}, fmt.Errorf("get_global_info: params.key is missing or empty")
		}
		message.Type, message.Key = protocol.TypeGetGlobalInfo, params.Key
	case "reset_kernel_globals":
		message.Type = protocol.TypeResetGlobals
	case "execute_code":
		if params.Code == nil {
			return frame{}, fmt.Errorf("execute_code: params.code is missing")
		}
		message.Type, message.Code, message.Session = protocol.TypeExecuteCode, params.Code, params.Session
		request.timeout = r.executeCodeTimeout(params.TimeoutS)
		message.TimeoutS = request.timeout.Seconds()
		message.Pristine = params.Pristine && !request.askedByAgent // only the server's own code, such as a grader's, may ask for it
	}
	return newFrame(message), nil
}

// executeCodeTimeout returns how long an execute_code may take: seconds, at most
// the cell timeout. nil, and what is not positive, means the cell timeout.
func (r *Router) executeCodeTimeout(seconds *float64) time.Duration {
	if seconds == nil || *seconds <= 0 || *seconds > r.cfg.CellTimeout.Seconds() {
		return r.cfg.CellTimeout
	}
	return time.Duration(*seconds * float64(time.Second))
}

// newSummaryFrame makes the frame that asks the kernel for a summary, in the form
// that the kernel takes.
func (r *Router) newSummaryFrame(request *pendingRequest) frame {
	r.mu.Lock()
	takesActions := r.kernelTakesActions
	r.mu.Unlock()
	if takesActions {
		return newFrame(protocol.AgentAction{
			Type: protocol.TypeAgentAction, Action: request.action, Params: json.RawMessage("{}"), TxID: request.id,
		})
	}
	return newFrame(protocol.KernelRequest{Type: strings.TrimPrefix(request.action, "request_"), AgentTxID: request.id})
}

// sendToKernelOrFail sends the kernel the frame of a request that was added to
// inFlight. It ends the request with an error if there is no kernel, the frame is
// too large, or the kernel's queue is full. For a globals summary it starts the
// timer that gives an older one.
func (r *Router) sendToKernelOrFail(request *pendingRequest, f frame) {
	r.mu.Lock()
	kernel, endReason := r.kernel, r.kernelEndReason
	r.mu.Unlock()
	failure := ""
	switch {
	case kernel == nil && endReason == "":
		failure = "there is no kernel"
	case kernel == nil:
		failure = "the kernel has ended: " + endReason
	case int64(len(f.body)) > r.cfg.MaxFrameBytes:
		failure = fmt.Sprintf("a request of %d bytes, more than the %d that a message may have", len(f.body), r.cfg.MaxFrameBytes)
	case !kernel.send(f):
		failure = "the kernel does not read: too much is waiting for it"
	}
	if failure != "" {
		if r.inFlight.remove(request, trace.NoteLate) {
			request.reply(answer{failure: failure})
		}
		return
	}
	if isGlobalsSummary(request.action) {
		r.inFlight.startStaleTimer(request, r.cfg.StaleDelay, func() { r.answerWithStaleSummary(request) })
	}
}

// answerKernelTimedOut answers a request that the kernel has not answered in time
// with an error, and interrupts the code if it is an execute_code.
func (r *Router) answerKernelTimedOut(request *pendingRequest) {
	if request.action != protocol.TypeExecuteCode {
		r.answerTimedOut(request)
		return
	}
	r.logTimeout(request)
	text := fmt.Sprintf("execute_code did not end within %v and was interrupted", request.timeout)
	if err := r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: request.id}); err != nil {
		text += "; " + err.Error()
	}
	request.reply(answer{failure: text, note: trace.NoteTimedOut})
}

// InterruptExecuteCode interrupts every execute_code of the agent that is in
// flight.
func (r *Router) InterruptExecuteCode() {
	for _, id := range r.inFlight.executeCodeIDs() {
		_ = r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}) // without a kernel nothing runs
	}
}

// SendToKernel sends the kernel one of the server's own messages. It returns
// ErrNotConnected if there is no kernel, and another error if its queue is full.
func (r *Router) SendToKernel(message any) error {
	r.mu.Lock()
	kernel := r.kernel
	r.mu.Unlock()
	if kernel == nil {
		return fmt.Errorf("kernel: %w", ErrNotConnected)
	}
	if !kernel.send(newFrame(message)) {
		return fmt.Errorf("kernel: too much is waiting for it")
	}
	return nil
}

// reportFailedRun tells the agent, which may wait for a run of the cell, that the
// run has failed for want of a kernel. text says why.
func (r *Router) reportFailedRun(cellID, text string) {
	none := []string{}
	result, err := protocol.Marshal(protocol.KernelMessageResult{
		CellResult: protocol.CellResult{
			Type: protocol.TypeCellResult, CellID: cellID, Status: protocol.StatusError, HasException: true, Exception: text,
			Outputs: none, DataframeOutputs: none, FigureOutputs: none, StaticFigureOutputs: none,
		},
		CellOutputs: []json.RawMessage{},
	})
	if err != nil {
		r.log.Error("the failure of a run could not be reported", "error", err)
		return
	}
	f := newFrame(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: result})
	f.envelope.CellID = cellID
	r.sendKernelMessage(f)
}
