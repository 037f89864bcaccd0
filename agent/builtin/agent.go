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

// Agent is a built-in agent on one connection to a server: it reads frames, queues queries
// and runs them with its strategy. [NewAgent] creates one; [Agent.Run] runs it.
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

// QueueToolCall queues run, which calls a tool for an external program. The call runs beside
// queries and other calls, but not while an init is applied or the history is cleared. The
// context that run gets ends with ctx, or when an init or agent_clear_history cancels all
// jobs.
func (a *Agent) QueueToolCall(ctx context.Context, run func(context.Context)) {
	a.jobs.addToolCall(ctx, run)
}

// IsInitialised reports whether the agent has applied an init message. Only tasks and queued
// tool calls may call it, because it is not locked.
func (a *Agent) IsInitialised() bool { return a.initialised }

// readFrames handles the frames that the server sends, one after the other, without
// blocking: the responses that other goroutines wait for arrive here too. It returns
// ErrConnectionEnded when the server closes the connection, the cause of ctx when ctx ends,
// or a read error.
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

// handleFrame handles one frame from the server without blocking. Frames of unknown types
// are ignored.
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

// queueQuery queues the work on an agent_query. For a query without text it queues an
// agent_error and the status done instead; a query that cannot be decoded is only logged.
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
	a.jobs.addQuery(ctx, task.Conversation, query.RequestID, func(ctx context.Context) (report func()) { return a.answerQuery(ctx, query.RequestID, task) })
}

// cancelQuery handles an agent_cancel frame: it cancels the query with the frame's request
// id, or the first unfinished query if the frame has no id.
func (a *Agent) cancelQuery(body []byte) {
	var command protocol.AgentCommand
	if err := json.Unmarshal(body, &command); err != nil {
		a.log().Warn("cancel ignored", "error", err)
		return
	}
	a.jobs.cancelQuery(command.RequestID, errQueryCancelled)
}

// queueInit handles an init frame: it cancels all queries and tool calls, and queues a
// command that applies the init and sends the status ready. An init that cannot be decoded
// or applied is answered with a fatal agent_error.
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

// applyInit applies the session settings of an init message. Conversations keep their
// transcripts, which are repaired. It returns an error if the message asks for another
// strategy than the agent has, or if its limits cannot be read.
func (a *Agent) applyInit(message protocol.AgentInit) error {
	if message.Strategy != "" && message.Strategy != a.strategyName {
		return fmt.Errorf("the session wants the strategy %q, and this agent was started with %q", message.Strategy, a.strategyName)
	}
	if err := a.applySessionSettings(message); err != nil {
		return err
	}
	for _, c := range a.strategy.Conversations() {
		c.repairTranscript()
	}
	a.initialised = true
	return nil
}

// answerQuery runs the task of a query. It returns a function that reports the query's end: it
// sends the status that the task ended with, unless another query is still in progress. A query
// that comes before the first init is answered with an agent_error.
func (a *Agent) answerQuery(ctx context.Context, requestID string, t Task) (report func()) {
	if !a.initialised {
		return func() { a.SendError("agent_query came before init") }
	}
	t.Conversation.requestID = requestID
	a.usage.beginQuery(a.EvalMode)
	status := a.runTask(ctx, t)
	last := a.usage.endQuery()
	return func() {
		if isDisconnected(ctx) {
			return
		}
		a.sendQueryEndedEvent(t.Conversation)
		if last && status != "" {
			a.SendStatus(status)
		}
	}
}

// runTask runs a task and returns the status that the agent then has, "" for none. A
// query that was cancelled before it started is not run. If ctx ends during the
// task, runTask stops the cells that the task started in the kernel and repairs the
// transcript.
func (a *Agent) runTask(ctx context.Context, t Task) (status string) {
	var err error
	otherRuns := a.Notebook.runs.unfinishedRuns()
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

// reportFailure logs err, sends it as the fatal error that has ended a query, and returns
// the agent's next status: ready in a live session, "" (none) in an evaluation, which has
// ended.
func (a *Agent) reportFailure(err error, c *Conversation) (status string) {
	a.log().Error("query failed", "request_id", c.requestID, "error", err)
	a.server.sendError(err.Error(), true)
	if a.EvalMode {
		return ""
	}
	return protocol.AgentReady
}

// sendQueryEndedEvent sends an event of type ended for the query of a conversation, because a
// live session may have several queries in progress. It sends nothing in an evaluation, or
// for a query without a request id.
func (a *Agent) sendQueryEndedEvent(c *Conversation) {
	if !a.EvalMode && c.requestID != "" {
		c.sendEvent("ended", "", nil)
	}
}

// isDisconnected reports whether ctx ended because the connection to the server ended.
func isDisconnected(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), ErrConnectionEnded)
}

func (a *Agent) log() *slog.Logger { return a.Config.Log }
