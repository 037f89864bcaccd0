package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// DefaultIdle is how long a client waits for the next byte of an answer, the
// first one included, unless [Options.Idle] says otherwise.
const DefaultIdle = 2 * time.Minute

// ParseIdle reads [Options.Idle] from a number of seconds; 0 is for ever.
func ParseIdle(text string) (time.Duration, error) {
	const most = 24 * 60 * 60
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(n >= 0 && n <= most):
		return 0, fmt.Errorf("idle_s must be a number of seconds up to %d, 0 for no limit, not %q", most, text)
	case n == 0:
		return -1, nil
	default:
		return max(seconds(n), time.Millisecond), nil
	}
}

// silenceError says that nothing came for so long that the client gave up. It is
// an [ErrCutStream].
type silenceError struct{ limit time.Duration }

func (e *silenceError) Error() string {
	return fmt.Sprintf("%v: nothing came for %v", ErrCutStream, e.limit)
}

func (e *silenceError) Unwrap() error { return ErrCutStream }

// listening is a transport that ends a call on which nothing moves for as long
// as its limit, 0 for none. It counts while somebody waits: for the request to go
// out, for the headers, for more of the body.
type listening struct {
	base  http.RoundTripper
	limit time.Duration
}

// listen puts a limit on the silence of a transport: 0 is [DefaultIdle], below 0
// there is none. What fails by it fails with a [silenceError]. Answers end with
// an error after maxReply bytes.
func listen(base http.RoundTripper, limit time.Duration) http.RoundTripper {
	if limit == 0 {
		limit = DefaultIdle
	}
	return listening{base: base, limit: max(limit, 0)}
}

// notFollowed keeps a client from following redirects: the key and the
// conversation are for the address that was given. A redirect is an answer like
// any other.
func notFollowed(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// RoundTrip makes a call. The body of the answer is the caller's to close.
func (l listening) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	e := &ear{limit: l.limit, cancel: cancel, cause: func() error { return context.Cause(ctx) }}
	if l.limit > 0 {
		e.timer = time.AfterFunc(l.limit, func() { cancel(&silenceError{l.limit}) })
	}
	req = req.WithContext(ctx)
	if req.Body != nil {
		req.Body = &outgoing{ReadCloser: req.Body, ear: e}
	}
	answer, err := l.base.RoundTrip(req)
	e.shut()
	if err != nil {
		err = e.why(err)
		cancel(nil)
		return nil, err
	}
	answer.Body = &answerBody{ReadCloser: answer.Body, ear: e, left: maxReply}
	return answer, nil
}

// ear is the watch over one call. It is open while somebody waits.
type ear struct {
	limit  time.Duration
	timer  *time.Timer             // nil without a limit
	cancel context.CancelCauseFunc // ends the call
	cause  func() error            // why it has ended
}

// open begins to count, from 0.
func (e *ear) open() {
	if e.timer != nil && e.cause() == nil {
		e.timer.Reset(e.limit)
	}
}

func (e *ear) shut() {
	if e.timer != nil {
		e.timer.Stop()
	}
}

// why tells silence from the other reasons of an error.
func (e *ear) why(err error) error {
	if silence, ok := errors.AsType[*silenceError](e.cause()); ok {
		return silence
	}
	return err
}

// outgoing is the body of a request. Each part of it that is fetched for sending
// is a sign of life.
type outgoing struct {
	io.ReadCloser
	ear *ear
}

func (b *outgoing) Read(p []byte) (int, error) {
	b.ear.open()
	return b.ReadCloser.Read(p)
}

// answerBody is the body of an answer.
type answerBody struct {
	io.ReadCloser
	ear  *ear
	left int64 // bytes until it is too long
}

func (b *answerBody) Read(p []byte) (int, error) {
	b.ear.open()
	n, err := b.ReadCloser.Read(p)
	b.ear.shut()
	if b.left -= int64(n); b.left < 0 {
		return n, errTooLong
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.ear.why(err)
	}
	return n, err
}

func (b *answerBody) Close() error {
	b.ear.shut()
	b.ear.cancel(nil)
	return b.ReadCloser.Close()
}
