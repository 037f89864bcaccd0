package chaos_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/server"
	"assay/server/servertest"
)

type params = servertest.JSONObject

// faultyConsole is a console that connects, sends random messages and disconnects, over
// and over. It is not safe for concurrent use.
type faultyConsole struct {
	*rng
	run         *chaosRun
	name        string
	personName  string // session_id of its init, which other consoles may use too
	session     string
	role        string // holder or view
	url         string // of its proxy to the server
	connections int    // so far
	actions     int    // sent so far

	number atomic.Int64 // assigned to it at /run; 0: none yet

	mu    sync.Mutex
	cells []string // ids that the server has mentioned
}

// runUntilDone connects again and again until ctx ends.
func (c *faultyConsole) runUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		c.connectOnce(ctx)
		sleepUnlessDone(ctx.Done(), c.durationBelow(300*time.Millisecond))
	}
}

// connectOnce connects to /run and /agent, sends messages, and disconnects.
func (c *faultyConsole) connectOnce(ctx context.Context) {
	run := c.connect(ctx, "/run", c.runHello(), nil)
	defer run.disconnect()
	holder := &faultyHolder{rng: newRNG(c.run.seed, c.name, "answers", fmt.Sprint(c.connections)), notebook: servertest.NewNotebook(), run: run}
	init := c.agentInit()
	agent := c.connect(ctx, "/agent", init, holder)
	defer agent.disconnect()
	if c.oneIn(15) { // like a browser tab that was duplicated
		twin := c.connect(ctx, "/agent", init, nil)
		defer twin.disconnect()
	}
	for range 3 + c.IntN(150) {
		if c.oneIn(2) {
			c.sendToRunEndpoint(run)
		} else {
			c.sendToAgentEndpoint(agent)
		}
		if !sleepUnlessDone(ctx.Done(), c.durationBelow(20*time.Millisecond)) {
			return
		}
	}
	run.closeHandshake, agent.closeHandshake = c.oneIn(2), c.oneIn(2)
	if c.oneIn(10) {
		run.readPaused.Store(true)
		agent.readPaused.Store(true)
		sleepUnlessDone(ctx.Done(), c.durationBelow(2*time.Second))
	}
}

func (c *faultyConsole) runHello() params {
	hello := params{"token": c.pickToken(), "notebook_id": "n"}
	if number := c.number.Load(); number > 0 && c.oneIn(2) {
		hello["connection_idx"] = number
	}
	return hello
}

func (c *faultyConsole) agentInit() params {
	init := params{"type": "init", "session_id": c.personName, "token": c.pickToken(), "role": c.role, "connection_idx": c.number.Load()}
	switch c.IntN(25) {
	case 0:
		init["role"] = c.pickText("king", "view", "holder", "owner")
	case 1:
		init["session_id"] = nil
	case 2:
		init["session_id"] = "somebody"
	}
	return init
}

// pickToken returns the token, sometimes a wrong one.
func (c *faultyConsole) pickToken() string {
	if c.oneIn(30) {
		return "a guess"
	}
	return server.EvalSandboxToken
}

// rememberCell remembers the id of a cell.
func (c *faultyConsole) rememberCell(cell string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cell != "" && len(c.cells) < 100 {
		c.cells = append(c.cells, cell)
	}
}

// pickCellID returns the id of a cell, or of none.
func (c *faultyConsole) pickCellID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.cells) == 0 || c.oneIn(5) {
		return c.pickText("first", "a", "b", "")
	}
	return c.cells[c.IntN(len(c.cells))]
}

// sendToRunEndpoint sends a message at /run.
func (c *faultyConsole) sendToRunEndpoint(run *consoleConn) {
	cell := c.pickCellID()
	switch c.IntN(16) {
	case 0, 1, 2, 3, 4:
		run.send(params{"type": "run_cell", "cell_id": cell, "code": "1"})
	case 5:
		run.send(params{"type": c.pickText("stop_cell", "dispose_cell", "run_cell"), "cell_id": cell})
	case 6:
		run.send(params{"type": "set_widget_value", "data": params{cell + "/w": "1"}})
	case 7, 8:
		run.send(params{"type": c.pickText("globals_summary", "reactivity_summary", "debug_state")})
	case 9:
		run.send(params{"type": "execute_code", "code": "1", "agent_tx_id": c.pickText("mine", "")})
	case 10:
		if c.oneIn(2) {
			run.send(params{"type": "managed_process_restart", "name": c.pickText("kernel", "agent", "agent", "moon")})
		}
	case 11:
		c.sendGarbage(run)
	default:
		run.send(params{"type": c.pickText("init", "ping", "run_all", "ready"), "cell_id": cell})
	}
}

// sendToAgentEndpoint sends a message at /agent.
func (c *faultyConsole) sendToAgentEndpoint(agent *consoleConn) {
	switch c.IntN(16) {
	case 0:
		agent.send(params{"type": "agent_query", "query": "hurry [EVAL_COMPLETE]", "request_id": "r"})
	case 1:
		agent.send(params{"type": c.pickText("agent_cancel", "agent_clear_history", "kernel_message", "levitate")})
	case 2:
		agent.send(params{"type": "agent_action_response", "tx_id": c.pickText("a0-1", "eval_000000000000", ""), "status": "success"})
	case 3:
		c.sendGarbage(agent)
	default:
		c.actions++
		agent.send(params{
			"type": "notebook_action", "tx_id": fmt.Sprintf("%s-%d", c.name, c.actions),
			"action": c.pickText("get_context", "create_cell", "create_cell", "edit_cell", "delete_cell", "move_cell", "run_cell", "stop_cell", "execute_code", "request_globals_summary", "x"),
			"params": params{"cell_id": c.pickCellID(), "position": 0, "cell_type": "code", "source": c.pickText("1", "2"), "auto_run": c.oneIn(2), "code": "1", "timeout_s": 0.1, "rev": 1},
		})
	}
}

// sendGarbage sends garbage, a binary frame, or a frame over the limit.
func (c *faultyConsole) sendGarbage(conn *consoleConn) {
	switch c.IntN(6) {
	case 0:
		conn.writeBinary(c.garbage())
	case 1:
		conn.writeText([]byte(strings.Repeat(" ", maxConsoleFrameBytes+1)))
	default:
		conn.writeText(c.garbage())
	}
}
