package check

import (
	"context"
	"time"

	"assay/internal/protocol"
)

// cancelTimeout is how long an agent may take to end a query that is cancelled.
const cancelTimeout = 5 * time.Second

// querySituations returns the situations with several queries, and with what a console may send.
func querySituations() []situation {
	return []situation{
		{
			name: "two-queries", section: sectionAgents, needs: query, isLive: true, prepare: withholdFirstAnswer, run: tryTwoQueries,
			rule: "queue a query that comes while you work on another",
		},
		{
			name: "cancel", section: sectionAgents, needs: query, isLive: true, prepare: withholdFirstAnswer, run: duringAction(tryCancel),
			rule: "at agent_cancel, end the query with that request_id and send an agent_status",
		},
		{
			name: "stray-cancel", section: sectionAgents, needs: query, isLive: true, prepare: withholdFirstAnswer, run: tryStrayCancel,
			what: "another query was cancelled",
			rule: "ignore an agent_cancel with the request_id of another query",
		},
		{
			name: "clear-history", section: sectionAgents, needs: query, isLive: true, run: tryClearHistory,
			rule: "at agent_clear_history, forget the conversation or do nothing, and take further queries",
		},
		{
			name: "early-query", section: sectionAgents, needs: query, isLive: true, startsItself: true, isTolerable: true, run: tryEarlyQuery,
			rule: "survive a query that comes before init",
		},
	}
}

// tryTwoQueries is the situation in which a query comes while the agent works on another one.
func tryTwoQueries(ctx context.Context, p *server) Finding {
	action, from, err := p.awaitWithheld(ctx)
	if err != nil {
		return p.failure(err)
	}
	p.query(task, secondRequestID)
	if action != nil {
		p.notebook.carryOut(action.frame, action.id)
	}
	t, err := p.awaitTurns(ctx, from, 2)
	if hasEnded, _ := t.isOver(1, time.Now()); isSilent(err) && hasEnded {
		return warn("only one of two queries was answered; the second came while the agent worked on the first")
	}
	if err != nil {
		return p.liveFailure(err)
	}
	return pass("both queries were answered, with %s", plural(t.actions, "action"))
}

// liveFailure is like failure, in a live session. An agent that has exited with status 0 is fit for an evaluation,
// which has one query.
func (p *server) liveFailure(err error) Finding {
	if exited, code := exitCode(err); exited && code == 0 {
		f := warn("it exits after its first query")
		f.Remedy = "a live session has many queries: read the next message"
		return f
	}
	return p.failure(err)
}

// tryCancel is the situation in which a query is cancelled during its first action. The answer to that comes
// afterwards.
func tryCancel(ctx context.Context, p *server, action *withheldAction, from int) Finding {
	p.send(protocol.AgentCommand{Type: protocol.TypeAgentCancel, RequestID: requestID})
	cancelledAt := time.Now()
	f, err := p.log.awaitFrame(ctx, from, cancelTimeout, "its turn has not ended after agent_cancel", func(f frame) bool { return f.at.After(action.frame.at) && isTurnEnd(f) })
	wasIgnored := isSilent(err)
	if err != nil && !wasIgnored {
		return p.failure(err)
	}
	p.notebook.carryOut(action.frame, action.id)
	if _, err := p.awaitTurns(ctx, from, 1); err != nil {
		return p.failure(err)
	}
	t, err := p.awaitTurns(ctx, p.query(task, secondRequestID), 1)
	if err != nil {
		return p.liveFailure(err)
	}
	if wasIgnored {
		return warn("it worked on after agent_cancel, to the end of the query; the next query was answered")
	}
	return pass("it stopped after %v; at the next query it %s", round(f.at.Sub(cancelledAt)), t.describe())
}

// isTurnEnd reports whether a frame ends a turn by itself.
func isTurnEnd(f frame) bool {
	t := readTurn([]frame{f})
	return f.Type == protocol.TypeAgentStatus && isFinalStatus(f.Status) || t.endEvents+len(t.fatalErrors) > 0
}

// tryStrayCancel is the situation in which another query is cancelled than the one that the agent works on.
func tryStrayCancel(ctx context.Context, p *server) Finding {
	action, from, err := p.awaitWithheld(ctx)
	if err != nil {
		return p.failure(err)
	}
	p.send(protocol.AgentCommand{Type: protocol.TypeAgentCancel, RequestID: "check-unknown"})
	if action != nil {
		p.notebook.carryOut(action.frame, action.id)
	}
	return p.judge(p.awaitTurns(ctx, from, 1))
}

// tryClearHistory is the situation in which the history is cleared between two queries.
func tryClearHistory(ctx context.Context, p *server) Finding {
	if _, err := p.ask(ctx); err != nil {
		return p.failure(err)
	}
	p.send(protocol.AgentCommand{Type: protocol.TypeAgentClearHistory})
	t, err := p.awaitTurns(ctx, p.query(task, secondRequestID), 1)
	if err != nil {
		return p.liveFailure(err)
	}
	return pass("at the query after it, it %s", t.describe())
}

// quietDelay is how long nothing must come until an agent seems to wait.
const quietDelay = time.Second

// awaitQuiet waits until nothing has come for quietDelay, at most Config.QueryTimeout.
func (p *server) awaitQuiet(ctx context.Context) error {
	return p.log.await(ctx, 0, p.cfg.QueryTimeout, "it does not stop sending messages", func(frames []frame) (bool, time.Time) {
		again := frames[len(frames)-1].at.Add(quietDelay)
		return !time.Now().Before(again), again
	})
}

// tryEarlyQuery is the situation in which a query comes before the init.
func tryEarlyQuery(ctx context.Context, p *server) Finding {
	p.query(task, requestID)
	if _, err := p.initialize(ctx, newInit(false)); err != nil {
		return p.failure(err)
	}
	if err := p.awaitQuiet(ctx); err != nil {
		return p.liveFailure(err)
	}
	t, err := p.awaitTurns(ctx, p.query(task, secondRequestID), 1)
	if err != nil {
		return p.liveFailure(err)
	}
	return pass("at the query after init, it %s", t.describe())
}
