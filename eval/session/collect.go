package session

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"assay/internal/protocol"
)

// CollectedState is what the notebook has become, as each part was told; a part that
// could not be had is nil and its error stands in Errors.
type CollectedState struct {
	Context    json.RawMessage   `json:"context"`
	Globals    json.RawMessage   `json:"globals"`
	Reactivity json.RawMessage   `json:"reactivity"`
	Errors     map[string]string `json:"errors,omitempty"`
}

// CollectState refuses the agent's actions from now on, interrupts what runs, and
// reads what the notebook has become.
func (s *Session) CollectState(ctx context.Context) CollectedState {
	s.setState(StateCollecting, "")
	s.router.RefuseActions("session is ending")
	s.interruptCells(ctx)
	state := CollectedState{Errors: map[string]string{}}
	var parts sync.WaitGroup
	var mu sync.Mutex
	part := func(into *json.RawMessage, name, action string, take func(answer map[string]json.RawMessage) any) {
		parts.Go(func() {
			value, err := s.collectPart(ctx, action, take)
			mu.Lock()
			defer mu.Unlock()
			*into = value
			if err != nil {
				state.Errors[name] = err.Error()
			}
		})
	}
	part(&state.Context, "context", "get_context", func(a map[string]json.RawMessage) any { return a["context"] })
	part(&state.Globals, "globals", "request_globals_summary", func(a map[string]json.RawMessage) any { return a["summary"] })
	part(&state.Reactivity, "reactivity", "request_reactivity_summary", func(a map[string]json.RawMessage) any {
		return map[string]json.RawMessage{"summary": a["summary"], "cell_reactivity": a["cell_reactivity"]}
	})
	parts.Wait()
	return state
}

// interruptCells stops what runs and waits a moment until it has stopped, so that
// what is collected is not on the move.
func (s *Session) interruptCells(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, InterruptGrace)
	defer cancel()
	follow := s.cfg.Journal.Follow()
	for _, cell := range s.executions.OpenCells() {
		_ = s.router.SendToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}) // a dead one runs nothing
	}
	s.router.InterruptExecuteCode()
	for len(s.executions.OpenCells()) > 0 {
		if _, err := follow.Next(ctx); err != nil {
			s.log.Warn("cells still run", "cells", s.executions.OpenCells(), "limit", InterruptGrace)
			return
		}
	}
}

func (s *Session) collectPart(ctx context.Context, action string, take func(map[string]json.RawMessage) any) (json.RawMessage, error) {
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
	return protocol.Marshal(take(answer))
}
