package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/subprocess"
	"assay/internal/trace"
	"assay/router"
)

const (
	// CollectTimeout is how long each part of the notebook's state may take.
	CollectTimeout = 5 * time.Second

	// InterruptGrace is how long cells may take to stop before that.
	InterruptGrace = 2 * time.Second

	// endDeadline bounds each step of the end: it is the grace of a stop and
	// what the system may take to reap.
	endDeadline = subprocess.StopGrace + time.Second
)

// Executions is the fold over what the kernel did.
func (s *Session) Executions() *notebook.Executions { return s.runs }

// Journal is the order of all that happens in the session.
func (s *Session) Journal() *trace.Journal { return s.cfg.Journal }

// Router is the session's switchboard, to attach consoles to.
func (s *Session) Router() *router.Router { return s.router }

// KernelReady is what the kernel said of itself.
func (s *Session) KernelReady() protocol.Ready { return s.children().kernel.ReadyMessage }

// KernelPID is the kernel's process id.
func (s *Session) KernelPID() int { return s.children().kernel.PID() }

// IsKernelAlive tells whether there is a kernel to talk to. Whoever attaches a
// console and asks while it is attached misses no managed_process_exit: either
// the kernel is not alive here, or the console is told later that it has ended.
func (s *Session) IsKernelAlive() bool {
	pair := s.children()
	select {
	case <-pair.kernel.Exited():
		return false
	case <-pair.kernelPeer.Done():
		return false
	default:
		return true
	}
}

// KernelError says why the kernel's connection has ended: a *child.ExitError
// when it has died.
func (s *Session) KernelError() error { return peerError("kernel", s.children().kernelPeer) }

// AgentError says why the agent's connection has ended: a *child.ExitError when
// it has died.
func (s *Session) AgentError() error { return peerError("agent", s.children().agentPeer) }

// SendQuery gives the agent its task, or a word more on it.
func (s *Session) SendQuery(query protocol.AgentQuery) error {
	query.Type = protocol.TypeAgentQuery
	s.enter(StateWorking, "")
	return s.router.ToAgent(query)
}

// Execute runs code in the kernel without a cell.
func (s *Session) Execute(ctx context.Context, code string, within time.Duration) (protocol.ExecuteCodeResponse, error) {
	return s.execute(ctx, map[string]any{"code": code, "timeout_s": within.Seconds()})
}

// ExecutePristine runs code that looks at what the kernel holds. A kernel that can sees
// to it that what ran there before does not mislead it.
func (s *Session) ExecutePristine(ctx context.Context, code string, within time.Duration) (protocol.ExecuteCodeResponse, error) {
	return s.execute(ctx, map[string]any{"code": code, "timeout_s": within.Seconds(), "pristine": true})
}

func (s *Session) execute(ctx context.Context, params map[string]any) (protocol.ExecuteCodeResponse, error) {
	var response protocol.ExecuteCodeResponse
	body, err := s.router.Ask(ctx, protocol.TypeExecuteCode, params)
	if err != nil {
		return response, err
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return response, fmt.Errorf("execute_code: %w", err)
	}
	return response, nil
}

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
	s.enter(StateCollecting, "")
	s.router.Refuse("session is ending")
	s.interrupt(ctx)
	state := CollectedState{Errors: map[string]string{}}
	var parts sync.WaitGroup
	var mu sync.Mutex
	part := func(into *json.RawMessage, name, action string, take func(answer map[string]json.RawMessage) any) {
		parts.Go(func() {
			value, err := s.part(ctx, action, take)
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

// interrupt stops what runs and waits a moment until it has stopped, so that
// what is collected is not on the move.
func (s *Session) interrupt(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, InterruptGrace)
	defer cancel()
	follow := s.cfg.Journal.Follow()
	for _, cell := range s.runs.Open() {
		_ = s.router.ToKernel(protocol.CellCommand{Type: protocol.TypeStopCell, CellID: cell}) // a dead one runs nothing
	}
	s.router.StopCode()
	for len(s.runs.Open()) > 0 {
		if _, err := follow.Next(ctx); err != nil {
			s.log.Warn("cells still run", "cells", s.runs.Open(), "limit", InterruptGrace)
			return
		}
	}
}

func (s *Session) part(ctx context.Context, action string, take func(map[string]json.RawMessage) any) (json.RawMessage, error) {
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

// StopAgent ends the agent and leaves the rest as it is.
func (s *Session) StopAgent(ctx context.Context) error {
	s.mu.Lock()
	agent := s.pair.agent
	s.dismissed = agent
	s.mu.Unlock()
	if agent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endDeadline)
	defer cancel()
	return agent.Stop(ctx)
}

func (s *Session) stopKernel(ctx context.Context) error {
	kernel := s.children().kernel
	if kernel == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endDeadline)
	defer cancel()
	return kernel.Stop(ctx)
}

// End ends the session, for whatever cause: consoles are told, agent and kernel
// are stopped with everything they started, the sandbox is removed. When ctx is
// done, nobody is given time any more. It may be called more than once.
func (s *Session) End(ctx context.Context, cause string) error {
	s.endOnce.Do(func() { s.endErr = s.end(ctx, cause) })
	return s.endErr
}

func (s *Session) end(ctx context.Context, cause string) error {
	s.stop()
	s.restarting.Lock() // one that is under way ends first
	s.enter(StateEnded, cause)
	s.restarting.Unlock()
	s.router.Refuse("session is ending")
	var agentErr, kernelErr error
	var both sync.WaitGroup
	both.Go(func() { agentErr = s.StopAgent(ctx) })
	both.Go(func() { kernelErr = s.stopKernel(ctx) })
	both.Wait()
	pair := s.children()
	for _, told := range []<-chan struct{}{pair.kernelTold, pair.agentTold} {
		if told != nil {
			<-told // before their connections end
		}
	}
	s.router.Close(protocol.CloseGoing, cause)
	s.tasks.Wait()
	s.printed.flush("kernel")
	s.printed.flush("agent")
	return errors.Join(agentErr, kernelErr, s.removeSandbox())
}
