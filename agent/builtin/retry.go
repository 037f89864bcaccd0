package builtin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/agent/builtin/render"
	"assay/internal/model"
	"assay/internal/protocol"
)

const (
	// maxModelCallTries is how often one call of the model is tried.
	maxModelCallTries = 10

	// The delay before a retry is random. Its upper bound is firstBackoffDelay before
	// the first retry and doubles with each further one, up to maxBackoffDelay.
	firstBackoffDelay = 500 * time.Millisecond
	maxBackoffDelay   = time.Minute

	// maxRetryAfterDelay bounds the delay that an API asks for with Retry-After.
	maxRetryAfterDelay = 24 * time.Hour

	// maxRetryReasonBytes bounds the error text in a retry event.
	maxRetryReasonBytes = 500
)

// retryState counts the failed tries of one model call, and decides whether and when the
// call is retried.
type retryState struct {
	*Conversation
	failures int // tries that have failed so far
}

// waitBeforeRetry blocks until a model call that failed with err is due to be retried. It returns
// an error if there is no retry: err itself if a retry cannot help, err wrapped if all tries
// are used up or the next one would come after the wall-clock limit, the cause of ctx if ctx
// has ended.
func (r *retryState) waitBeforeRetry(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !model.IsTransient(err) {
		return err
	}
	if r.failures++; r.failures == maxModelCallTries {
		return fmt.Errorf("given up after %d tries: %w", maxModelCallTries, err)
	}
	delay := r.nextDelay(err)
	if left, limited := r.usage.timeLeft(); limited && delay >= left {
		return fmt.Errorf("not retried: the next try would be in %s s, but the attempt has only %s s left: %w", formatRoundedSeconds(delay), formatRoundedSeconds(left), err)
	}
	r.sendRetryEvent(err, delay)
	return r.waitForDelay(ctx, delay)
}

// nextDelay returns the delay before the next try of a model call: the Retry-After of the
// API, plus a random part of a bound that doubles with each failure.
func (r *retryState) nextDelay(err error) time.Duration {
	delay := time.Duration(r.Config.Jitter() * float64(min(maxBackoffDelay, firstBackoffDelay<<(r.failures-1))))
	if api, ok := errors.AsType[*model.APIError](err); ok {
		delay += min(max(0, api.RetryAfter), maxRetryAfterDelay)
	}
	return delay
}

// sendRetryEvent sends an event of type retry {status, attempt, error, wait_ms, waited_ms}.
// status is the HTTP status of the API's error response, 0 if there was none; waited_ms is
// the sum of all earlier retry delays of the agent.
func (r *retryState) sendRetryEvent(err error, delay time.Duration) {
	status := 0
	if api, ok := errors.AsType[*model.APIError](err); ok {
		status = api.Status
	}
	reason := render.ClipToOneLine(err.Error(), maxRetryReasonBytes)
	text := fmt.Sprintf("%s: trying again in %s s (retry %d of %d)", reason, formatRoundedSeconds(delay), r.failures, maxModelCallTries-1)
	r.sendEvent("retry", text, map[string]any{
		"status": status, "attempt": r.failures, "error": reason,
		"wait_ms": delay.Milliseconds(), "waited_ms": r.usage.totalRetryWait().Milliseconds(),
	})
}

// waitForDelay blocks for delay, and adds the time that has passed to the agent's retry delays. It
// sends the status thinking after each minute. If ctx ends first it returns the cause of
// ctx.
func (r *retryState) waitForDelay(ctx context.Context, delay time.Duration) error {
	for left := delay; left > 0; left -= maxBackoffDelay {
		part, began := min(left, maxBackoffDelay), r.Config.Clock()
		if err := r.Config.Sleep(ctx, part); err != nil {
			r.usage.addRetryWait(min(part, r.Config.Clock().Sub(began)))
			return err
		}
		r.usage.addRetryWait(part)
		r.SendStatus(protocol.AgentThinking)
	}
	return nil
}

// formatRoundedSeconds returns a duration as a number of seconds, rounded to two decimals.
func formatRoundedSeconds(d time.Duration) string {
	return render.FormatSeconds(d.Round(10 * time.Millisecond))
}

// sleepContext waits for d, or until ctx ends, whose cause it then returns.
func sleepContext(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
