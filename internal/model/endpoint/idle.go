package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"assay/internal/model"
)

// DefaultIdleTimeout is how long a client waits for the next byte of a response,
// including the first, if [Config.IdleTimeout] is 0: 2 minutes.
const DefaultIdleTimeout = 2 * time.Minute

// ParseIdleTimeout parses an idle timeout, given as a number of seconds from 0 to
// 86,400 (a day). It returns -1, which means no limit, for 0, and at least a
// millisecond for other numbers. Anything else is an error.
func ParseIdleTimeout(text string) (time.Duration, error) {
	const most = 24 * 60 * 60
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(n >= 0 && n <= most):
		return 0, fmt.Errorf("idle_s must be a number of seconds up to %d, 0 for no limit, not %q", most, text)
	case n == 0:
		return -1, nil
	default:
		return max(time.Duration(n*float64(time.Second)), time.Millisecond), nil
	}
}

// IdleError means that a call to a model was cancelled because no byte was sent or
// received for the duration Limit. It wraps [model.ErrCutStream].
type IdleError struct{ Limit time.Duration }

func (e *IdleError) Error() string {
	return fmt.Sprintf("%v: nothing came for %v", model.ErrCutStream, e.Limit)
}

func (e *IdleError) Unwrap() error { return model.ErrCutStream }

// NewHTTPClient returns an HTTP client for calls to a model API. A call without traffic
// for idleTimeout (0 is [DefaultIdleTimeout], below 0 no limit) fails with an
// [IdleError]; reading more than 64 MiB of a response fails with [ErrAnswerTooLong].
// Redirects are not followed but returned as responses, because key and conversation
// are for the configured address only.
func NewHTTPClient(base http.RoundTripper, idleTimeout time.Duration) *http.Client {
	if idleTimeout == 0 {
		idleTimeout = DefaultIdleTimeout
	}
	return &http.Client{
		Transport:     idleTransport{base: base, limit: max(idleTimeout, 0)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// idleTransport is an HTTP transport that cancels a call without traffic for limit; 0
// means no limit. Time counts only while the caller is blocked: until the request is
// sent, until the response's headers come, and while it reads the body.
type idleTransport struct {
	base  http.RoundTripper
	limit time.Duration
}

// RoundTrip makes one HTTP call under the idle timeout. The caller must close the
// response's body.
func (t idleTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := &idleTimer{limit: t.limit, cancel: cancel, cause: func() error { return context.Cause(ctx) }}
	if t.limit > 0 {
		timer.timer = time.AfterFunc(t.limit, func() { cancel(&IdleError{t.limit}) })
	}
	req = req.WithContext(ctx)
	if req.Body != nil {
		req.Body = &requestBody{ReadCloser: req.Body, idle: timer}
	}
	answer, err := t.base.RoundTrip(req)
	timer.stop()
	if err != nil {
		err = timer.idleErrorOr(err)
		cancel(nil)
		return nil, err
	}
	answer.Body = &answerBody{ReadCloser: answer.Body, idle: timer, left: MaxAnswerBytes}
	return answer, nil
}

// idleTimer cancels one HTTP call after limit without traffic. It runs only while a
// caller is blocked.
type idleTimer struct {
	limit  time.Duration
	timer  *time.Timer             // nil means no limit
	cancel context.CancelCauseFunc // ends the call
	cause  func() error            // why the call has ended, nil while it goes on
}

// restart starts the idle time from 0 again. It does nothing if the call has ended or
// there is no limit.
func (t *idleTimer) restart() {
	if t.timer != nil && t.cause() == nil {
		t.timer.Reset(t.limit)
	}
}

func (t *idleTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// idleErrorOr returns the [IdleError] if the idle timer has cancelled the call, and
// otherwise err.
func (t *idleTimer) idleErrorOr(err error) error {
	if idle, ok := errors.AsType[*IdleError](t.cause()); ok {
		return idle
	}
	return err
}

// requestBody is the body of a request to a model API. Each Read by the HTTP transport
// restarts the idle timer.
type requestBody struct {
	io.ReadCloser
	idle *idleTimer
}

func (b *requestBody) Read(p []byte) (int, error) {
	b.idle.restart()
	return b.ReadCloser.Read(p)
}

// answerBody is the body of a model API's response. It runs the idle timer while Read
// blocks, and fails with ErrAnswerTooLong after 64 MiB.
type answerBody struct {
	io.ReadCloser
	idle *idleTimer
	left int64 // bytes until the answer is too long
}

func (b *answerBody) Read(p []byte) (int, error) {
	b.idle.restart()
	n, err := b.ReadCloser.Read(p)
	b.idle.stop()
	if b.left -= int64(n); b.left < 0 {
		return n, ErrAnswerTooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.idle.idleErrorOr(err)
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.idle.stop()
	b.idle.cancel(nil)
	return b.ReadCloser.Close()
}
