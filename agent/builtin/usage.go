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
	notebook  *NotebookClient
	modelName string
	modelCard *model.ModelCard // nil if price and context size of the model are not known

	isBehindGateway bool // Config.IsBehindGateway

	sendMu sync.Mutex // held while a sum is computed and sent, so that sums arrive in order

	mu          sync.Mutex
	openQueries int             // being worked on
	total       modelCallTotals // since the agent started
	retryWait   time.Duration   // sum of all delays before retries, since the agent started
	period      limitPeriod
}

// modelCallTotals is the number of model calls in a period, and the sums of their tokens and of
// their cost in US dollars.
type modelCallTotals struct {
	calls   int
	usage   model.Usage
	costUSD float64 // 0 if the price is not known
}

// limitPeriod is the time since which the limits count, and what the agent has used since.
type limitPeriod struct {
	since         time.Time // zero: the next query starts a period
	actionsBefore int       // actions sent before the period
	totals        modelCallTotals
}

// newUsageTracker returns a tracker whose limit period starts now. If the agent never gets
// an init, this period goes on.
func newUsageTracker(cfg Config, server *serverConn, notebook *NotebookClient) *usageTracker {
	t := &usageTracker{
		clock: cfg.Clock, server: server, notebook: notebook, modelName: cfg.ModelName,
		period: limitPeriod{since: cfg.Clock()}, isBehindGateway: cfg.IsBehindGateway,
	}
	if !cfg.PriceUnknown {
		t.modelCard = model.FindModelCard(cfg.ModelName)
	}
	return t
}

// resetLimits makes the next query start a new limit period. It sends an agent_error if the
// cost limit cannot be enforced because the price of the model is not known.
func (t *usageTracker) resetLimits() {
	t.mu.Lock()
	t.period = limitPeriod{}
	t.mu.Unlock()
	if usd := t.notebook.limits.MaxCostUSD; usd > 0 && t.modelName != "" && t.modelCard == nil && !t.isBehindGateway {
		t.server.sendError(fmt.Sprintf("the cost limit of %g USD is not enforced: the price of %q is not known", usd, t.modelName), false)
	}
}

// beginQuery counts a query as in progress. It starts a new limit period if there is none,
// or, outside of an evaluation, if no other query is in progress.
func (t *usageTracker) beginQuery(evalMode bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.period.since.IsZero() || !evalMode && t.openQueries == 0 {
		t.period = limitPeriod{since: t.clock(), actionsBefore: t.notebook.actions.sentActionCount()}
	}
	t.openQueries++
}

// endQuery counts a query as ended. It returns true if no other query is in progress.
func (t *usageTracker) endQuery() (last bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.openQueries--
	return t.openQueries == 0
}

// recordModelCall adds the tokens of a model call to the agent's totals and sends the new totals
// as agent_usage_update.
func (t *usageTracker) recordModelCall(u model.Usage) {
	t.sendMu.Lock()
	defer t.sendMu.Unlock()
	t.server.sendOrLog(t.addToTotals(u))
}

// addToTotals adds the tokens and the cost of a model call to the totals of the agent and of
// the limit period, and returns the agent's totals as the message for the server.
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

// addCall adds the tokens and the cost of one model call to the totals. usd is the cost in
// US dollars, nil if the price is not known.
func (c *modelCallTotals) addCall(u model.Usage, usd *float64) {
	c.calls++
	c.usage = c.usage.Add(u)
	if usd != nil {
		c.costUSD += *usd
	}
}

// costUSD returns the cost of the model calls in c in US dollars, or nil if the model's
// price is not known.
func (t *usageTracker) costUSD(c modelCallTotals) *float64 {
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

// timeLeft returns how much of the wall-clock limit is left, which is negative once it has
// passed. limited is false if there is no wall-clock limit.
func (t *usageTracker) timeLeft() (left time.Duration, limited bool) {
	timeout := t.notebook.limits.WallTimeout
	return timeout - t.limitUse().wall, timeout > 0
}

// checkLimits compares what the agent has used in the current limit period with its limits.
// It returns a [LimitError] for one limit that has been reached, nil if none has.
func (t *usageTracker) checkLimits() error { return t.notebook.limits.check(t.limitUse()) }

// limitUse returns the turns, tokens, cost in US dollars, actions and wall-clock time that
// the agent has used in the current limit period.
func (t *usageTracker) limitUse() limitUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	return limitUse{
		turns:   t.period.totals.calls,
		tokens:  t.period.totals.usage.TotalTokens(),
		costUSD: t.costUSD(t.period.totals),
		actions: t.notebook.actions.sentActionCount() - t.period.actionsBefore,
		wall:    t.clock().Sub(t.period.since),
	}
}
