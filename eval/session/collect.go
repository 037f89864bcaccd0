package session

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"assay/internal/protocol"
)

const (
	// CollectTimeout bounds the collection of each part of a [CollectedState].
	CollectTimeout = 5 * time.Second

	// InterruptGrace is how long running cells may take to stop before the state is
	// collected.
	InterruptGrace = 2 * time.Second
)

// CollectedState is the state of a notebook at the end of an evaluation, as the holder of the
// document (context) and the kernel (globals and reactivity) report it. It is written as
// state.json. A part that could not be collected is nil, and Errors says why.
type CollectedState struct {
	Context    json.RawMessage   `json:"context"`          // answer to get_context: the cells
	Globals    json.RawMessage   `json:"globals"`          // answer to request_globals_summary
	Reactivity json.RawMessage   `json:"reactivity"`       // answer to request_reactivity_summary
	Errors     map[string]string `json:"errors,omitempty"` // by "context", "globals" and "reactivity"
}

// CollectState refuses all further actions of the agent, interrupts the code that the kernel
// runs, and collects the state of the notebook. It takes at most InterruptGrace plus
// CollectTimeout, or until ctx ends. Failures are in the result's Errors.
func (s *Session) CollectState(ctx context.Context) CollectedState {
	s.setState(StateCollecting, "")
	s.RefuseActions("session is ending")
	s.interruptCells(ctx)
	state := CollectedState{Errors: map[string]string{}}
	var parts sync.WaitGroup
	var mu sync.Mutex
	collect := func(into *json.RawMessage, name, action string, extract func(answer map[string]json.RawMessage) any) {
		parts.Go(func() {
			value, err := s.collectStatePart(ctx, action, extract)
			mu.Lock()
			defer mu.Unlock()
			*into = value
			if err != nil {
				state.Errors[name] = err.Error()
			}
		})
	}
	collect(&state.Context, "context", "get_context", func(a map[string]json.RawMessage) any { return a["context"] })
	collect(&state.Globals, "globals", "request_globals_summary", func(a map[string]json.RawMessage) any { return a["summary"] })
	collect(&state.Reactivity, "reactivity", "request_reactivity_summary", func(a map[string]json.RawMessage) any {
		return map[string]json.RawMessage{"summary": a["summary"], "cell_reactivity": a["cell_reactivity"]}
	})
	parts.Wait()
	return state
}

// RefuseActions makes the session answer each later action of the agent, and of consoles that show the
// server's notebook, with an error that has this text; see [router.Router.RefuseActions]. Requests that
// were accepted before are carried out. An empty text lets them act again.
func (s *Session) RefuseActions(text string) { s.router.RefuseActions(text) }

// interruptCells interrupts all running cells and execute_code requests, so that the state does
// not change while it is collected, and waits at most InterruptGrace until no cell runs.
func (s *Session) interruptCells(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, InterruptGrace)
	defer cancel()
	follower := s.cfg.Journal.Follow()
	for _, cell := range s.executions.CellsWithOpenRuns() {
		_ = s.router.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}) // fails if the kernel is dead, which runs nothing
	}
	s.router.InterruptExecuteCode()
	for len(s.executions.CellsWithOpenRuns()) > 0 {
		if _, err := follower.Next(ctx); err != nil {
			s.log.Warn("cells still run", "cells", s.executions.CellsWithOpenRuns(), "limit", InterruptGrace)
			return
		}
	}
}

// collectStatePart performs an action that asks for one part of the notebook's state, and returns as
// JSON what extract takes from the answer. It fails if the action does, or after
// CollectTimeout.
func (s *Session) collectStatePart(ctx context.Context, action string, extract func(map[string]json.RawMessage) any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CollectTimeout, fmt.Errorf("not collected within %v", CollectTimeout))
	defer cancel()
	body, err := s.router.Ask(ctx, action, nil)
	if err != nil {
		return nil, err
	}
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("%s: %w", action, err)
	}
	return protocol.Marshal(extract(answer))
}

// RefuseModelCalls makes the session refuse the agent's further calls of models, with this reason.
func (s *Session) RefuseModelCalls(reason string) {
	s.mu.Lock()
	models := s.models
	s.mu.Unlock()
	if models != nil {
		models.endpoint.Refuse(reason)
	}
}
