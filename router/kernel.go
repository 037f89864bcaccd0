package router

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// fromKernel routes what the kernel sends: answers to who has asked, the frames
// of runs to every console, and what matters of a run to the agent.
func (r *Router) fromKernel(p *Peer, it item) {
	if isOfRun(it.env.Type) {
		r.fromRun(p, it)
		return
	}
	switch it.env.Type {
	case protocol.TypeError:
		it = p.enter(it, "")
		r.log.Warn("the kernel did not understand a message", "error", string(it.body))
		r.toConsoles(it)
	case protocol.TypeActionResponse:
		r.fromKernelAnswer(p, it, it.env.TxID)
	default:
		r.fromKernelAnswer(p, it, it.env.AgentTxID)
	}
}

// isOfRun tells whether a kernel frame is about the runs of cells.
func isOfRun(kind string) bool {
	switch kind {
	case protocol.TypeStartCell, protocol.TypeKernelStdio, protocol.TypeCellOutput,
		protocol.TypeCellResult, protocol.TypeRunQueue, protocol.TypeCellWidgets:
		return true
	default:
		return false
	}
}

func (r *Router) fromRun(p *Peer, it item) {
	r.kernelOrder.Lock()
	defer r.kernelOrder.Unlock()
	it = p.enter(it, "")
	if err := r.runs.ApplyFrame(it.ref, it.env, it.body); err != nil {
		r.log.Warn("a kernel frame does not fit", "type", it.env.Type, "error", err)
	}
	r.toRunConsoles(it)
	if told, ok := r.runs.KernelMessage(it.env, it.body); ok {
		relay := message(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: told})
		relay.env.CellID, relay.note, relay.cause = it.env.CellID, trace.NoteRelayed, it.ref
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.agent != nil {
			r.agent.send(relay)
		}
	}
}

// toRunConsoles sends a frame of a run to every console that does not get it at
// its view.
func (r *Router) toRunConsoles(it item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, console := range r.consoles {
		if !r.tied[console.id] {
			console.send(it)
		}
	}
}

func (r *Router) fromKernelAnswer(p *Peer, it item, id string) {
	ask, was := r.table.take(id)
	it = p.enter(it, was.note)
	action := was.action
	if ask != nil {
		action = ask.action
	}
	if isGlobals(action) && was.note != trace.NoteDuplicate {
		r.keepSummary(it)
	}
	if ask != nil {
		ask.reply(answer{it: it})
	}
}

// askKernelForAgent passes an action on that only the kernel can answer.
func (r *Router) askKernelForAgent(p *Peer, it item) {
	ask := &pending{
		id: protocol.NewServerTxID(), agent: it.env.TxID, byAgent: true, action: it.env.Action,
		whom: byKernel, within: r.cfg.DocumentTimeout,
	}
	ask.reply = func(a answer) {
		if a.failed == "" {
			a.it = respond(protocol.TypeActionResponse, ask.agent, ask.action, a)
		}
		r.answerAgent(ask.agent, a)
	}
	request, err := r.kernelRequest(ask, it.body)
	if err != nil {
		p.enter(it, trace.NoteIntercepted)
		ask.reply(answer{failed: err.Error()})
		return
	}
	if !r.table.add(ask, r.kernelTimedOut) {
		p.enter(it, trace.NoteTamper)
		r.answerAgent(ask.agent, answer{failed: fmt.Sprintf("tx_id %q is in flight already", ask.agent)})
		return
	}
	request.cause = p.enter(it, trace.NoteIntercepted).ref
	r.askKernel(ask, request)
}

// kernelRequest makes the request to the kernel for an action, and for an
// execute_code its deadline.
func (r *Router) kernelRequest(ask *pending, body []byte) (item, error) {
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
		return item{}, fmt.Errorf("%s: %w", ask.action, err)
	}
	params := action.Params
	request := protocol.KernelRequest{AgentTxID: ask.id}
	switch ask.action {
	case "request_globals_summary", "request_reactivity_summary":
		return r.summaryRequest(ask), nil
	case "get_global_info":
		if params.Key == "" {
			return item{}, fmt.Errorf("get_global_info: params.key is missing or empty")
		}
		request.Type, request.Key = protocol.TypeGetGlobalInfo, params.Key
	case "reset_kernel_globals":
		request.Type = protocol.TypeResetGlobals
	case "execute_code":
		if params.Code == nil {
			return item{}, fmt.Errorf("execute_code: params.code is missing")
		}
		request.Type, request.Code, request.Session = protocol.TypeExecuteCode, params.Code, params.Session
		ask.within = r.executeLimit(params.TimeoutS)
		request.TimeoutS = ask.within.Seconds()
		request.Pristine = params.Pristine && !ask.byAgent // what it puts right is the graders' to see
	}
	return message(request), nil
}

// executeLimit is how long an execute_code may take: what was asked for, at
// most the cell limit.
func (r *Router) executeLimit(seconds *float64) time.Duration {
	if seconds == nil || *seconds <= 0 || *seconds > r.cfg.CellTimeout.Seconds() {
		return r.cfg.CellTimeout
	}
	return time.Duration(*seconds * float64(time.Second))
}

// summaryRequest asks for a summary in the form that the kernel takes.
func (r *Router) summaryRequest(ask *pending) item {
	r.mu.Lock()
	older := r.older
	r.mu.Unlock()
	if older {
		return message(protocol.AgentAction{
			Type: protocol.TypeAgentAction, Action: ask.action, Params: json.RawMessage("{}"), TxID: ask.id,
		})
	}
	return message(protocol.KernelRequest{Type: strings.TrimPrefix(ask.action, "request_"), AgentTxID: ask.id})
}

// askKernel sends a request that stands in the table.
func (r *Router) askKernel(ask *pending, request item) {
	r.mu.Lock()
	kernel, gone := r.kernel, r.gone
	r.mu.Unlock()
	failed := ""
	switch {
	case kernel == nil && gone == "":
		failed = "there is no kernel"
	case kernel == nil:
		failed = "the kernel has ended: " + gone
	case int64(len(request.body)) > r.cfg.MaxFrameBytes:
		failed = fmt.Sprintf("a request of %d bytes, more than the %d that a message may have", len(request.body), r.cfg.MaxFrameBytes)
	case !kernel.send(request):
		failed = "the kernel does not read: too much is waiting for it"
	}
	if failed != "" {
		if r.table.remove(ask, trace.NoteLate) {
			ask.reply(answer{failed: failed})
		}
		return
	}
	if isGlobals(ask.action) {
		r.table.staleAfter(ask, r.cfg.StaleDelay, func() { r.giveStale(ask) })
	}
}

// kernelTimedOut answers a request that the kernel did not, and stops the code
// that it asked for.
func (r *Router) kernelTimedOut(ask *pending) {
	if ask.action != protocol.TypeExecuteCode {
		r.timedOut(ask)
		return
	}
	r.log.Warn("deadline missed", "action", ask.action, "tx_id", ask.id, "hop", string(ask.whom), "limit", ask.within)
	text := fmt.Sprintf("execute_code did not end within %v and was interrupted", ask.within)
	if err := r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: ask.id}); err != nil {
		text += "; " + err.Error()
	}
	ask.reply(answer{failed: text, note: trace.NoteTimedOut})
}

// InterruptExecuteCode interrupts every execute_code that the agent has asked for and that
// is in flight.
func (r *Router) InterruptExecuteCode() {
	for _, id := range r.table.executing() {
		_ = r.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, AgentTxID: id}) // without a kernel nothing runs
	}
}

// SendToKernel sends the kernel a message of the server's own.
func (r *Router) SendToKernel(msg any) error {
	r.mu.Lock()
	kernel := r.kernel
	r.mu.Unlock()
	if kernel == nil {
		return fmt.Errorf("kernel: %w", ErrNotConnected)
	}
	if !kernel.send(message(msg)) {
		return fmt.Errorf("kernel: too much is waiting for it")
	}
	return nil
}

func (r *Router) kernelEnded(p *Peer, _ []item) {
	text := "its connection was closed"
	if p.err != nil {
		text = p.err.Error()
	}
	r.mu.Lock()
	current := r.kernel == p
	if current {
		r.kernel, r.gone = nil, text
	}
	r.mu.Unlock()
	text = "the kernel has ended: " + text
	if current {
		open := r.runs.OpenCells()
		r.runs.MarkKernelEnded()
		for _, cell := range open {
			r.failRun(cell, text)
		}
	}
	r.table.fail(text, func(p *pending) bool { return p.whom == byKernel })
}

// failRun tells the agent, which waits for it, that a run of a cell will not end,
// or not begin, for want of a kernel.
func (r *Router) failRun(cellID, text string) {
	none := []string{}
	told, err := protocol.Marshal(protocol.KernelMessageResult{
		CellResult: protocol.CellResult{
			Type: protocol.TypeCellResult, CellID: cellID, Status: protocol.StatusError, HasException: true, Exception: text,
			Outputs: none, DataframeOutputs: none, FigureOutputs: none, StaticFigureOutputs: none,
		},
		CellOutputs: []json.RawMessage{},
	})
	if err != nil {
		r.log.Error("a run's failure cannot be told", "error", err)
		return
	}
	relay := message(protocol.KernelMessage{Type: protocol.TypeKernelMessage, Message: told})
	relay.env.CellID = cellID
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent != nil {
		r.agent.send(relay)
	}
}
