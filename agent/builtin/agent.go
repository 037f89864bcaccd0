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

// strategy works on one query and returns the status that ends the agent's
// turn: done, or what it waits for. Its error is a [limitError], the cause of
// ctx, or a failure of the model.
type strategy func(ctx context.Context, query protocol.AgentQuery) (status string, err error)

// agent is one agent on one connection. One goroutine reads and never waits;
// another takes what it was asked to do, one after the other, and is the only
// one that writes, but for the operations that it starts.
type agent struct {
	conn         protocol.Conn
	wire         *wire
	notebook     *notebook
	conversation *conversation
	strategy     strategy
	inbox        *inbox
	log          *slog.Logger

	initialised bool // an init has been worked off
}

func newAgent(conn protocol.Conn, cfg Config) *agent {
	cfg = cfg.withDefaults()
	w := &wire{conn: conn, stderr: cfg.Stderr, log: cfg.Log}
	n := newNotebook(w, cfg)
	return &agent{
		conn: conn, wire: w, notebook: n, conversation: newConversation(w, n, cfg),
		inbox: newInbox(), log: cfg.Log,
	}
}

// run speaks on the connection until it or ctx ends.
func (a *agent) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.read(ctx) })
	group.Go(func() error {
		a.wire.tell(protocol.Ready{Type: protocol.TypeReady})
		return a.inbox.work(ctx)
	})
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
			a.log.Warn("frame ignored", "error", err)
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
		a.inbox.command(a.conversation.clear)
	default:
		a.log.Debug("frame ignored", "type", env.Type)
	}
}

func (a *agent) queue(ctx context.Context, body []byte) {
	var query protocol.AgentQuery
	if err := json.Unmarshal(body, &query); err != nil {
		a.log.Warn("query ignored", "error", err)
		return
	}
	a.inbox.query(ctx, query.RequestID, func(ctx context.Context) { a.answer(ctx, query) })
}

func (a *agent) cancel(body []byte) {
	var command protocol.AgentCommand
	if err := json.Unmarshal(body, &command); err != nil {
		a.log.Warn("cancel ignored", "error", err)
		return
	}
	a.inbox.cancel(command.RequestID, errCancelled)
}

// init takes over the settings of the session. A conversation goes on.
func (a *agent) init(body []byte) {
	var message protocol.AgentInit
	if err := json.Unmarshal(body, &message); err != nil {
		a.wire.fail(fmt.Sprintf("init cannot be read: %v", err), true)
		return
	}
	if message.Strategy != "" && message.Strategy != "tools" {
		a.wire.fail(fmt.Sprintf("unknown strategy %q: known is tools", message.Strategy), true)
		return
	}
	if err := a.conversation.init(message); err != nil {
		a.wire.fail(err.Error(), true)
		return
	}
	a.initialised = true
	a.wire.status(protocol.AgentReady)
}

// answer works on a query and says how that ended.
func (a *agent) answer(ctx context.Context, query protocol.AgentQuery) {
	if !a.initialised {
		a.wire.fail("agent_query came before init", false)
		return
	}
	a.conversation.begin(query.RequestID)
	status, err := a.strategy(ctx, query)
	var limit *limitError
	switch {
	case ctx.Err() != nil:
		a.broken(context.Cause(ctx))
	case errors.As(err, &limit):
		a.wire.event("limit", limit.Error(), limit.metadata())
		a.wire.status(protocol.AgentDone)
	case err != nil:
		a.log.Error("query failed", "request_id", query.RequestID, "error", err)
		a.wire.fail(err.Error(), true)
	default:
		a.wire.status(status)
	}
}

// broken tidies up after a query that ended early: what it started in the
// kernel is stopped, and its transcript made whole.
func (a *agent) broken(cause error) {
	if errors.Is(cause, errEnded) {
		return // there is nobody to tell
	}
	a.notebook.interrupt()
	a.conversation.repair()
	a.wire.event("cancelled", cause.Error(), nil)
	a.wire.status(protocol.AgentReady)
}
