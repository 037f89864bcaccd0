package chaos_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/protocol"
)

// faultyAgent is an agent that sends random actions, each with a new tx_id, until its
// socket is closed.
type faultyAgent struct {
	*faultyChild
	actions      int // sent so far
	framesInTask int // sent since it has its task

	readPause sync.Mutex // held while the agent does not read
	queries   atomic.Int32

	mu    sync.Mutex
	cells []string // ids that the server has mentioned
}

func (a *faultyAgent) run() int {
	disconnected := make(chan struct{})
	initialized := make(chan bool, 100)
	go func() {
		defer close(disconnected)
		a.readLoop(initialized)
	}()
	select {
	case evaluation := <-initialized:
		if a.oneIn(30) {
			select {} // never ready for a query
		}
		a.send(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: protocol.AgentReady})
		return a.sendUntilFault(evaluation, disconnected)
	case <-disconnected:
		return 0
	}
}

// readLoop reads until the connection ends, except while readPause is held. For each init it
// sends to initialized whether it is for an evaluation. It counts the queries and notes the cells
// that other messages name.
func (a *faultyAgent) readLoop(initialized chan<- bool) {
	for {
		a.readPause.Lock()
		a.readPause.Unlock() //nolint:staticcheck // waits for the end of a pause
		body, err := a.in.Read()
		if err != nil {
			return
		}
		var m struct {
			Type       string `json:"type"`
			Evaluation bool   `json:"eval_mode"`
			CellID     string `json:"cell_id"`
		}
		if json.Unmarshal(body, &m) != nil {
			continue
		}
		switch {
		case m.Type == protocol.TypeInit:
			initialized <- m.Evaluation
		case m.Type == protocol.TypeAgentQuery:
			a.queries.Add(1)
		case m.CellID != "":
			a.mu.Lock()
			a.cells = append(a.cells, m.CellID)
			a.mu.Unlock()
		}
	}
}

func (a *faultyAgent) sendUntilFault(evaluation bool, disconnected <-chan struct{}) int {
	maxFrames := 5 + a.IntN(60)
	for {
		if a.misbehave() {
			return 1 + a.IntN(3)
		}
		switch a.IntN(40) {
		case 0:
			a.pauseReading()
		case 1:
			for range 50 {
				a.sendAction()
			}
		default:
			a.sendFrame()
		}
		if evaluation && a.queries.Load() > 0 {
			if a.framesInTask++; a.framesInTask > maxFrames {
				a.finishTask()
			}
		}
		if !sleepUnlessDone(disconnected, a.durationBelow(15*time.Millisecond)) {
			return 0
		}
	}
}

// pauseReading reads nothing for up to 1.5 s, but sends actions meanwhile.
func (a *faultyAgent) pauseReading() {
	a.readPause.Lock()
	end := time.After(a.durationBelow(1500 * time.Millisecond))
	for range 20 {
		a.sendAction()
	}
	<-end
	a.readPause.Unlock()
}

// sendFrame sends one frame, most often an action.
func (a *faultyAgent) sendFrame() {
	switch a.IntN(12) {
	case 0:
		a.send(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: a.pickText("thinking", "executing", "ready", "awaiting_cell_execution")})
	case 1:
		a.send(params{"type": "agent_history_updated", "entry": params{"type": "anthropic_message", "role": a.pickText("user", "assistant"), "content": []params{
			{"type": "text", "text": a.pickText("hm", "[EVAL_COMPLETE]")}, {"type": "tool_use", "name": "run_cell", "input": params{}},
		}}})
	case 2:
		for _, piece := range []string{"start", "block_start", "delta", "block_stop", "complete"} {
			a.send(params{"type": "agent_stream_" + piece, "block_index": a.IntN(2), "block_type": "text", "delta": "thinking "})
		}
	case 3:
		a.send(params{"type": a.pickText("agent_event", "agent_usage_update", "agent_result"), "input_tokens": a.IntN(10), "text": "", "metadata": params{}})
	default:
		a.sendAction()
	}
}

// sendAction sends an action. A few have a tx_id that is in flight, reserved or not a
// string.
func (a *faultyAgent) sendAction() {
	a.actions++
	var tx any = fmt.Sprintf("a%d-%d", a.number, a.actions)
	switch a.IntN(60) {
	case 0:
		tx = fmt.Sprintf("a%d-%d", a.number, 1+a.IntN(a.actions)) // may still be in flight
	case 1:
		tx = a.pickText("", "eval_000000000000", "\x00")
	case 2:
		tx = []int{7}
	}
	cell := a.pickCellID()
	action := a.pickText(
		"get_context", "get_context", "create_cell", "create_cell", "create_markdown_cell", "edit_cell", "edit_cell", "delete_cell", "move_cell",
		"run_cell", "run_cell", "stop_cell", "set_widget", "request_globals_summary", "request_reactivity_summary",
		"execute_code", "get_global_info", "reset_kernel_globals", "levitate", "",
	)
	a.send(params{"type": "agent_action", "action": action, "tx_id": tx, "params": params{
		"cell_id": cell, "position": 0, "cell_type": a.pickText("code", "code", "markdown", "poem"), "source": "1 # [EVAL_COMPLETE]", "auto_run": a.oneIn(2),
		"key": cell + "/w", "value": a.pickText("1", "{"), "code": "1", "timeout_s": a.Float64(), "agent_tx_id": fmt.Sprintf("a%d-%d", a.number, a.actions-1),
	}})
}

// pickCellID returns the id of a cell, or of none.
func (a *faultyAgent) pickCellID() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cells) == 0 || a.oneIn(10) {
		return a.pickText("", "a", "first")
	}
	return a.cells[a.IntN(len(a.cells))]
}

// finishTask ends an evaluation: with an answer, a question, an error, or just the
// status done.
func (a *faultyAgent) finishTask() {
	submit := func(summary, status string) {
		a.send(params{"type": "agent_history_updated", "entry": params{"type": "anthropic_message", "role": "assistant", "content": []params{
			{"type": "tool_use", "name": "submit_response", "input": params{"summary": summary, "next_status": status}},
		}}})
	}
	switch a.IntN(6) {
	case 0:
		a.send(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: protocol.AgentDone})
	case 1:
		submit("which one?", protocol.AgentAwaitingUser)
	case 2:
		a.send(protocol.AgentError{Type: protocol.TypeAgentError, Error: "enough", Fatal: a.oneIn(2)})
	default:
		submit("<EVAL_ANSWER>{\"n\":42}</EVAL_ANSWER> [EVAL_COMPLETE]", protocol.AgentDone)
	}
}
