package builtin

import (
	"time"

	"assay/agent/model"
	"assay/internal/protocol"
)

// ledger is what calls of the model have taken.
type ledger struct {
	calls int
	usage model.Usage
	usd   float64 // of use only where the price is known
}

func (l *ledger) add(u model.Usage, usd *float64) {
	l.calls++
	l.usage = l.usage.Add(u)
	if usd != nil {
		l.usd += *usd
	}
}

// counted is what the limits look at.
type counted struct {
	since   time.Time // when they began to count, zero before the first query
	actions int       // that had been sent by then
	ledger  ledger
}

// count takes in a call and tells the server the sum of all.
func (c *conversation) count(u model.Usage) {
	usd := c.card.Cost(u)
	c.all.add(u, usd)
	c.counted.ledger.add(u, usd)
	sum := c.all.usage
	update := protocol.UsageUpdate{
		Type: protocol.TypeAgentUsageUpdate, InputTokens: sum.InputTokens, OutputTokens: sum.OutputTokens,
		CacheReadInputTokens: sum.CacheReadInputTokens, CacheCreationInputTokens: sum.CacheCreationInputTokens,
		CostUSD: c.price(c.all),
	}
	if c.card != nil {
		update.ContextLimit = c.card.Context
	}
	c.wire.tell(update)
}

// price is what a ledger has cost in US dollars, nil when that is not known.
func (c *conversation) price(l ledger) *float64 {
	if c.card == nil {
		return nil
	}
	return &l.usd
}

// meter reads what has been spent of the limits.
func (c *conversation) meter() meter {
	return meter{
		turns:   c.counted.ledger.calls,
		tokens:  c.counted.ledger.usage.Total(),
		costUSD: c.price(c.counted.ledger),
		actions: c.notebook.operations.count() - c.counted.actions,
		wall:    c.cfg.Clock().Sub(c.counted.since),
	}
}
