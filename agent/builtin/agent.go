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

// Causes for which a query, and all that it waits for, ends early.
var (
	errCancelled = errors.New("the query was cancelled")
	errReinit    = errors.New("the session was initialised again")
	errCleared   = errors.New("the conversation was cleared")
	errEnded     = errors.New("the connection to the server ended")
)

// agent is one agent on one connection. One goroutine reads and never waits;
// another starts what it was asked to do, each conversation's queries one after
// the other.
type agent struct {
	*core
	conn     protocol.Conn
	strategy strategy
	inbox    *inbox

	initialised bool // an init has been worked off
}

// newAgent returns an agent whose strategy is made by make.
func newAgent(conn protocol.Conn, cfg Config, make func(*core) (strategy, error)) (*agent, error) {
	c := newCore(conn, cfg)
	s, err := make(c)
	if err != nil {
		return nil, errors.Join(err, conn.Close(protocol.CloseNormal, "the agent cannot start"))
	}
	return &agent{core: c, conn: conn, strategy: s, inbox: newInbox()}, nil
}

// run speaks on the connection until it or ctx ends.
func (a *agent) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.read(ctx) })
	group.Go(func() error {
		a.wire.tell(protocol.Ready{Type: protocol.TypeReady})
		return a.inbox.work(ctx)
	})
	group.Go(func() error { return a.notebook.stopOrphans(ctx) })
	group.Go(func() error {
		<-ctx.Done()
		return a.conn.Close(protocol.CloseNormal, "the agent ends")
	})
	if err := group.Wait(); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// read takes in everything that the server sends. It must never wait: the
// answers that the other goroutine waits for come through here.
func (a *agent) read(ctx context.Context) error {
	decoder := protocol.NewDecoder()
	for {
		body, err := a.conn.Read()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return errEnded
		case err != nil:
			return fmt.Errorf("read from the server: %w", err)
		}
		env, err := decoder.Envelope(body)
		if err != nil {
			a.log().Warn("frame ignored", "error", err)
			continue
		}
		a.dispatch(ctx, env, body)
	}
}

func (a *agent) dispatch(ctx context.Context, env protocol.Envelope, body []byte) {
	switch env.Type {
	case protocol.TypeActionResponse:
		a.notebook.operations.answered(env, body)
	case protocol.TypeKernelMessage:
		a.notebook.runs.observe(body)
	case protocol.TypeInit:
		a.inbox.cancelAll(errReinit)
		a.inbox.command(func() { a.init(body) })
	case protocol.TypeAgentQuery:
		a.queue(ctx, body)
	case protocol.TypeAgentCancel:
		a.cancel(body)
	case protocol.TypeAgentClearHistory:
		a.inbox.cancelAll(errCleared)
		a.inbox.command(a.clear)
	default:
		a.log().Debug("frame ignored", "type", env.Type)
	}
}

func (a *agent) queue(ctx context.Context, body []byte) {
	var query protocol.AgentQuery
	if err := json.Unmarshal(body, &query); err != nil {
		a.log().Warn("query ignored", "error", err)
		return
	}
	if queryText(query) == "" {
		a.inbox.command(func() { a.wire.fail("the query is empty", false); a.wire.status(protocol.AgentDone) })
		return
	}
	task := a.strategy.dispatch(query)
	a.inbox.query(ctx, task.conversation, query.RequestID, func(ctx context.Context) { a.answer(ctx, query.RequestID, task) })
}

func (a *agent) cancel(body []byte) {
	var command protocol.AgentCommand
	if err := json.Unmarshal(body, &command); err != nil {
		a.log().Warn("cancel ignored", "error", err)
		return
	}
	a.inbox.cancel(command.RequestID, errCancelled)
}

// init takes over the settings of the session. Conversations go on.
func (a *agent) init(body []byte) {
	var message protocol.AgentInit
	if err := json.Unmarshal(body, &message); err != nil {
		a.wire.fail(fmt.Sprintf("init cannot be read: %v", err), true)
		return
	}
	if err := a.core.init(message); err != nil {
		a.wire.fail(err.Error(), true)
		return
	}
	for _, c := range a.strategy.conversations() {
		c.repair()
	}
	a.initialised = true
	a.wire.status(protocol.AgentReady)
}

// clear forgets what was said.
func (a *agent) clear() {
	a.strategy.forget()
}

// answer works on a query and says how that ended.
func (a *agent) answer(ctx context.Context, requestID string, t task) {
	if !a.initialised {
		a.wire.fail("agent_query came before init", false)
		return
	}
	a.account.open(a.evalMode)
	t.conversation.begin(requestID)
	status, err := t.run(ctx)
	var limit *limitError
	switch {
	case ctx.Err() != nil:
		status = a.broken(context.Cause(ctx), t.conversation)
	case errors.As(err, &limit):
		a.wire.event("limit", limit.Error(), limit.metadata())
		status = protocol.AgentDone
	case errors.Is(err, errDeclined):
		status = protocol.AgentDone
	case err != nil:
		a.log().Error("query failed", "request_id", requestID, "error", err)
		a.wire.fail(err.Error(), true)
		status = ""
	}
	last := a.account.close()
	a.ended(ctx, requestID)
	if last && status != "" {
		a.wire.status(status)
	}
}

// ended tells a person, who may have asked for several things at once, that the
// work on one of them has ended.
func (a *agent) ended(ctx context.Context, requestID string) {
	if !a.evalMode && requestID != "" && !errors.Is(context.Cause(ctx), errEnded) {
		a.wire.event("ended", "", map[string]any{"request_id": requestID})
	}
}

// broken tidies up after a query that ended early: what it started in the
// kernel is stopped, and its transcript made whole.
func (a *agent) broken(cause error, c *conversation) (status string) {
	if errors.Is(cause, errEnded) {
		return "" // there is nobody to tell
	}
	a.notebook.interrupt()
	c.repair()
	a.wire.event("cancelled", cause.Error(), nil)
	return protocol.AgentReady
}

func (a *agent) log() *slog.Logger { return a.cfg.Log }
