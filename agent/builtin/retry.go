package builtin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

const (
	// maxTries is how often a call of the model is made in a row.
	maxTries = 10

	// The longest pause after the first failed try, which doubles with each
	// further one, and what it grows to.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = time.Minute

	// maxRetryAfter is the longest pause that an API may ask for.
	maxRetryAfter = 24 * time.Hour

	// maxReason is how many bytes of an error are told with a retry.
	maxReason = 500
)

// retrying makes one call of the model again for as long as that may help.
type retrying struct {
	*conversation
	failed int // tries so far
}

// after waits, after a try that failed with err, until the next try is due. Its
// error is what the call ends with when there is none: err itself where trying
// again cannot help, the cause of ctx when that has ended.
func (r *retrying) after(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !model.IsTransient(err) {
		return err
	}
	if r.failed++; r.failed == maxTries {
		return fmt.Errorf("given up after %d tries: %w", maxTries, err)
	}
	pause := r.backoff(err)
	if left, limited := r.account.timeLeft(); limited && pause >= left {
		return fmt.Errorf("not tried again, which would be in %s s, as the attempt has only %s s left: %w", tidy(pause), tidy(left), err)
	}
	r.tell(err, pause)
	return r.rest(ctx, pause)
}

// backoff is how long to wait: a random part of a time that doubles, behind the
// time that the API asked for.
func (r *retrying) backoff(err error) time.Duration {
	pause := time.Duration(r.cfg.Jitter() * float64(min(maxBackoff, firstBackoff<<(r.failed-1))))
	if api, ok := errors.AsType[*model.APIError](err); ok {
		pause += min(max(0, api.RetryAfter), maxRetryAfter)
	}
	return pause
}

// tell announces a pause.
func (r *retrying) tell(err error, pause time.Duration) {
	status := 0
	if api, ok := errors.AsType[*model.APIError](err); ok {
		status = api.Status
	}
	reason := oneLine(err.Error(), maxReason)
	text := fmt.Sprintf("%s: trying again in %s s (retry %d of %d)", reason, tidy(pause), r.failed, maxTries-1)
	r.event("retry", text, map[string]any{
		"status": status, "attempt": r.failed, "error": reason,
		"wait_ms": pause.Milliseconds(), "waited_ms": r.account.waiting().Milliseconds(),
	})
}

// rest waits out a pause, and has it counted. Every minute it gives a sign of
// life.
func (r *retrying) rest(ctx context.Context, pause time.Duration) error {
	for left := pause; left > 0; left -= maxBackoff {
		part, began := min(left, maxBackoff), r.cfg.Clock()
		if err := r.cfg.Pause(ctx, part); err != nil {
			r.account.wait(min(part, r.cfg.Clock().Sub(began)))
			return err
		}
		r.account.wait(part)
		r.wire.status(protocol.AgentThinking)
	}
	return nil
}

// tidy writes a duration in seconds with at most two decimals.
func tidy(d time.Duration) string { return inSeconds(d.Round(10 * time.Millisecond)) }

// sleep waits for d, at most until ctx ends, whose cause it then returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
