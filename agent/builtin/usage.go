package builtin

import (
	"fmt"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// usageTracker adds up the tokens and the cost of all model calls of an agent, sends
// the sums to the server and compares them with the limits. It is safe for concurrent
// use.
type usageTracker struct {
	clock     func() time.Time
	server    *serverConn
	notebook  *Notebook
	modelName string
	modelCard *model.ModelCard // nil if price and context size of the model are not known

	sendMu sync.Mutex // held while a sum is computed and sent, so that sums arrive in order

	mu          sync.Mutex
	openQueries int           // being worked on
	total       callTotals    // since the agent started
	retryWait   time.Duration // sum of all delays before retries, since the agent started
	period      limitPeriod
}

// callTotals is the number of some model calls and the sums of their tokens and cost.
type callTotals struct {
	calls   int
	usage   model.Usage
	costUSD float64 // 0 if the price is not known
}

// limitPeriod is the time over which the limits count.
type limitPeriod struct {
	since         time.Time // zero: the next query starts a period
	actionsBefore int       // actions sent before the period
	totals        callTotals
}

// newUsageTracker returns a tracker with a limit period that starts now. An agent that never
// gets an init stays in this period.
func newUsageTracker(cfg Config, server *serverConn, notebook *Notebook) *usageTracker {
	t := &usageTracker{
		clock: cfg.Clock, server: server, notebook: notebook, modelName: cfg.ModelName,
		period: limitPeriod{since: cfg.Clock()},
	}
	if !cfg.PriceUnknown {
		t.modelCard = model.FindModelCard(cfg.ModelName)
	}
	return t
}

// resetLimits makes the next query start a new period. It sends an error if the cost
// limit cannot be enforced because the price of the model is not known.
func (t *usageTracker) resetLimits() {
	t.mu.Lock()
	t.period = limitPeriod{}
	t.mu.Unlock()
	if usd := t.notebook.limits.MaxCostUSD; usd > 0 && t.modelName != "" && t.modelCard == nil {
		t.server.sendError(fmt.Sprintf("the cost limit of %g USD is not enforced: the price of %q is not known", usd, t.modelName), false)
	}
}

// beginQuery is called when the work on a query begins. It starts a new period if there
// is none, or if this is no evaluation and no other query is being worked on.
func (t *usageTracker) beginQuery(evalMode bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.period.since.IsZero() || !evalMode && t.openQueries == 0 {
		t.period = limitPeriod{since: t.clock(), actionsBefore: t.notebook.actions.sentCount()}
	}
	t.openQueries++
}

// endQuery is called when the work on a query has ended. It reports whether no other
// query is being worked on.
func (t *usageTracker) endQuery() (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.openQueries--
	return t.openQueries == 0
}

// recordCall adds the usage of a model call and sends the new sum as
// agent_usage_update.
func (t *usageTracker) recordCall(u model.Usage) {
	t.sendMu.Lock()
	defer t.sendMu.Unlock()
	t.server.sendOrLog(t.addToTotals(u))
}

// addToTotals adds the usage of a model call and returns the sum over all calls.
func (t *usageTracker) addToTotals(u model.Usage) protocol.UsageUpdate {
	t.mu.Lock()
	defer t.mu.Unlock()
	usd := t.modelCard.CostUSD(u)
	t.total.addCall(u, usd)
	t.period.totals.addCall(u, usd)
	sum := t.total.usage
	update := protocol.UsageUpdate{
		Type: protocol.TypeAgentUsageUpdate, InputTokens: sum.InputTokens, OutputTokens: sum.OutputTokens,
		CacheReadInputTokens: sum.CacheReadInputTokens, CacheCreationInputTokens: sum.CacheCreationInputTokens,
		CostUSD: t.costUSD(t.total),
	}
	if t.modelCard != nil {
		update.ContextLimit = t.modelCard.Context
	}
	return update
}

// addCall adds one model call. usd is its cost in US dollars, nil if the price is not known.
func (c *callTotals) addCall(u model.Usage, usd *float64) {
	c.calls++
	c.usage = c.usage.Add(u)
	if usd != nil {
		c.costUSD += *usd
	}
}

// costUSD returns the cost of some calls in US dollars, or nil if the price is not known.
func (t *usageTracker) costUSD(c callTotals) *float64 {
	if t.modelCard == nil {
		return nil
	}
	return &c.costUSD
}

// addRetryWait adds the length of a delay before a retry of a model call.
func (t *usageTracker) addRetryWait(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retryWait += d
}

// totalRetryWait returns the sum of all delays before retries of model calls.
func (t *usageTracker) totalRetryWait() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.retryWait
}

// timeLeft returns how much of the wall-clock limit is left; it is negative after the limit.
// limited is false if there is no such limit.
func (t *usageTracker) timeLeft() (left time.Duration, limited bool) {
	timeout := t.notebook.limits.WallTimeout
	return timeout - t.limitUse().wall, timeout > 0
}

// checkLimits returns a [LimitError] for the first limit that has been reached, or nil.
func (t *usageTracker) checkLimits() error { return t.notebook.limits.check(t.limitUse()) }

// limitUse returns the turns, tokens, cost, actions and time used in the current limit period.
func (t *usageTracker) limitUse() limitUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	return limitUse{
		turns:   t.period.totals.calls,
		tokens:  t.period.totals.usage.TotalTokens(),
		costUSD: t.costUSD(t.period.totals),
		actions: t.notebook.actions.sentCount() - t.period.actionsBefore,
		wall:    t.clock().Sub(t.period.since),
	}
}
