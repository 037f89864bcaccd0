package acp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assay/agent/builtin"
	"assay/agent/builtin/tools"
	"assay/agent/command"
	"assay/agent/mcp"
)

// outputTimeout is how long the call of a tool waits until what the program has printed before it is in the
// conversation. It takes that long only if the server or the machine is slow.
const outputTimeout = time.Second

// runner gives the queries to the program, one after the other.
type runner struct {
	cfg          Config
	agent        *tools.ExternalAgent
	server       *mcp.ToolServer
	end          func(error) // ends the agent
	conversation *conversation
	program      *program                     // nil if none is running
	hasStarted   bool                         // a program was started before
	output       atomic.Pointer[outputReader] // of the program that was started last; nil if none was
}

// awaitOutput waits until what the program has printed before it calls a tool is in the conversation.
func (r *runner) awaitOutput(ctx context.Context) {
	if output := r.output.Load(); output != nil {
		ctx, cancel := context.WithTimeout(ctx, outputTimeout)
		defer cancel()
		output.awaitIdle(ctx)
	}
}

// run works on a query. Its error says why the program could not, or is the cause of ctx. A program that
// has exited without a submission ends the agent in an evaluation; elsewhere that is only reported. So is
// one that cannot be started for a later query.
func (r *runner) run(ctx context.Context, task tools.ExternalTask) error {
	r.server.SetTask(task.EarlierTasks + task.Text)
	defer r.server.SetTask("")
	err := r.work(ctx, task)
	exit, hasExited := errors.AsType[*command.Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !hasExited || isClosed(task.Submitted):
		return err
	case task.IsEvaluation:
		r.end(exit)
		<-ctx.Done()
		return context.Cause(ctx)
	default:
		r.agent.ReportError(exit.Text)
		return nil
	}
}

// work gives a query to the program, which is started if none is running, and waits for the end of the
// turn. After an error of the connection the program is stopped.
func (r *runner) work(ctx context.Context, task tools.ExternalTask) error {
	text, err := r.prepare(ctx, task)
	switch {
	case err != nil && r.hasStarted && ctx.Err() == nil:
		r.agent.ReportError(err.Error()) // code in the folder may be the cause
		return nil
	case err != nil:
		return err
	}
	r.hasStarted = true
	r.conversation.beginTurn(r.program.sessionID)
	defer r.conversation.endTurn()
	turn := r.program.prompt(text)
	submitted, closing := task.Submitted, (<-chan time.Time)(nil)
	for {
		select {
		case response := <-turn:
			return r.endTurn(response)
		case <-submitted:
			submitted = nil
			timer := time.NewTimer(r.cfg.CloseTimeout)
			defer timer.Stop()
			closing = timer.C
		case <-closing:
			r.cancelTurn(turn, task.Disconnected)
			return nil
		case <-ctx.Done():
			r.cancelTurn(turn, task.Disconnected)
			return context.Cause(ctx)
		}
	}
}

// prepare returns the prompt for a query, after it has made sure that the program runs and has a session
// for it: the current one, or a new one if the history was cleared.
func (r *runner) prepare(ctx context.Context, task tools.ExternalTask) (prompt string, err error) {
	if r.program != nil && r.program.conn.hasEnded() {
		r.stopProgram()
	}
	switch {
	case r.program == nil:
		if r.program, err = startProgram(ctx, r.cfg, r.conversation, r.agent.ReportError); err == nil {
			r.output.Store(r.program.output)
		}
	case task.EarlierTasks == "" && r.program.hasPrompted:
		if err = r.program.newSession(ctx); err != nil {
			r.stopProgram()
		}
	}
	if err != nil || r.program.hasPrompted {
		return task.Text, err
	}
	return task.EarlierTasks + task.Text, nil
}

// endTurn returns the error that follows from the response to a prompt: nil, a [*builtin.LimitError], or
// what was wrong.
func (r *runner) endTurn(response rpcResponse) error {
	name := r.program.process.Name()
	if response.err != nil {
		err := r.program.responseError(methodPrompt, response.err)
		if r.program.conn.hasEnded() {
			r.stopProgram()
		}
		return err
	}
	var result promptResponse
	if err := decode(response.result, &result); err != nil {
		return fmt.Errorf("%s answered %s with what is no JSON object: %w", name, methodPrompt, err)
	}
	if result.Usage != nil {
		r.conversation.addTokens(result.Usage)
	}
	switch result.StopReason {
	case "end_turn":
	case "max_tokens", "max_turn_requests":
		return &builtin.LimitError{Limit: result.StopReason, Text: "a limit of " + name}
	default: // refusal, cancelled, or unknown
		r.agent.ReportError(fmt.Sprintf("%s has ended its turn with the stop reason %q", name, result.StopReason))
	}
	return nil
}

// cancelTurn asks the program to end its turn. It stops the program if that does not end the turn in
// time, or if the server is gone.
func (r *runner) cancelTurn(turn <-chan rpcResponse, disconnected <-chan struct{}) {
	r.program.cancel()
	timer := time.NewTimer(r.cfg.CancelTimeout)
	defer timer.Stop()
	select {
	case <-turn:
		if !r.program.conn.hasEnded() {
			return
		}
	case <-disconnected:
	case <-timer.C:
		r.cfg.Log.Warn("the program has not ended its turn and is stopped", "program", r.program.process.Name(), "timeout", r.cfg.CancelTimeout)
	}
	r.stopProgram()
}

// stopProgram stops the program, if one is running.
func (r *runner) stopProgram() {
	if r.program != nil {
		r.program.stop()
		r.program = nil
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
