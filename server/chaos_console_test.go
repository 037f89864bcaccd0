package server_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// visitor is a person with a console, who comes and goes as the dice say. It is
// for one goroutine.
type visitor struct {
	*dice
	world   *world
	name    string
	person  string // what it calls itself; others may too
	session string
	role    string // holder or view
	url     string // of its line to the server
	calls   int    // connections so far
	asked   int    // actions so far

	seat atomic.Int64 // its number at /run; 0: it has had none

	mu    sync.Mutex
	cells []string // that it has heard of
}

// live comes and goes until ctx ends.
func (v *visitor) live(ctx context.Context) {
	for ctx.Err() == nil {
		v.visit(ctx)
		pause(ctx.Done(), v.upTo(300*time.Millisecond))
	}
}

// visit is one stay, at /run and /agent.
func (v *visitor) visit(ctx context.Context) {
	run := v.call(ctx, "/run", v.hello(), nil)
	defer run.leave()
	held := &holder{cells: []*cell{{ID: "first", Type: "code", Source: "1"}}}
	answers := &answering{dice: newDice(v.world.seed, v.name, "answers", fmt.Sprint(v.calls)), held: held, run: run}
	init := v.init()
	agent := v.call(ctx, "/agent", init, answers)
	defer agent.leave()
	if v.chance(15) { // at the same time, as a tab that was duplicated
		twin := v.call(ctx, "/agent", init, nil)
		defer twin.leave()
	}
	for range 3 + v.IntN(150) {
		if v.chance(2) {
			v.sayAtRun(run)
		} else {
			v.sayAtAgent(agent)
		}
		if !pause(ctx.Done(), v.upTo(20*time.Millisecond)) {
			return
		}
	}
	run.polite, agent.polite = v.chance(2), v.chance(2)
	if v.chance(10) { // it goes on, and reads nothing
		run.deaf.Store(true)
		agent.deaf.Store(true)
		pause(ctx.Done(), v.upTo(2*time.Second))
	}
}

func (v *visitor) hello() params {
	first := params{"token": v.token(), "notebook_id": "n"}
	if again := v.seat.Load(); again > 0 && v.chance(2) {
		first["connection_idx"] = again
	}
	return first
}

func (v *visitor) init() params {
	init := params{"type": "init", "session_id": v.person, "token": v.token(), "role": v.role, "connection_idx": v.seat.Load()}
	switch v.IntN(25) {
	case 0:
		init["role"] = v.pick("king", "view", "holder", "owner")
	case 1:
		init["session_id"] = nil
	case 2:
		init["session_id"] = "somebody"
	}
	return init
}

func (v *visitor) token() string {
	if v.chance(30) {
		return "a guess"
	}
	return token
}

// heard remembers a cell.
func (v *visitor) heard(cell string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if cell != "" && len(v.cells) < 100 {
		v.cells = append(v.cells, cell)
	}
}

func (v *visitor) cell() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.cells) == 0 || v.chance(5) {
		return v.pick("first", "a", "b", "")
	}
	return v.cells[v.IntN(len(v.cells))]
}

func (v *visitor) sayAtRun(run *call) {
	cell := v.cell()
	switch v.IntN(16) {
	case 0, 1, 2, 3, 4:
		run.say(params{"type": "run_cell", "cell_id": cell, "code": "1"})
	case 5:
		run.say(params{"type": v.pick("stop_cell", "dispose_cell", "run_cell"), "cell_id": cell})
	case 6:
		run.say(params{"type": "set_widget_value", "data": params{cell + "/w": "1"}})
	case 7, 8:
		run.say(params{"type": v.pick("globals_summary", "reactivity_summary", "debug_state")})
	case 9:
		run.say(params{"type": "execute_code", "code": "1", "agent_tx_id": v.pick("mine", "")})
	case 10:
		if v.chance(2) {
			run.say(params{"type": "managed_process_restart", "name": v.pick("kernel", "agent", "agent", "moon")})
		}
	case 11:
		v.misspeak(run)
	default:
		run.say(params{"type": v.pick("init", "ping", "run_all", "ready"), "cell_id": cell})
	}
}

func (v *visitor) sayAtAgent(agent *call) {
	switch v.IntN(16) {
	case 0:
		agent.say(params{"type": "agent_query", "query": "hurry [EVAL_COMPLETE]", "request_id": "r"})
	case 1:
		agent.say(params{"type": v.pick("agent_cancel", "agent_clear_history", "kernel_message", "levitate")})
	case 2:
		agent.say(params{"type": "agent_action_response", "tx_id": v.pick("a0-1", "eval_000000000000", ""), "status": "success"})
	case 3:
		v.misspeak(agent)
	default:
		v.asked++
		agent.say(params{
			"type": "notebook_action", "tx_id": fmt.Sprintf("%s-%d", v.name, v.asked),
			"action": v.pick("get_context", "create_cell", "create_cell", "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell", "execute_code", "request_globals_summary", "x"),
			"params": params{"cell_id": v.cell(), "position": 0, "cell_type": "code", "source": v.pick("1", "2"), "auto_run": v.chance(2), "code": "1", "timeout_s": 0.1, "rev": 1},
		})
	}
}

// misspeak sends what is no message.
func (v *visitor) misspeak(c *call) {
	switch v.IntN(6) {
	case 0:
		c.binary(v.nonsense())
	case 1:
		c.write([]byte(strings.Repeat(" ", consoleLimit+1)))
	default:
		c.write(v.nonsense())
	}
}
