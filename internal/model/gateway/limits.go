package gateway

import (
	"context"
	"fmt"
	"sync"

	"assay/internal/model"
)

// Limits are the most that an agent may use. 0 means no limit.
type Limits struct {
	MaxCalls   int // that got a complete reply, or that the agent has left
	MaxTokens  int64
	MaxCostUSD float64 // not enforced for calls whose price is not known
}

// Use is what calls have used.
type Use struct {
	Calls   int // that got a complete reply, or that the agent has left
	Tokens  model.Usage
	CostUSD float64 // of the calls whose price is known
}

// add returns the sum of two uses.
func (u Use) add(v Use) Use {
	return Use{Calls: u.Calls + v.Calls, Tokens: u.Tokens.Add(v.Tokens), CostUSD: u.CostUSD + v.CostUSD}
}

// subtract returns the difference of two uses.
func (u Use) subtract(v Use) Use {
	return u.add(Use{
		Calls: -v.Calls, CostUSD: -v.CostUSD,
		Tokens: model.Usage{InputTokens: -v.Tokens.InputTokens, OutputTokens: -v.Tokens.OutputTokens},
	})
}

// LimitError says which limit the calls of an agent have reached.
type LimitError struct {
	Limit                string // turns, tokens or cost_usd
	Configured, Measured any    // numbers
}

// Error says the limit and what was measured.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: configured %v, measured %v", e.Limit, e.Configured, e.Measured)
}

// check returns a *LimitError if this use has reached a limit.
func (l Limits) check(used Use) error {
	switch {
	case l.MaxCalls > 0 && used.Calls >= l.MaxCalls:
		return &LimitError{Limit: "turns", Configured: l.MaxCalls, Measured: used.Calls}
	case l.MaxTokens > 0 && used.Tokens.TotalTokens() >= l.MaxTokens:
		return &LimitError{Limit: "tokens", Configured: l.MaxTokens, Measured: used.Tokens.TotalTokens()}
	case l.MaxCostUSD > 0 && used.CostUSD >= l.MaxCostUSD:
		return &LimitError{Limit: "cost_usd", Configured: l.MaxCostUSD, Measured: used.CostUSD}
	default:
		return nil
	}
}

// ledger adds up what the calls of an endpoint use. A call in flight counts as the most that it may use: when
// those in flight could reach a limit, the next call waits for their end. So a limit is exceeded by one call at most.
type ledger struct {
	limits Limits

	mu       sync.Mutex
	used     Use // by calls that have ended
	inFlight int
	reserved Use           // the most that the calls in flight may use
	settled  chan struct{} // closed when a call ends; nil: no call waits for that
	refusal  error         // why all calls are refused; nil: they are not
}

// admit waits until a call may be made without that those in flight could reach a limit, and
// counts it as in flight; most is the most that it may use. It fails with a *LimitError if a limit has been
// reached, with why all calls are refused, and with the cause of ctx. After success the caller must call settle.
func (l *ledger) admit(ctx context.Context, most Use) error {
	for {
		settled, err := l.tryAdmit(most)
		if settled == nil {
			return err
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryAdmit counts a call as in flight if it may be made now, or returns why it may not. If that
// depends on a call in flight, it returns a channel that is closed when one has ended.
func (l *ledger) tryAdmit(most Use) (settled <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refusal != nil {
		return nil, l.refusal
	}
	if err := l.limits.check(l.used); err != nil {
		return nil, err
	}
	if l.inFlight > 0 && l.limits.check(l.used.add(l.reserved)) != nil {
		if l.settled == nil {
			l.settled = make(chan struct{})
		}
		return l.settled, nil
	}
	l.inFlight++
	l.reserved = l.reserved.add(most)
	return nil, nil
}

// settle counts what a call, which was admitted with most, has used.
func (l *ledger) settle(most, used Use) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	l.reserved = l.reserved.subtract(most)
	if l.inFlight == 0 {
		l.reserved = Use{} // without what rounding has left
	}
	l.used = l.used.add(used)
	if l.settled != nil {
		close(l.settled)
		l.settled = nil
	}
}

// refuse makes admit fail with this error from now on.
func (l *ledger) refuse(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusal = reason
}
