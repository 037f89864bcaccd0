// Package agenttest has what the tests of the built-in agent and its strategies share: a
// fake server at the other end of the agent's connection, and fake models.
package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"assay/internal/protocol"
)

// ActionHook sees an action before the server's own notebook does, and returns true if it
// has answered the action itself, or leaves it unanswered on purpose.
type ActionHook func(action string, params Frame, txID string) (handled bool)

// Server is a fake server with a simple notebook and kernel. The source of a cell says what
// its run does: "print TEXT", "fail TEXT", "hang" until it is stopped, "mute" (ends without
// a cell_result), anything else ends at once. Unless noted its methods are safe for concurrent
// use.
type Server struct {
	T     *testing.T
	Conn  protocol.Conn
	Ended chan error // buffer of 1: what the agent returned

	// Cells are the ids of the notebook's cells in order, CreatedCells how many have been
	// created. Only the goroutine that handles actions may use them once the agent works.
	Cells        []string
	CreatedCells int

	sources  map[string]string // by cell id
	runCount int
	hanging  map[string]int // cell id: run_sequencer of its run
	evalMode bool           // of the latest init

	writeMu sync.Mutex

	mu           sync.Mutex
	frames       []Frame
	frameArrived chan struct{} // closed and replaced with each frame
	actionHook   ActionHook
	frameHook    func(Frame)
}

// Start runs an agent on a connection to a fake server. Both end with the test.
func Start(t *testing.T, run func(context.Context, protocol.Conn) error) *Server {
	t.Helper()
	ours, theirs := protocol.Pipe()
	s := &Server{
		T: t, Conn: ours, Ended: make(chan error, 1), frameArrived: make(chan struct{}),
		sources: map[string]string{}, hanging: map[string]int{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { s.Ended <- run(ctx, theirs) })
	group.Go(s.readFrames)
	t.Cleanup(func() {
		_ = ours.Close(protocol.CloseNormal, "")
		group.Wait()
		cancel()
	})
	return s
}

func (s *Server) readFrames() {
	for {
		body, err := s.Conn.Read()
		if err != nil {
			return
		}
		var f Frame
		if err := json.Unmarshal(body, &f); err != nil {
			s.T.Errorf("the agent sent no JSON: %q", body)
			return
		}
		s.mu.Lock()
		s.frames = append(s.frames, f)
		close(s.frameArrived)
		s.frameArrived = make(chan struct{})
		actionHook, frameHook := s.actionHook, s.frameHook
		s.mu.Unlock()
		if frameHook != nil {
			frameHook(f)
		}
		if f.StringField("type") == "agent_action" {
			action, params, txID := f.StringField("action"), f.ObjectField("params"), f.StringField("tx_id")
			if actionHook == nil || !actionHook(action, params, txID) {
				s.HandleAction(action, params, txID)
			}
		}
	}
}

// SendFrame writes a frame. It ignores errors: the agent may have ended.
func (s *Server) SendFrame(message Frame) {
	body, err := json.Marshal(message)
	if err != nil {
		s.T.Errorf("frame: %v", err)
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	_ = s.Conn.Write(body)
}

// RespondToAction answers an action, with status success unless fields say otherwise.
func (s *Server) RespondToAction(txID string, fields Frame) {
	message := Frame{"type": "agent_action_response", "tx_id": txID, "status": "success"}
	maps.Copy(message, fields)
	s.SendFrame(message)
}

// SetActionHook sets the hook that sees actions first. It runs on the goroutine that reads frames.
func (s *Server) SetActionHook(hook ActionHook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actionHook = hook
}

// AnswerExecuteCodeWith answers every execute_code with fields that depend on the code.
func (s *Server) AnswerExecuteCodeWith(respond func(code string) Frame) {
	s.SetActionHook(func(action string, params Frame, txID string) bool {
		if action == "execute_code" {
			s.RespondToAction(txID, respond(params.StringField("code")))
		}
		return action == "execute_code"
	})
}

// CallAfterFrames calls do once the agent has sent count more frames for which counts returns
// true; a nil counts counts all. It runs on the goroutine that reads frames.
func (s *Server) CallAfterFrames(count int, counts func(Frame) bool, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frameHook = func(f Frame) {
		if counts != nil && !counts(f) {
			return
		}
		if count--; count == 0 {
			do()
		}
	}
}

// HandleAction does what an action asks of the notebook and answers it. It is called on the
// goroutine that reads frames, or before the agent works.
func (s *Server) HandleAction(action string, params Frame, txID string) {
	cellID := params.StringField("cell_id")
	run, _ := params["auto_run"].(bool)
	switch action {
	case "get_context":
		s.RespondToAction(txID, Frame{"context": s.NotebookOverview()})
	case "create_cell", "create_markdown_cell":
		s.CreatedCells++
		cellID = fmt.Sprintf("c%d", s.CreatedCells)
		s.Cells, s.sources[cellID] = append(s.Cells, cellID), params.StringField("source")
		s.RespondToAction(txID, Frame{"cell_id": cellID})
	case "edit_cell":
		s.sources[cellID] = params.StringField("source")
		s.RespondToAction(txID, Frame{"cell_id": cellID})
	case "delete_cell":
		s.Cells = slices.DeleteFunc(s.Cells, func(id string) bool { return id == cellID })
		s.RespondToAction(txID, Frame{"cell_count": len(s.Cells)})
	case "run_cell":
		run = true
		s.RespondToAction(txID, Frame{"cell_id": cellID})
	case "stop_cell":
		s.RespondToAction(txID, Frame{"cell_id": cellID})
		if sequencer, ok := s.hanging[cellID]; ok {
			delete(s.hanging, cellID)
			s.FinishRun(cellID, sequencer, Frame{"status": "interrupted"})
		}
	case "set_widget":
		s.RespondToAction(txID, Frame{"key": params["key"]})
	case "execute_code":
		s.RespondToAction(txID, Frame{"result": "42", "stdout": params.StringField("code")})
	case "request_globals_summary":
		s.RespondToAction(txID, Frame{"summary": Frame{"x": Frame{"type": "int"}}})
	case "request_reactivity_summary":
		s.RespondToAction(txID, Frame{"summary": "## Reactive"})
	}
	if run {
		s.runCell(cellID)
	}
}

// NotebookOverview returns the notebook as get_context does. It is called like HandleAction.
func (s *Server) NotebookOverview() Frame {
	cells := []Frame{}
	for i, id := range s.Cells {
		cells = append(cells, Frame{
			"index": i, "cell_id": id, "tf_id": id, "cell_type": "code", "source": s.sources[id], "status": "idle",
			"outputs": []Frame{{"output_type": "stream", "name": "stdout", "text": "printed by " + id}},
			"widgets": []Frame{{"key": id + "/w", "type": "slider", "value": 3}},
		})
	}
	return Frame{"cell_count": len(cells), "notebook_name": "nb", "cells": cells}
}

// runCell simulates the kernel: it runs a cell by the rule in its source and sends the agent
// the kernel's messages.
func (s *Server) runCell(cellID string) {
	s.runCount++
	s.SendFrame(Frame{"type": "kernel_message", "message": Frame{"type": "start_cell", "cell_id": cellID, "run_sequencer": s.runCount}})
	verb, text, _ := strings.Cut(s.sources[cellID], " ")
	switch verb {
	case "hang":
		s.hanging[cellID] = s.runCount
	case "mute":
		s.SendFrame(Frame{"type": "kernel_message", "message": Frame{"type": "start_cell", "cell_id": nil, "run_sequencer": s.runCount}})
	case "fail":
		s.FinishRun(cellID, s.runCount, Frame{"status": "error", "has_exception": true, "exception": "Traceback\nValueError: " + text})
	case "print":
		s.FinishRun(cellID, s.runCount, Frame{"logs": text + "\n"})
	default:
		s.FinishRun(cellID, s.runCount, nil)
	}
}

// FinishRun sends the cell_result of a run, with status ok unless fields say otherwise.
func (s *Server) FinishRun(cellID string, sequencer int, fields Frame) {
	message := Frame{"type": "cell_result", "cell_id": cellID, "run_sequencer": sequencer, "status": "ok", "duration_ms": 1}
	maps.Copy(message, fields)
	s.SendFrame(Frame{"type": "kernel_message", "message": message})
}

// InitAndAwaitReady sends an init and waits until the agent is ready.
func (s *Server) InitAndAwaitReady(fields Frame) {
	s.T.Helper()
	message := Frame{"type": "init", "session_id": 7, "eval_mode": false}
	maps.Copy(message, fields)
	s.evalMode = message["eval_mode"] == true
	from := len(s.Frames())
	s.SendFrame(message)
	s.AwaitFrame(from, "agent_status ready", func(f Frame) bool { return f.StringField("status") == "ready" })
}

// SendQuery sends a query with the request id q1.
func (s *Server) SendQuery(text string) {
	s.SendFrame(Frame{"type": "agent_query", "query": text, "request_id": "q1"})
}

// SendQueries sends several queries at once, with the request ids 0, 1, 2 …
func (s *Server) SendQueries(queries ...string) {
	for i, query := range queries {
		s.SendFrame(Frame{"type": "agent_query", "query": query, "request_id": fmt.Sprint(i)})
	}
}

// SendCancel cancels the first open query.
func (s *Server) SendCancel() { s.SendFrame(Frame{"type": "agent_cancel"}) }

// WithholdResponses leaves all actions with this name unanswered and returns a channel that
// gets their tx_ids. All other actions are answered as usual.
func (s *Server) WithholdResponses(name string) (txIDs <-chan string) {
	held := make(chan string, 100)
	s.SetActionHook(func(action string, _ Frame, txID string) bool {
		if action != name {
			return false
		}
		held <- txID
		return true
	})
	return held
}
