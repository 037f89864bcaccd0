package server_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/protocol"
)

// chaosAgent asks for what the dice say, each time under an id of its own, until
// its socket ends.
type chaosAgent struct {
	*troubled
	asked int // actions so far
	words int // frames so far, since it has its task

	deaf  sync.Mutex // held while it does not read
	tasks atomic.Int32

	mu    sync.Mutex
	cells []string // that it has heard of
}

func (a *chaosAgent) run() int {
	gone := make(chan struct{})
	introduced := make(chan bool, 100)
	go func() {
		defer close(gone)
		a.listen(introduced)
	}()
	select {
	case eval := <-introduced:
		if a.chance(30) {
			select {} // never ready for a query
		}
		a.say(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: protocol.AgentReady})
		return a.work(eval, gone)
	case <-gone:
		return 0
	}
}

// listen reads what the server says until that ends.
func (a *chaosAgent) listen(introduced chan<- bool) {
	for {
		a.deaf.Lock()
		a.deaf.Unlock() //nolint:staticcheck // to have waited for it
		body, err := a.in.Read()
		if err != nil {
			return
		}
		var m struct {
			Type   string `json:"type"`
			Eval   bool   `json:"eval_mode"`
			CellID string `json:"cell_id"`
		}
		if json.Unmarshal(body, &m) != nil {
			continue
		}
		switch {
		case m.Type == protocol.TypeInit:
			introduced <- m.Eval
		case m.Type == protocol.TypeAgentQuery:
			a.tasks.Add(1)
		case m.CellID != "":
			a.mu.Lock()
			a.cells = append(a.cells, m.CellID)
			a.mu.Unlock()
		}
	}
}

func (a *chaosAgent) work(eval bool, gone <-chan struct{}) int {
	last := 5 + a.IntN(60)
	for {
		if a.falters() {
			return 1 + a.IntN(3)
		}
		switch a.IntN(40) {
		case 0:
			a.holdEars()
		case 1:
			for range 50 {
				a.act()
			}
		default:
			a.word()
		}
		if eval && a.tasks.Load() > 0 {
			if a.words++; a.words > last {
				a.conclude()
			}
		}
		if !pause(gone, a.upTo(15*time.Millisecond)) {
			return 0
		}
	}
}

// holdEars reads nothing for a while, and speaks on.
func (a *chaosAgent) holdEars() {
	a.deaf.Lock()
	until := time.After(a.upTo(1500 * time.Millisecond))
	for range 20 {
		a.act()
	}
	<-until
	a.deaf.Unlock()
}

func (a *chaosAgent) word() {
	switch a.IntN(12) {
	case 0:
		a.say(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: a.pick("thinking", "executing", "ready", "awaiting_cell_execution")})
	case 1:
		a.say(params{"type": "agent_history_updated", "entry": params{"type": "anthropic_message", "role": a.pick("user", "assistant"), "content": []params{
			{"type": "text", "text": a.pick("hm", "[EVAL_COMPLETE]")}, {"type": "tool_use", "name": "run_cell", "input": params{}},
		}}})
	case 2:
		for _, kind := range []string{"start", "block_start", "delta", "block_stop", "complete"} {
			a.say(params{"type": "agent_stream_" + kind, "block_index": a.IntN(2), "block_type": "text", "delta": "thinking "})
		}
	case 3:
		a.say(params{"type": a.pick("agent_event", "agent_usage_update", "agent_result"), "input_tokens": a.IntN(10), "text": "", "metadata": params{}})
	default:
		a.act()
	}
}

// act asks for an action. Ids are its own, but for a few.
func (a *chaosAgent) act() {
	a.asked++
	var tx any = fmt.Sprintf("a%d-%d", a.number, a.asked)
	switch a.IntN(60) {
	case 0:
		tx = fmt.Sprintf("a%d-%d", a.number, 1+a.IntN(a.asked)) // that may still be in flight
	case 1:
		tx = a.pick("", "eval_000000000000", "\x00")
	case 2:
		tx = []int{7}
	}
	cell := a.cell()
	action := a.pick(
		"get_context", "get_context", "create_cell", "create_cell", "create_markdown_cell", "edit_cell", "edit_cell", "delete_cell", "move_cell",
		"run_cell", "run_cell", "stop_cell", "set_widget", "request_globals_summary", "request_reactivity_summary",
		"execute_code", "get_global_info", "reset_kernel_globals", "levitate", "",
	)
	a.say(params{"type": "agent_action", "action": action, "tx_id": tx, "params": params{
		"cell_id": cell, "position": 0, "cell_type": a.pick("code", "code", "markdown", "poem"), "source": "1 # [EVAL_COMPLETE]", "auto_run": a.chance(2),
		"key": cell + "/w", "value": a.pick("1", "{"), "code": "1", "timeout_s": a.Float64(), "agent_tx_id": fmt.Sprintf("a%d-%d", a.number, a.asked-1),
	}})
}

func (a *chaosAgent) cell() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.cells) == 0 || a.chance(10) {
		return a.pick("", "a", "first")
	}
	return a.cells[a.IntN(len(a.cells))]
}

// conclude brings an evaluation to its end, one way or another.
func (a *chaosAgent) conclude() {
	submit := func(summary, status string) {
		a.say(params{"type": "agent_history_updated", "entry": params{"type": "anthropic_message", "role": "assistant", "content": []params{
			{"type": "tool_use", "name": "submit_response", "input": params{"summary": summary, "next_status": status}},
		}}})
	}
	switch a.IntN(6) {
	case 0:
		a.say(protocol.AgentStatus{Type: protocol.TypeAgentStatus, Status: protocol.AgentDone})
	case 1:
		submit("which one?", protocol.AgentAwaitingUser)
	case 2:
		a.say(protocol.AgentError{Type: protocol.TypeAgentError, Error: "enough", Fatal: a.chance(2)})
	default:
		submit("<EVAL_ANSWER>{\"n\":42}</EVAL_ANSWER> [EVAL_COMPLETE]", protocol.AgentDone)
	}
}
