package router

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// AttachKernel makes conn the connection of the session's kernel and owns conn from then on.
// ready is the kernel's ready message: with Actions it is asked for summaries by agent_action, and
// consoles may send it the Requests. It fails with ErrClosed if the router is closed.
func (r *Router) AttachKernel(conn protocol.Conn, ready protocol.Ready) (*Peer, error) {
	p := newPeer(r, conn, peerConfig{
		role: kernelRole{defaultPeerRole{r}}, name: "kernel", hopIn: trace.KernelToServer, hopOut: trace.ServerToKernel,
	})
	return r.attachPeer(p, func() {
		r.kernel, r.kernelReady, r.kernelEndReason, r.lastGlobalsSummary = p, ready, "", globalsSummary{}
	})
}

// kernelRole implements [peerRole] for the kernel.
type kernelRole struct{ defaultPeerRole }

// routeFrame routes a frame from the kernel: a frame about a run of a cell goes to the consoles and,
// if it starts or ends the run, to the agent as kernel_message; an error, and a summary for which
// nobody has asked, go to the consoles at /run; any other frame is an answer and goes to the peer that
// asked.
func (k kernelRole) routeFrame(p *Peer, f frame) {
	r := k.router
	if isRunFrame(f.envelope.Type) {
		r.routeRunFrame(p, f)
		return
	}
	switch {
	case f.envelope.Type == protocol.TypeError:
		f = p.recordReceived(f, "")
		r.log.Warn("the kernel did not understand a message", "error", fmt.Sprintf("%.500s", f.body)) // it may be as large as a frame
		r.sendFrameToRunConsoles(f)
	case r.isUnsolicited(f.envelope):
		f = p.recordReceived(f, "")
		if isGlobalsSummary(f.envelope.Type) {
			r.rememberGlobalsSummary(f)
		}
		r.sendFrameToRunConsoles(f)
	case f.envelope.Type == protocol.TypeActionResponse:
		r.routeKernelAnswer(p, f, f.envelope.TxID)
	default:
		r.routeKernelAnswer(p, f, f.envelope.AgentTxID)
	}
}

// doesKernelServe reports whether the kernel's ready message names this type of request.
func (r *Router) doesKernelServe(requestType string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.kernelReady.Requests, requestType)
}

// isUnsolicited reports whether a frame of the kernel answers no request, since it has no id, and is of
// a type that kernels of the original protocol send by themselves: a summary, or something that belongs
// to one of the kernel's additional requests.
func (r *Router) isUnsolicited(e protocol.Envelope) bool {
	switch {
	case e.AgentTxID != "":
		return false
	case e.Type == protocol.TypeGlobalsSummary, e.Type == protocol.TypeReactivitySummary:
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.kernelReady.Requests, func(request string) bool { return strings.HasPrefix(e.Type, request) })
}

// onQueueFull records a frame for which the kernel's queue has no room as dropped. The function
// that sent it replies with an error.
func (k kernelRole) onQueueFull(p *Peer, f frame) { p.recordDroppedFrame(f) }

// onSentWhileEnding records a frame that was sent to a kernel which is disconnecting as
// dropped.
func (k kernelRole) onSentWhileEnding(p *Peer, f frame) { p.recordDroppedFrame(f) }

// onEnded removes the kernel from the router, marks its open runs as failed and replies to all
// requests to the kernel with an error that says why the kernel ended.
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
		r.cellRuns.endAll()
		open := r.executions.CellsWithOpenRuns()
		r.executions.MarkKernelEnded()
		for _, cellID := range open {
			r.reportFailedRun(cellID, text)
		}
	}
	r.inFlight.failMatching(text, func(p *pendingRequest) bool { return p.answerer == answeredByKernel })
}

// routeRunFrame applies a kernel frame about a run of a cell to the executions and sends it to
// the consoles at /run that have no view, because a view gets it from the trace. If the frame
// starts or ends a run, the agent is sent a kernel_message; without an agent that is noted as
// dropped. A frame that does not fit comes from code in a cell: the agent is not sent a message that it
// might not understand.
func (r *Router) routeRunFrame(p *Peer, f frame) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	f = p.recordReceived(f, "")
	err := r.executions.ApplyFrame(f.bodySeq, f.envelope, f.body)
	if err != nil {
		r.log.Warn("a kernel frame does not fit", "type", f.envelope.Type, "error", err)
	}
	r.mu.Lock()
	for _, console := range r.runConsoles {
		if !r.pairedConsoles[console.id] {
			console.peer.send(f)
		}
	}
	r.mu.Unlock()
	wasStopped := r.cellRuns.noteFrame(f.envelope)
	if content, ok := r.executions.KernelMessage(f.envelope, f.body); ok && err == nil {
		if wasStopped {
			content = r.withLimitNotice(content)
		}
		relay := newFrame(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: content})
		relay.envelope.CellID, relay.note, relay.causeSeq = f.envelope.CellID, trace.NoteRelayed, f.bodySeq
		r.sendKernelMessage(relay)
	}
}

// sendKernelMessage sends the agent a kernel_message. If there is no agent, it appends an entry
// with the note dropped and without the body to the trace.
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

// routeKernelAnswer delivers an answer from the kernel to the request with this id. If the
// request has ended or is unknown, the answer is recorded as duplicate, late or orphaned, and
// dropped. A globals summary is remembered in any case, unless it is a duplicate.
func (r *Router) routeKernelAnswer(p *Peer, f frame, id string) {
	request, ended := r.inFlight.takeByID(id)
	f = p.recordReceived(f, ended.answerNote)
	action := ended.action
	if request != nil {
		action = request.action
	}
	if isGlobalsSummary(action) && ended.answerNote != trace.NoteDuplicate {
		r.rememberGlobalsSummary(f)
	}
	if request != nil {
		request.reply(answer{frame: f})
	}
}

// askKernelForAgent sends the kernel a request for an agent's action that only the kernel can
// answer. The agent gets an error if a parameter is wrong or the action's tx_id is in flight
// already.
func (r *Router) askKernelForAgent(p *Peer, f frame) {
	request := &pendingRequest{
		id: protocol.NewServerTxID(), agentTxID: f.envelope.TxID, askedByAgent: true, action: f.envelope.Action,
		answerer: answeredByKernel, timeout: r.cfg.RequestTimeout,
	}
	request.reply = func(a answer) {
		if a.failure == "" {
			a.frame = newResponse(protocol.TypeActionResponse, request.agentTxID, request.action, a)
		}
		r.answerAgent(request.agentTxID, a)
	}
	toKernel, err := r.newKernelActionFrame(request, f.body)
	if err != nil {
		p.recordReceived(f, trace.NoteIntercepted)
		request.reply(answer{failure: err.Error()})
		return
	}
	if !r.inFlight.add(request, r.replyWithKernelTimeoutError) {
		p.recordReceived(f, trace.NoteTamper)
		r.answerAgent(request.agentTxID, answer{failure: fmt.Sprintf("tx_id %q is in flight already", request.agentTxID)})
		return
	}
	toKernel.causeSeq = p.recordReceived(f, trace.NoteIntercepted).bodySeq
	r.sendToKernelOrFail(request, toKernel)
}

// newKernelActionFrame makes the frame that asks the kernel to perform an action; body is the
// agent_action message. For an execute_code it also sets the request's timeout. It fails if a
// parameter is missing or wrong.
func (r *Router) newKernelActionFrame(request *pendingRequest, body []byte) (frame, error) {
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
		return r.newKernelSummaryRequest(request), nil
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

// executeCodeTimeout returns the time limit of an execute_code: the requested number of
// seconds, or Config.CellTimeout if that is nil, not positive or larger than it.
func (r *Router) executeCodeTimeout(seconds *float64) time.Duration {
	if seconds == nil || *seconds <= 0 || *seconds > r.cfg.CellTimeout.Seconds() {
		return r.cfg.CellTimeout
	}
	return time.Duration(*seconds * float64(time.Second))
}

// newKernelSummaryRequest makes the frame that asks the kernel for a summary: an agent_action if the
// kernel takes those, and otherwise a message with the summary's own type.
func (r *Router) newKernelSummaryRequest(request *pendingRequest) frame {
	r.mu.Lock()
	takesActions := r.kernelReady.Actions
	r.mu.Unlock()
	if takesActions {
		return newFrame(protocol.AgentAction{
			Type: protocol.TypeAgentAction, Action: request.action, Params: json.RawMessage("{}"), TxID: request.id,
		})
	}
	return newFrame(protocol.KernelRequest{Type: strings.TrimPrefix(request.action, "request_"), AgentTxID: request.id})
}

// sendToKernelOrFail sends the kernel the frame of a request that is in flight. If there is no
// kernel, the frame is too large or the kernel's queue is full, it removes the request and
// replies with an error. For a globals summary it starts the timer after which an older summary
// is given.
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
		r.inFlight.startStaleSummaryTimer(request, r.cfg.StaleDelay, func() { r.answerWithStaleSummary(request) })
	}
}

// replyWithKernelTimeoutError replies with an error to a request that the kernel has not answered
// before its deadline. If it is an execute_code, the kernel receives an interrupt for the code.
func (r *Router) replyWithKernelTimeoutError(request *pendingRequest) {
	if request.action != protocol.TypeExecuteCode {
		r.replyWithTimeoutError(request)
		return
	}
	r.logTimeout(request)
	text := fmt.Sprintf("execute_code did not end within %v and was interrupted", request.timeout)
	if err := r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: request.id}); err != nil {
		text += "; " + err.Error()
	}
	request.reply(answer{failure: text, note: trace.NoteTimedOut})
}

// InterruptExecuteCode tells the kernel to interrupt every execute_code of the agent that is in
// flight. It does nothing if there is no kernel.
func (r *Router) InterruptExecuteCode() {
	for _, id := range r.inFlight.executeCodeIDs() {
		_ = r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}) // without a kernel nothing runs
	}
}

// SendToKernel sends the kernel a message that the server itself made; message is encoded as
// JSON. It fails with ErrNotConnected if there is no kernel, and with another error if the
// kernel's queue is full.
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

// reportFailedRun sends the agent a kernel_message that a run of the cell failed because no
// kernel could run it, as the agent may wait for the run. text says why.
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
