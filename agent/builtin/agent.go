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

	evaluation  bool // the last init that came has begun one; of the goroutine that reads
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
	decoder := protocol.NewEnvelopeDecoder()
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
		env, err := decoder.Decode(body)
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
		a.begin(body)
	case protocol.TypeAgentQuery:
		a.queue(ctx, body)
	case protocol.TypeAgentCancel:
		a.cancel(body)
	case protocol.TypeAgentClearHistory:
		a.inbox.cancelAll(errCleared)
		a.inbox.command(a.strategy.forget)
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
	task := a.strategy.dispatch(query, a.evaluation)
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

// begin has an init worked off, and ends what was asked for before.
func (a *agent) begin(body []byte) {
	a.inbox.cancelAll(errReinit)
	var message protocol.AgentInit
	if err := json.Unmarshal(body, &message); err != nil {
		a.inbox.command(func() { a.wire.fail(fmt.Sprintf("init cannot be read: %v", err), true) })
		return
	}
	a.evaluation = message.EvalMode
	a.inbox.command(func() { a.init(message) })
}

// init takes over the settings of the session. Conversations go on.
func (a *agent) init(message protocol.AgentInit) {
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

// answer works on a query and says how that ended.
func (a *agent) answer(ctx context.Context, requestID string, t task) {
	if !a.initialised {
		a.wire.fail("agent_query came before init", false)
		return
	}
	t.conversation.requestID = requestID
	a.account.open(a.evalMode)
	status := a.work(ctx, t)
	last := a.account.close()
	if gone(ctx) {
		return
	}
	a.ended(t.conversation)
	if last && status != "" {
		a.wire.status(status)
	}
}

// work works on a query, and returns the status that the agent has then; "" is
// none. Of one that ends early, what it started in the kernel is stopped, and its
// transcript made whole; one that was cancelled while it waited does not begin.
func (a *agent) work(ctx context.Context, t task) (status string) {
	var err error
	others := a.notebook.runs.open()
	begins := ctx.Err() == nil
	if begins {
		t.conversation.repair()
		status, err = t.run(ctx)
	}
	limit, limited := errors.AsType[*limitError](err)
	switch {
	case gone(ctx):
		return ""
	case ctx.Err() != nil:
		if begins {
			a.notebook.interrupt(others)
			t.conversation.repair()
		}
		t.conversation.event("cancelled", context.Cause(ctx).Error(), nil)
		return protocol.AgentReady
	case limited:
		t.conversation.event("limit", limit.Error(), limit.metadata())
		return protocol.AgentDone
	case errors.Is(err, errDeclined):
		return protocol.AgentDone
	case err != nil:
		return a.failed(err, t.conversation)
	}
	return status
}

// failed tells of what has ended the work on a query. An evaluation ends with it;
// in a live session the agent is ready for the next.
func (a *agent) failed(err error, c *conversation) (status string) {
	a.log().Error("query failed", "request_id", c.requestID, "error", err)
	a.wire.fail(err.Error(), true)
	if a.evalMode {
		return ""
	}
	return protocol.AgentReady
}

// ended tells a person, who may have asked for several things at once, that the
// work on one of them has ended.
func (a *agent) ended(c *conversation) {
	if !a.evalMode && c.requestID != "" {
		c.event("ended", "", nil)
	}
}

// gone tells whether there is nobody any more who could be told.
func gone(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errEnded) }

func (a *agent) log() *slog.Logger { return a.cfg.Log }
