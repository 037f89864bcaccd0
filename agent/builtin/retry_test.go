package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// pauses are those that an agent made, none of which took any time.
type pauses struct {
	mu  sync.Mutex
	all []time.Duration
}

func (p *pauses) pause(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, d)
	return context.Cause(ctx)
}

func (p *pauses) sum() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sum time.Duration
	for _, d := range p.all {
		sum += d
	}
	return sum
}

// instant is a configuration of which no pause takes time, and each is the
// longest that it may be.
func (p *pauses) instant() builtin.Config {
	return builtin.Config{Pause: p.pause, Jitter: func() float64 { return 1 }}
}

// refuses is a line of a script.
func refuses(status int, retryAfter float64) string {
	return fmt.Sprintf(`{"error":{"status":%d,"retry_after":%g,"body":{"type":"error","error":{"type":"some_error","message":"Not\nnow"}}}}`, status, retryAfter)
}

func TestCO6_WhatMayPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var made pauses
			cfg := made.instant()
			cfg.Limits.Turns = 1 // retries are none
			p := startTools(t, cfg, refuses(status, 0), refuses(status, 7), `{"content":"fine","usage":{"input_tokens":3}}`)
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, []time.Duration{500 * time.Millisecond, 8 * time.Second}, made.all)

			require.Empty(t, p.of("agent_error"))
			require.Empty(t, p.events("limit"))
			require.Equal(t, 1, calls(p))
			require.InDelta(t, 3, p.of("agent_usage_update")[0]["input_tokens"], 0)
			require.Equal(t, []model.Message{user(model.Text("go")), assistant(model.Text("fine"))}, p.history())
			events := p.events("retry")
			require.Len(t, events, 2)
			reason := fmt.Sprintf("script: %d some_error: Not now", status)
			require.Equal(t, reason+": trying again in 0.5 s (retry 1 of 9)", events[0].text("text"))
			require.Equal(t, reason+": trying again in 8 s (retry 2 of 9)", events[1].text("text"))
			require.Equal(t, frame{
				"type": "retry", "status": float64(status), "attempt": 2.0, "error": reason, "wait_ms": 8000.0, "waited_ms": 500.0,
				"request_id": "q1",
			}, events[1].object("metadata"))
			require.InDelta(t, 0, events[0].object("metadata")["waited_ms"], 0)
		})
	}
}

func TestCO6_OtherRefusalsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 405, 406, 407, 410, 411, 412, 414, 415, 418, 422, 451} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var made pauses
			p := startTools(t, made.instant(), refuses(status, 1), `{"content":"never"}`)
			p.init(nil)
			require.Equal(t, fmt.Sprintf("script: %d some_error: Not now", status), p.ask("go"))
			require.Empty(t, made.all)
			require.Empty(t, p.events("retry"))
		})
	}
}

// The pauses double up to a minute; the tenth failure is the last. What was
// waited is summed over all calls.
func TestCO6_TenTriesInARow(t *testing.T) {
	t.Parallel()
	var made pauses
	refused := &model.APIError{Provider: "script", Status: 529, Type: "some_error", Message: "Not now"}
	all := []any{refused, refused, refused, replies(call("a"))}
	for range 10 {
		all = append(all, refused)
	}
	p, _ := startReplies(t, made.instant(), nil, append(all, replies(model.Text("later")))...)
	p.init(nil)
	require.Equal(t, "given up after 10 tries: script: 529 some_error: Not now", p.ask("go"))
	require.Equal(t, true, p.of("agent_error")[0]["fatal"])
	want := []float64{0.5, 1, 2, 0.5, 1, 2, 4, 8, 16, 32, 60, 60}
	sum := 0.0
	events := p.events("retry")
	require.Len(t, events, len(want))
	for i, seconds := range want {
		require.Equal(t, time.Duration(seconds*float64(time.Second)), made.all[i])
		require.InDelta(t, sum*1000, events[i].object("metadata")["waited_ms"], 0)
		sum += seconds
	}
	require.Equal(t, "done", p.ask("again"), "the next query begins anew")
}

// Without a jitter the API's own time is what is left.
func TestCO6_NeverSoonerThanTheAPIAsks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ asked, want time.Duration }{
		"nothing":   {0, 0},
		"a time":    {7 * time.Second, 7 * time.Second},
		"long":      {90 * time.Second, 90 * time.Second},
		"the past":  {-time.Hour, 0},
		"for years": {math.MaxInt64, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var made pauses
			cfg := made.instant()
			cfg.Jitter = func() float64 { return 0 }
			p, _ := startReplies(t, cfg, nil, &model.APIError{Provider: "x", Status: 429, RetryAfter: c.asked}, replies(model.Text("fine")))
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			require.InDelta(t, c.want.Milliseconds(), p.events("retry")[0].object("metadata")["wait_ms"], 0)
			require.Equal(t, c.want, made.sum())
			require.Equal(t, 1+len(made.all), p.count("status", "thinking"), "a sign of life each minute")
		})
	}
}

// What would be tried after the attempt's end is given up at once.
func TestCO6_NoPausePastTheDeadline(t *testing.T) {
	t.Parallel()
	var made pauses
	cfg := made.instant()
	now := time.Unix(1000, 0)
	cfg.Clock = func() time.Time { return now }
	cfg.Limits.Wall = 20 * time.Second
	p := startTools(t, cfg, uses("get_context", `{}`), refuses(529, 10), `{"content":"never"}`)
	p.onAction(func(string, frame, string) bool { now = now.Add(9600 * time.Millisecond); return false })
	p.init(frame{"eval_mode": true})
	require.Equal(t, "not tried again, which would be in 10.5 s, as the attempt has only 10.4 s left: script: 529 some_error: Not now", p.ask("go"))
	require.Equal(t, true, p.of("agent_error")[0]["fatal"])
	require.Empty(t, made.all)
	require.Empty(t, p.events("retry"))
	require.Empty(t, p.events("limit"))
}

// A cancel ends a pause at once, and what had been waited counts.
func TestCO6_CancelEndsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := func(retryAfter time.Duration) error { return &model.APIError{Status: 529, RetryAfter: retryAfter} }
		p, _ := startReplies(t, builtin.Config{}, nil, refused(time.Hour), refused(time.Second), replies(model.Text("fine")))
		p.init(nil)
		from := len(p.seen())
		began := time.Now()
		p.query("go")
		synctest.Wait()
		time.Sleep(90 * time.Second) //nolint:forbidigo // of the bubble's clock
		p.send(frame{"type": "agent_cancel", "request_id": "q1"})
		require.Equal(t, "ready", p.ends(from))
		require.Equal(t, 90*time.Second, time.Since(began))
		require.Len(t, p.events("cancelled"), 1)
		require.Empty(t, p.of("agent_error"))

		require.Equal(t, "done", p.ask("again"))
		second := p.events("retry")[1].object("metadata")
		require.InDelta(t, 90_000, second["waited_ms"], 0)
		waited := time.Since(began) - 90*time.Second
		require.GreaterOrEqual(t, waited, time.Second)
		require.Less(t, waited, 1500*time.Millisecond, "the jitter is at most half a second")
		require.InDelta(t, float64(waited.Milliseconds()), second["wait_ms"], 0)
	})
}

// A reply that breaks off is closed on the console before its retry is told.
func TestCO6_BrokenRepliesOverHTTP(t *testing.T) {
	t.Parallel()
	script, err := script.Parse("s", []byte(uses("get_context", `{}`)+"\n"+`{"content":"a whole reply"}`))
	require.NoError(t, err)
	mock := mockapi.New(script, nil)
	var mu sync.Mutex
	breaks := []int{800, 600, 400} // bytes after which the first replies break off, the third before its first block
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if len(breaks) > 0 {
			w = &breakingWriter{ResponseWriter: w, left: breaks[0]}
			breaks = breaks[1:]
		}
		mu.Unlock()
		mock.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var made pauses
	cfg := made.instant()
	cfg.Model, err = open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	p := start(t, builtin.Run, cfg)
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Len(t, made.all, 3)
	require.Len(t, p.history(), 4)
	var order []string
	for _, f := range p.seen() {
		switch {
		case f.text("type") == "agent_stream_complete" && f.text("error") != "":
			require.Contains(t, f.text("error"), model.ErrCutStream.Error())
			order = append(order, "broken")
		case f.text("type") == "agent_stream_complete":
			order = append(order, "whole")
		case f.object("metadata").text("type") == "retry":
			require.InDelta(t, 0, f.object("metadata")["status"], 0)
			require.Contains(t, f.object("metadata").text("error"), model.ErrCutStream.Error())
			order = append(order, "retry")
		}
	}
	require.Equal(t, []string{"broken", "retry", "broken", "retry", "retry", "whole", "whole"}, order)
}

// breakingWriter cuts the connection after so many bytes.
type breakingWriter struct {
	http.ResponseWriter
	left int
}

func (w *breakingWriter) Write(data []byte) (int, error) {
	if w.left -= len(data); w.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap is for http.ResponseController.
func (w *breakingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestCO6_AnAPIThatCannotBeReached(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var made pauses
	cfg := made.instant()
	var err error
	cfg.Model, err = open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	p := start(t, builtin.Run, cfg)
	p.init(nil)
	require.Contains(t, p.ask("go"), model.ErrUnreachable.Error())
	require.Len(t, made.all, 9)
	require.InDelta(t, 0, p.events("retry")[0].object("metadata")["status"], 0)
}

// However long an error is, what is told of it is one short line.
func TestCO6_LongErrorsAreToldShort(t *testing.T) {
	t.Parallel()
	var made pauses
	long := fmt.Errorf("%w: %s", model.ErrCutStream, strings.Repeat("very\nlong \xff", 9999))
	p, _ := startReplies(t, made.instant(), nil, long, replies(model.Text("fine")))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	event := p.events("retry")[0]
	require.Less(t, len(event.text("text")), 800)
	require.NotContains(t, event.text("text"), "\n")
	require.LessOrEqual(t, len(event.object("metadata").text("error")), 800)
}

func TestCO6_ErrorsThatAreNoRefusalEndTheQuery(t *testing.T) {
	t.Parallel()
	var made pauses
	p, _ := startReplies(t, made.instant(), nil, errors.New("no idea"), replies(model.Text("fine")))
	p.init(nil)
	require.Equal(t, "no idea", p.ask("go"))
	require.Empty(t, made.all)
	require.Equal(t, "done", p.ask("go"))
}
