package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// A console that holds the notebook of a case loses its connections twice, before it has
// answered an action and while a cell runs. It reconnects and receives the verdict.
func TestServe_HolderReconnects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, dir, "held", `
assert run_cell("print('one')")["logs"] == "one\n"
assert do_action("get_context")["context"]["cell_count"] == 1
cell = start_cell("import time\nprint('on my way', flush=True)\nwhile True: time.sleep(0.005)")
assert receive_from_cell("cell_result", cell)["status"] == "interrupted"
assert do_action("get_context")["context"]["cell_count"] == 2
assert run_cell("print('three')")["logs"] == "three\n"
submit(42)
`)}})
	k := connectHolder(t, s)
	k.leaveUnanswered("get_context")
	watch := s.dial(t, "/watch", nil)

	// Other consoles are refused once it holds the notebook.
	k.agent.awaitItem(t, "an action", hasType("agent_action"))
	for _, role := range []string{"holder", "view"} {
		how := s.connect(t, consoleOptions{role: role, name: "another"}).agent.awaitClose(t)
		require.EqualValues(t, 4009, how.Code)
		require.Contains(t, how.Reason, "holds this notebook")
	}

	// It disconnects before it has answered get_context, and answers after it has reconnected.
	asked := k.agent.awaitItem(t, "get_context", func(m consoleMessage) bool { return m.Action == "get_context" })
	k.disconnect()
	s.awaitHolderDisconnect(t, watch, 1)
	k.reconnect(t)
	k.leaveUnanswered("")
	k.answerAction(k.agent, asked)

	// It disconnects while a cell runs. An action that the agent sends meanwhile waits.
	k.run.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	running := k.run.itemsMatching(hasType("start_cell"))
	helper := s.connectRun(t, consoleOptions{})
	k.disconnect()
	s.awaitHolderDisconnect(t, watch, 2)
	helper.run.send(jsonObject{"type": "stop_cell", "cell_id": running[len(running)-1].CellID})
	watch.awaitNthItem(t, 2, "an action while the holder is away", func(m consoleMessage) bool {
		return m.Hop == "agent>server" && m.Action == "get_context"
	})
	k.reconnect(t)
	require.Contains(t, k.ready.body, "on my way", "ready has what the kernel did meanwhile")

	result := k.agent.awaitItem(t, "the verdict", hasType("eval_result"))
	require.Contains(t, result.body, `"passed":true`)
	attempt := s.awaitAttempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCompleted, attempt.Outcome, attempt.Detail)
	s.stop(t)
}

// awaitHolderDisconnect waits until the server has noticed n times that the holder disconnected.
func (s *serveProcess) awaitHolderDisconnect(t *testing.T, watch *wsConn, n int) {
	t.Helper()
	watch.awaitNthItem(t, n, "the disconnect of the holder", func(m consoleMessage) bool {
		return m.Type == "peer_ended" && m.Action == "console"
	})
}

// A holder that is away for longer than --grace ends the attempt with the outcome console_lost.
func TestServe_HolderAwayBeyondGrace(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--grace", "200ms", "--case", writeAgentCase(t, t.TempDir(), "left", `
run_cell("import time\nprint('on my way', flush=True)\nwhile True: time.sleep(0.005)")
`)}})
	k := connectHolder(t, s)
	k.console.run.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	k.disconnect()
	attempt := s.awaitAttempts(t, 1)[0]
	require.Equal(t, runs.OutcomeConsoleLost, attempt.Outcome, attempt.Detail)
	require.Nil(t, attempt.Passed)
	away := regexp.MustCompile(`was away for (\S+): configured 200ms`).FindStringSubmatch(attempt.Detail)
	require.Len(t, away, 2, attempt.Detail)
	measured, err := time.ParseDuration(away[1])
	require.NoError(t, err)
	require.GreaterOrEqual(t, measured, 200*time.Millisecond)
	require.Less(t, measured, 2*time.Second)

	// A holder that connects later receives the verdict.
	require.Contains(t, s.connect(t, consoleOptions{role: "holder"}).agent.awaitItem(t, "the verdict", hasType("eval_result")).body, `"outcome":"console_lost"`)
	s.stop(t)
}

// holderConsole is a console with the role holder: it stores the cells of the notebook and
// answers the actions of the agent. It can reconnect.
type holderConsole struct {
	server *serveProcess
	name   string
	*console

	mu         sync.Mutex
	run        *wsConn // the latest connection to /run
	cells      []jsonObject
	unanswered string // an action that it does not answer; default: none
}

// connectHolder connects a new holder.
func connectHolder(t *testing.T, s *serveProcess) *holderConsole {
	t.Helper()
	k := &holderConsole{server: s, name: uuid.NewString()}
	k.reconnect(t)
	return k
}

// reconnect connects to /run and /agent, with the name and connection index of its earlier
// connections.
func (k *holderConsole) reconnect(t *testing.T) {
	t.Helper()
	w := consoleOptions{role: "holder", name: k.name, onMessage: k.answerAction}
	if k.console != nil {
		w.connectionIndex = k.ready.Connection
	}
	at := k.server.connectRun(t, w)
	k.mu.Lock()
	k.run = at.run
	k.mu.Unlock()
	at.agent = k.server.dial(t, "/agent", k.answerAction)
	at.agent.send(jsonObject{"type": "init", "session_id": k.name, "connection_idx": at.ready.Connection, "token": k.server.token})
	k.console = at
}

// leaveUnanswered makes it answer all actions but this one.
func (k *holderConsole) leaveUnanswered(action string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.unanswered = action
}

// answerAction answers an agent_action and then starts the cell that the action wants to run. It
// ignores other messages.
func (k *holderConsole) answerAction(w *wsConn, m consoleMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.Type != "agent_action" || m.Action == k.unanswered {
		return
	}
	response, run := k.performAction(m)
	response["type"], response["tx_id"] = "agent_action_response", m.TxID
	w.send(response)
	if run != nil {
		k.run.send(run)
	}
}

// performAction performs get_context or create_cell. It returns the response and, if a cell is to
// run, the message for the kernel.
func (k *holderConsole) performAction(m consoleMessage) (response, run jsonObject) {
	var p struct {
		Position int    `json:"position"`
		Source   string `json:"source"`
		AutoRun  bool   `json:"auto_run"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return jsonObject{"status": "error", "error": err.Error()}, nil
	}
	switch m.Action {
	case "get_context":
		return jsonObject{"status": "success", "context": jsonObject{"cell_count": len(k.cells), "notebook_name": "kept", "cells": slices.Clone(k.cells)}}, nil
	case "create_cell":
		id := uuid.NewString()
		k.cells = slices.Insert(k.cells, p.Position, jsonObject{
			"index": p.Position, "cell_id": id, "tf_id": id, "cell_type": "code", "source": p.Source, "metadata": jsonObject{},
			"language": "python", "status": "idle", "display_name": "", "widgets": []any{},
		})
		if p.AutoRun {
			run = jsonObject{"type": "run_cell", "cell_id": id, "code": p.Source}
		}
		return jsonObject{"status": "success", "cell_id": id, "tf_id": id}, run
	default:
		return jsonObject{"status": "error", "error": "unknown action " + m.Action}, nil
	}
}
