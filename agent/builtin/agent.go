package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"assay/internal/protocol"
)

// Causes with which the context of a query is cancelled.
var (
	errQueryCancelled       = errors.New("the query was cancelled")
	errSessionReinitialised = errors.New("the session was initialised again")
	errHistoryCleared       = errors.New("the conversation was cleared")
)

// ErrConnectionEnded is the cause with which everything ends when the connection to
// the server has ended.
var ErrConnectionEnded = errors.New("the connection to the server ended")

// Agent is one agent on one connection to a server. NewAgent makes one, Run runs it.
type Agent struct {
	*AgentCore
	conn         protocol.Conn
	strategy     Strategy
	strategyName string
	jobs         *jobQueue

	latestInitEvalMode bool // eval_mode of the latest init that arrived; used by the reader only
	initialised        bool // an init has been applied; changes only while no other job runs
}

// NewAgent returns an agent on conn that has not started. An init that asks for
// another strategy than strategyName is refused. If newStrategy fails, NewAgent
// closes conn and returns the error.
func NewAgent(conn protocol.Conn, cfg Config, strategyName string, newStrategy func(*AgentCore) (Strategy, error)) (*Agent, error) {
	core := NewAgentCore(conn, cfg)
	strategy, err := newStrategy(core)
	if err != nil {
		return nil, errors.Join(err, conn.Close(protocol.CloseNormal, "the agent cannot start"))
	}
	return &Agent{AgentCore: core, conn: conn, strategy: strategy, strategyName: strategyName, jobs: newJobQueue()}, nil
}

// Run works on queries until the connection ends, which is no error, or until ctx
// ends, whose cause it returns. It closes the connection and returns after all its
// goroutines have ended.
func (a *Agent) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.readFrames(ctx) })
	group.Go(func() error {
		a.server.sendOrLog(protocol.Ready{Type: protocol.TypeReady})
		return a.jobs.run(ctx)
	})
	group.Go(func() error { return a.Notebook.stopLateCells(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		return a.conn.Close(protocol.CloseNormal, "the agent ends")
	})
	if err := group.Wait(); !errors.Is(err, ErrConnectionEnded) {
		return err
	}
	return nil
}

// QueueToolCall queues a call of a tool that another program made. It runs beside
// queries and other calls, but not while an init is applied or the history is
// cleared. The context that run gets ends with ctx, or when an init or
// agent_clear_history cancels all jobs.
func (a *Agent) QueueToolCall(ctx context.Context, run func(context.Context)) {
	a.jobs.addToolCall(ctx, run)
}

// IsInitialised reports whether an init has been applied. It may be called only by
// jobs: tasks and queued tool calls.
func (a *Agent) IsInitialised() bool { return a.initialised }

// readFrames handles every frame that the server sends. It must never block: the
// responses that other goroutines wait for arrive here.
func (a *Agent) readFrames(ctx context.Context) error {
	decoder := protocol.NewEnvelopeDecoder()
	for {
		body, err := a.conn.Read()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return ErrConnectionEnded
		case err != nil:
			return fmt.Errorf("read from the server: %w", err)
		}
		env, err := decoder.Decode(body)
		if err != nil {
			a.log().Warn("frame ignored", "error", err)
			continue
		}
		a.handleFrame(ctx, env, body)
	}
}

// handleFrame handles one frame without blocking. Unknown frames are ignored.
func (a *Agent) handleFrame(ctx context.Context, env protocol.Envelope, body []byte) {
	switch env.Type {
	case protocol.TypeActionResponse:
		a.Notebook.actions.handleResponse(env, body)
	case protocol.TypeKernelMessage:
		a.Notebook.runs.handleKernelMessage(body)
	case protocol.TypeInit:
		a.queueInit(body)
	case protocol.TypeAgentQuery:
		a.queueQuery(ctx, body)
	case protocol.TypeAgentCancel:
		a.cancelQuery(body)
	case protocol.TypeAgentClearHistory:
		a.jobs.cancelAll(errHistoryCleared)
		a.jobs.addCommand(a.strategy.ClearHistory)
	default:
		a.log().Debug("frame ignored", "type", env.Type)
	}
}

// queueQuery queues an agent_query, or an error if its text is empty.
func (a *Agent) queueQuery(ctx context.Context, body []byte) {
	var query protocol.AgentQuery
	if err := json.Unmarshal(body, &query); err != nil {
		a.log().Warn("query ignored", "error", err)
		return
	}
	if QueryText(query) == "" {
		a.jobs.addCommand(func() { a.SendError("the query is empty"); a.SendStatus(protocol.AgentDone) })
		return
	}
	task := a.strategy.Dispatch(query, a.latestInitEvalMode)
	a.jobs.addQuery(ctx, task.Conversation, query.RequestID, func(ctx context.Context) { a.answerQuery(ctx, query.RequestID, task) })
}

// cancelQuery handles agent_cancel.
func (a *Agent) cancelQuery(body []byte) {
	var command protocol.AgentCommand
	if err := json.Unmarshal(body, &command); err != nil {
		a.log().Warn("cancel ignored", "error", err)
		return
	}
	a.jobs.cancelQuery(command.RequestID, errQueryCancelled)
}

// queueInit cancels all jobs and queues an init.
func (a *Agent) queueInit(body []byte) {
	a.jobs.cancelAll(errSessionReinitialised)
	var message protocol.AgentInit
	if err := json.Unmarshal(body, &message); err != nil {
		a.jobs.addCommand(func() { a.server.sendError(fmt.Sprintf("init cannot be read: %v", err), true) })
		return
	}
	a.latestInitEvalMode = message.EvalMode
	a.jobs.addCommand(func() {
		if err := a.applyInit(message); err != nil {
			a.server.sendError(err.Error(), true)
			return
		}
		a.SendStatus(protocol.AgentReady)
	})
}

// applyInit takes over the settings of the session. Conversations keep their
// transcripts, which are repaired.
func (a *Agent) applyInit(message protocol.AgentInit) error {
	if message.Strategy != "" && message.Strategy != a.strategyName {
		return fmt.Errorf("the session wants the strategy %q, and this agent was started with %q", message.Strategy, a.strategyName)
	}
	if err := a.applySession(message); err != nil {
		return err
	}
	for _, c := range a.strategy.Conversations() {
		c.repairTranscript()
	}
	a.initialised = true
	return nil
}

// answerQuery works on a query and sends the status with which it ends, unless
// another query is still being worked on.
func (a *Agent) answerQuery(ctx context.Context, requestID string, t Task) {
	if !a.initialised {
		a.SendError("agent_query came before init")
		return
	}
	t.Conversation.requestID = requestID
	a.usage.beginQuery(a.EvalMode)
	status := a.runTask(ctx, t)
	last := a.usage.endQuery()
	if isDisconnected(ctx) {
		return
	}
	a.sendEndedEvent(t.Conversation)
	if last && status != "" {
		a.SendStatus(status)
	}
}

// runTask runs a task and returns the status that the agent then has, "" for none. A
// query that was cancelled before it started is not run. If ctx ends during the
// task, runTask stops the cells that the task started in the kernel and repairs the
// transcript.
func (a *Agent) runTask(ctx context.Context, t Task) (status string) {
	var err error
	otherRuns := a.Notebook.runs.openRuns()
	started := ctx.Err() == nil
	if started {
		t.Conversation.repairTranscript()
		status, err = t.Run(ctx)
	}
	limit, limited := errors.AsType[*LimitError](err)
	_, declined := errors.AsType[*DeclinedError](err)
	switch {
	case isDisconnected(ctx):
		return ""
	case ctx.Err() != nil:
		if started {
			a.Notebook.stopStartedCells(otherRuns)
			t.Conversation.repairTranscript()
		}
		t.Conversation.sendEvent("cancelled", context.Cause(ctx).Error(), nil)
		return protocol.AgentReady
	case limited:
		t.Conversation.sendEvent("limit", limit.Error(), limit.eventMetadata())
		return protocol.AgentDone
	case declined:
		return protocol.AgentDone
	case err != nil:
		return a.reportFailure(err, t.Conversation)
	}
	return status
}

// reportFailure sends the fatal error that has ended a query. An evaluation ends
// with it and has no further status; in a live session the agent is ready again.
func (a *Agent) reportFailure(err error, c *Conversation) (status string) {
	a.log().Error("query failed", "request_id", c.requestID, "error", err)
	a.server.sendError(err.Error(), true)
	if a.EvalMode {
		return ""
	}
	return protocol.AgentReady
}

// sendEndedEvent tells the user of a live session, where several queries may be in
// progress at once, that one of them has ended.
func (a *Agent) sendEndedEvent(c *Conversation) {
	if !a.EvalMode && c.requestID != "" {
		c.sendEvent("ended", "", nil)
	}
}

// isDisconnected reports whether ctx ended because the connection to the server did.
func isDisconnected(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), ErrConnectionEnded)
}

func (a *Agent) log() *slog.Logger { return a.Config.Log }
