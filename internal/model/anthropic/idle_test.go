package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// A call without traffic for the idle timeout is cancelled, at any point of the stream.
// The next call works.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{`{"hang":true}`, `{"hang":true,"after":1}`, `{"hang":true,"after":7}`, `{"hang":true,"after":99}`, `{"stall_ms":600000,"after":3}`} {
		for idle, want := range map[time.Duration]time.Duration{0: 2 * time.Minute, 7 * time.Second: 7 * time.Second} {
			t.Run(fmt.Sprint(fault, idle), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					lines := `{"content":"some text","fault":` + fault + `}` + "\n" + `{"content":"some text"}`
					client := newClientServedInBubble(t, mockapi.New(modeltest.ParseScript(t, lines), nil), endpoint.Config{IdleTimeout: idle})
					began := time.Now()
					_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
					require.EqualError(t, err, fmt.Sprintf("anthropic: the reply broke off before its end: nothing came for %v", want))
					require.ErrorIs(t, err, model.ErrCutStream)
					require.True(t, model.IsTransient(err))
					require.Equal(t, want, time.Since(began))
					modeltest.RequireReplyText(t, client, "some text", modeltest.UserTextMessage("go"))
				})
			})
		}
	}
}

// A silence shorter than the idle timeout does not end a call; a negative idle timeout
// means no limit.
func TestShorterSilenceIsNoTimeout(t *testing.T) {
	t.Parallel()
	for idle, stall := range map[time.Duration]time.Duration{0: 2*time.Minute - time.Millisecond, 3 * time.Minute: 2 * time.Minute, -1: 20 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			line := fmt.Sprintf(`{"content":"ok","fault":{"stall_ms":%d,"after":3}}`, stall.Milliseconds())
			client := newClientServedInBubble(t, mockapi.New(modeltest.ParseScript(t, line), nil), endpoint.Config{IdleTimeout: idle})
			began := time.Now()
			modeltest.RequireReplyText(t, client, "ok", modeltest.UserTextMessage("go"))
			require.Equal(t, stall, time.Since(began))
		})
	}
}

// A ping event restarts the idle timeout, so that a reply may take an hour.
func TestPingsResetIdleTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClientServedInBubble(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			out := http.NewResponseController(w)
			for range 60 {
				time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
				_, _ = io.WriteString(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
				_ = out.Flush()
			}
			_, _ = io.WriteString(w, wholeReplyEventStream)
		}), endpoint.Config{})
		began := time.Now()
		modeltest.RequireReplyText(t, client, "hi", modeltest.UserTextMessage("go"))
		require.Equal(t, time.Hour, time.Since(began))
	})
}

// After message_stop the reply is complete. The client waits at most a second for the
// end of the stream, and ignores what else comes.
func TestDataAfterMessageStopIsIgnored(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]struct {
		text string
		took time.Duration
	}{
		"silence":        {"", time.Second},
		"another reply":  {wholeReplyEventStream, time.Second},
		"half an event":  {"event: content_block_start\ndata: {", time.Second},
		"nothing at all": {"end", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := newClientServedInBubble(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, wholeReplyEventStream)
					if rest.text == "end" {
						return
					}
					_, _ = io.WriteString(w, rest.text)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}), endpoint.Config{})
				began := time.Now()
				modeltest.RequireReplyText(t, client, "hi", modeltest.UserTextMessage("go"))
				require.Equal(t, rest.took, time.Since(began))
			})
		})
	}
}

const wholeReplyEventStream = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`

// The time that the caller needs for a delta does not count as idle time.
func TestSlowCallerIsNoIdleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClientServedInBubble(t, mockapi.New(modeltest.ParseScript(t, `{"content":"`+strings.Repeat("some text ", 20)+`"}`), nil), endpoint.Config{})
		_, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(model.Delta) {
			time.Sleep(time.Hour) //nolint:forbidigo // in a synctest bubble
		})
		require.NoError(t, err)
	})
}

// slowUploadTransport is an HTTP transport that sends 16 bytes of a request's body per
// minute.
type slowUploadTransport struct{ http.RoundTripper }

func (s slowUploadTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body := req.Body
	req = req.Clone(req.Context())
	req.Body = struct {
		io.Reader
		io.Closer
	}{&slowUploadReader{body}, body}
	return s.RoundTripper.RoundTrip(req)
}

type slowUploadReader struct{ io.Reader }

func (r *slowUploadReader) Read(p []byte) (int, error) {
	time.Sleep(time.Minute) //nolint:forbidigo // in a synctest bubble
	return r.Reader.Read(p[:min(len(p), 16)])
}

// The time in which the request is still being sent does not count as idle time.
func TestSlowUploadIsNoIdleTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		answer := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return nil, err
			}
			return newEventStreamResponse(strings.NewReader(wholeReplyEventStream)), nil
		})
		client, err := anthropic.NewWithTransport(slowUploadTransport{answer}, endpoint.Config{})
		require.NoError(t, err)
		modeltest.RequireReplyText(t, client, "hi", modeltest.UserTextMessage("go"))
		require.Greater(t, time.Since(began), 4*time.Minute)
	})
}

// roundTripFunc is a function that serves as an http.RoundTripper.
type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// newEventStreamResponse returns an HTTP response with status 200, media type text/event-stream
// and this body.
func newEventStreamResponse(body io.Reader) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}
}

// When ctx is cancelled, the call ends at once with the cause of ctx: while the request
// is sent, before the headers, and between events.
func TestCancelInEveryPhase(t *testing.T) {
	t.Parallel()
	text := `"` + strings.Repeat("some text ", 20) + `"`
	phases := map[string]string{
		"before the head":    `{"content":` + text + `,"fault":{"hang":true}}`,
		"before the reply":   `{"content":` + text + `,"delay_ms":60000}`,
		"at its beginning":   `{"content":` + text + `,"fault":{"hang":true,"after":1}}`,
		"in the middle":      `{"content":` + text + `,"fault":{"hang":true,"after":9}}`,
		"before its end":     `{"content":` + text + `,"fault":{"hang":true,"after":999}}`,
		"in a silence":       `{"content":` + text + `,"fault":{"stall_ms":60000,"after":5}}`,
		"in a late refusal":  `{"error":{"status":529},"delay_ms":60000}`,
		"in one of the rest": `{"content":[` + `{"type":"tool_use","name":"x","input":{"a":` + text + `}}],"fault":{"hang":true,"after":12}}`,
	}
	for name, line := range phases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := newClientServedInBubble(t, mockapi.New(modeltest.ParseScript(t, line), nil), endpoint.Config{})
				cause := errors.New("enough")
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(30*time.Second, func() { cancel(cause) })
				_, err := modeltest.Ask(ctx, client, modeltest.UserTextMessage("go"))
				require.Equal(t, cause, err)
				require.Equal(t, 30*time.Second, time.Since(began))
			})
		})
	}
}

// A call can be cancelled from its own onDelta.
func TestCancelFromOnDelta(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClientServedInBubble(t, mockapi.New(modeltest.ParseScript(t, `{"content":"some text that is long","fault":{"hang":true,"after":5}}`), nil), endpoint.Config{})
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := client.Complete(ctx, model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(model.Delta) { cancel(cause) })
		require.Equal(t, cause, err)
	})
}

// ParseRetryAfter reads the header in milliseconds, in seconds and as a date, and
// limits it to a day.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for text, want := range map[string]time.Duration{
			"7": 7 * time.Second, "0.25": 250 * time.Millisecond, "0": 0, "-3": 0, "soon": 0, "NaN": 0, "": 0,
			"Inf": 24 * time.Hour, "1e300": 24 * time.Hour, "86401": 24 * time.Hour,
			time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat):  90 * time.Second,
			time.Now().Add(-90 * time.Second).UTC().Format(http.TimeFormat): 0,
			time.Now().Add(90 * time.Hour).UTC().Format(http.TimeFormat):    24 * time.Hour,
		} {
			requireRetryAfter(t, http.Header{"Retry-After": {text}}, want)
		}
		requireRetryAfter(t, http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"1500"}}, 1500*time.Millisecond)
		requireRetryAfter(t, http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"x"}}, 7*time.Second)
	})
}

func requireRetryAfter(t *testing.T, header http.Header, want time.Duration) {
	t.Helper()
	client, err := anthropic.NewWithTransport(roundTripFunc(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: header, Body: http.NoBody, Request: req}, nil
	}), endpoint.Config{})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	modeltest.RequireAPIError(t, err, http.StatusTooManyRequests, "rate_limit_error", want)
}
