package builtin

import (
	"fmt"
	"sync"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// account is what an agent's calls of the model have taken, and how much of its
// limits is left. It is safe for concurrent use.
type account struct {
	clock    func() time.Time
	wire     *wire
	notebook *notebook
	model    string
	card     *model.Card // nil: price and context of the model are not known

	telling sync.Mutex // held while the server is told, so that sums come in their order

	mu      sync.Mutex
	queries int           // that are worked on now
	all     ledger        // since the agent started
	waited  time.Duration // before calls that were made again, since the agent started
	counted counted
}

// ledger is what calls of the model have taken.
type ledger struct {
	calls int
	usage model.Usage
	usd   float64 // 0 where the price is not known
}

// counted is what the limits look at.
type counted struct {
	since   time.Time // when they began to count; zero: the next query begins it
	actions int       // that had been sent by then
	ledger  ledger
}

func newAccount(cfg Config, w *wire, n *notebook) *account {
	a := &account{clock: cfg.Clock, wire: w, notebook: n, model: cfg.ModelName}
	if !cfg.Unpriced {
		a.card = model.FindCard(cfg.ModelName)
	}
	return a
}

// reset lets the limits count anew from the next query on, and says so if the one
// on the cost cannot be watched.
func (a *account) reset() {
	a.mu.Lock()
	a.counted = counted{}
	a.mu.Unlock()
	if usd := a.notebook.limits.CostUSD; usd > 0 && a.model != "" && a.card == nil {
		a.wire.fail(fmt.Sprintf("the cost limit of %g USD is not enforced: the price of %q is not known", usd, a.model), false)
	}
}

// open is called when the work on a query begins. In an evaluation the limits
// count from the first query on, otherwise from each that no other is worked on
// beside.
func (a *account) open(evaluation bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counted.since.IsZero() || !evaluation && a.queries == 0 {
		a.counted = counted{since: a.clock(), actions: a.notebook.operations.count()}
	}
	a.queries++
}

// close is called when the work on a query has ended. It reports whether no other
// is worked on now.
func (a *account) close() (last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queries--
	return a.queries == 0
}

// add takes in what a call of the model has taken, and tells the server the sum of
// all.
func (a *account) add(u model.Usage) {
	a.telling.Lock()
	defer a.telling.Unlock()
	a.wire.tell(a.sum(u))
}

// sum takes in what a call has taken, and returns the sum of all.
func (a *account) sum(u model.Usage) protocol.UsageUpdate {
	a.mu.Lock()
	defer a.mu.Unlock()
	usd := a.card.CostUSD(u)
	a.all.add(u, usd)
	a.counted.ledger.add(u, usd)
	sum := a.all.usage
	update := protocol.UsageUpdate{
		Type: protocol.TypeAgentUsageUpdate, InputTokens: sum.InputTokens, OutputTokens: sum.OutputTokens,
		CacheReadInputTokens: sum.CacheReadInputTokens, CacheCreationInputTokens: sum.CacheCreationInputTokens,
		CostUSD: a.price(a.all),
	}
	if a.card != nil {
		update.ContextLimit = a.card.Context
	}
	return update
}

func (l *ledger) add(u model.Usage, usd *float64) {
	l.calls++
	l.usage = l.usage.Add(u)
	if usd != nil {
		l.usd += *usd
	}
}

// price is what a ledger has cost in US dollars, nil when that is not known.
func (a *account) price(l ledger) *float64 {
	if a.card == nil {
		return nil
	}
	return &l.usd
}

// wait takes in a pause before a call was made again.
func (a *account) wait(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waited += d
}

// waiting is the sum of all pauses.
func (a *account) waiting() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waited
}

// timeLeft is how much of the limit on time is left, if there is such a limit.
func (a *account) timeLeft() (left time.Duration, limited bool) {
	most := a.notebook.limits.Wall
	return most - a.meter().wall, most > 0
}

// check returns the first limit that has been reached, nil if none.
func (a *account) check() error { return a.notebook.limits.check(a.meter()) }

// meter reads what has been spent of the limits.
func (a *account) meter() meter {
	a.mu.Lock()
	defer a.mu.Unlock()
	return meter{
		turns:   a.counted.ledger.calls,
		tokens:  a.counted.ledger.usage.TotalTokens(),
		costUSD: a.price(a.counted.ledger),
		actions: a.notebook.operations.count() - a.counted.actions,
		wall:    a.clock().Sub(a.counted.since),
	}
}
