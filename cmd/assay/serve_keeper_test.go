package main

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
)

// keeper is a console that holds the notebook, with cells of its own, over one
// connection after the other.
type keeper struct {
	station *station
	name    string
	*console

	mu     sync.Mutex
	run    *wire // the newest at /run
	cells  []fields
	ignore string // the action that it does not answer
}

func newKeeper(t *testing.T, s *station) *keeper {
	t.Helper()
	k := &keeper{station: s, name: uuid.NewString(), ignore: "nothing"}
	k.come(t)
	return k
}

// come connects, as the console that it was before.
func (k *keeper) come(t *testing.T) {
	t.Helper()
	w := who{role: "holder", name: k.name, heard: k.answer}
	if k.console != nil {
		w.number = k.ready.Connection
	}
	at := k.station.sit(t, w)
	k.mu.Lock()
	k.run = at.run
	k.mu.Unlock()
	at.agent = k.station.dial(t, "/agent", k.answer)
	at.agent.say(fields{"type": "init", "session_id": k.name, "connection_idx": at.ready.Connection, "token": k.station.token})
	k.console = at
}

// leaves open the answers to an action from now on.
func (k *keeper) leaves(action string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ignore = action
}

// answer answers an action, and then has run what it asks for.
func (k *keeper) answer(w *wire, m message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m.Type != "agent_action" || m.Action == k.ignore {
		return
	}
	response, run := k.perform(m)
	response["type"], response["tx_id"] = "agent_action_response", m.TxID
	w.say(response)
	if run != nil {
		k.run.say(run)
	}
}

// perform knows of the actions what these tests need.
func (k *keeper) perform(m message) (response, run fields) {
	var p struct {
		Position int    `json:"position"`
		Source   string `json:"source"`
		AutoRun  bool   `json:"auto_run"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return fields{"status": "error", "error": err.Error()}, nil
	}
	switch m.Action {
	case "get_context":
		return fields{"status": "success", "context": fields{"cell_count": len(k.cells), "notebook_name": "kept", "cells": slices.Clone(k.cells)}}, nil
	case "create_cell":
		id := uuid.NewString()
		k.cells = slices.Insert(k.cells, p.Position, fields{
			"index": p.Position, "cell_id": id, "tf_id": id, "cell_type": "code", "source": p.Source, "metadata": fields{},
			"language": "python", "status": "idle", "display_name": "", "widgets": []any{},
		})
		if p.AutoRun {
			run = fields{"type": "run_cell", "cell_id": id, "code": p.Source}
		}
		return fields{"status": "success", "cell_id": id, "tf_id": id}, run
	default:
		return fields{"status": "error", "error": "unknown action " + m.Action}, nil
	}
}
