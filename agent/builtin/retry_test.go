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
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
)

// retryDelayRecorder records the delays before retries, none of which takes any time.
type retryDelayRecorder struct {
	mu     sync.Mutex
	delays []time.Duration
}

// sleep records a delay.
func (r *retryDelayRecorder) sleep(ctx context.Context, d time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delays = append(r.delays, d)
	return context.Cause(ctx)
}

// totalDelay returns the sum of all delays.
func (r *retryDelayRecorder) totalDelay() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sum time.Duration
	for _, d := range r.delays {
		sum += d
	}
	return sum
}

// recordingConfig returns a configuration whose delays are recorded, each as long as it may be.
func (r *retryDelayRecorder) recordingConfig() builtin.Config {
	return builtin.Config{Sleep: r.sleep, Jitter: func() float64 { return 1 }}
}

// apiErrorScriptLine returns a script line that makes the API refuse a call with this HTTP
// status, and a Retry-After in seconds.
func apiErrorScriptLine(status int, retryAfter float64) string {
	return fmt.Sprintf(`{"error":{"status":%d,"retry_after":%g,"body":{"type":"error","error":{"type":"some_error","message":"Not\nnow"}}}}`, status, retryAfter)
}

func TestCO6_TemporaryRefusalsAreRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var recorder retryDelayRecorder
			cfg := recorder.recordingConfig()
			cfg.Limits.MaxTurns = 1 // retries do not count
			p := startToolsAgent(t, cfg, apiErrorScriptLine(status, 0), apiErrorScriptLine(status, 7), `{"content":"fine","usage":{"input_tokens":3}}`)
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, []time.Duration{500 * time.Millisecond, 8 * time.Second}, recorder.delays)

			require.Empty(t, p.FramesOfType("agent_error"))
			require.Empty(t, p.EventsOfType("limit"))
			require.Equal(t, 1, p.ModelReplyCount())
			require.InDelta(t, 3, p.FramesOfType("agent_usage_update")[0]["input_tokens"], 0)
			require.Equal(t, []model.Message{builtin.UserMessage(model.Text("go")), builtin.AssistantMessage(model.Text("fine"))}, p.Transcript())
			events := p.EventsOfType("retry")
			require.Len(t, events, 2)
			reason := fmt.Sprintf("script: %d some_error: Not now", status)
			require.Equal(t, reason+": trying again in 0.5 s (retry 1 of 9)", events[0].StringField("text"))
			require.Equal(t, reason+": trying again in 8 s (retry 2 of 9)", events[1].StringField("text"))
			require.Equal(t, frame{
				"type": "retry", "status": float64(status), "attempt": 2.0, "error": reason, "wait_ms": 8000.0, "waited_ms": 500.0,
				"request_id": "q1",
			}, events[1].ObjectField("metadata"))
			require.InDelta(t, 0, events[0].ObjectField("metadata")["waited_ms"], 0)
		})
	}
}

func TestCO6_OtherRefusalsAreNotRetried(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 405, 406, 407, 410, 411, 412, 414, 415, 418, 422, 451} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			var recorder retryDelayRecorder
			p := startToolsAgent(t, recorder.recordingConfig(), apiErrorScriptLine(status, 1), `{"content":"never"}`)
			p.InitAndAwaitReady(nil)
			require.Equal(t, fmt.Sprintf("script: %d some_error: Not now", status), p.QueryAndWait("go"))
			require.Empty(t, recorder.delays)
			require.Empty(t, p.EventsOfType("retry"))
		})
	}
}

// The delays double up to a minute, and the tenth failure of one call ends the query. waited_ms is
// the sum over all calls.
func TestCO6_TenTriesPerCall(t *testing.T) {
	t.Parallel()
	var recorder retryDelayRecorder
	refused := &model.APIError{Provider: "script", Status: 529, Type: "some_error", Message: "Not now"}
	replies := []any{refused, refused, refused, agenttest.NewModelReply(agenttest.NewGetContextCall("a"))}
	for range 10 {
		replies = append(replies, refused)
	}
	p, _ := startAgentOnReplies(t, recorder.recordingConfig(), nil, append(replies, agenttest.NewModelReply(model.Text("later")))...)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "given up after 10 tries: script: 529 some_error: Not now", p.QueryAndWait("go"))
	require.Equal(t, true, p.FramesOfType("agent_error")[0]["fatal"])
	want := []float64{0.5, 1, 2, 0.5, 1, 2, 4, 8, 16, 32, 60, 60}
	sum := 0.0
	events := p.EventsOfType("retry")
	require.Len(t, events, len(want))
	for i, seconds := range want {
		require.Equal(t, time.Duration(seconds*float64(time.Second)), recorder.delays[i])
		require.InDelta(t, sum*1000, events[i].ObjectField("metadata")["waited_ms"], 0)
		sum += seconds
	}
	require.Equal(t, "done", p.QueryAndWait("again"), "the next query starts with ten tries again")
}

// A retry never comes before the time that the API asks for. Without jitter it comes then.
func TestCO6_RetryAfterIsRespected(t *testing.T) {
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
			var recorder retryDelayRecorder
			cfg := recorder.recordingConfig()
			cfg.Jitter = func() float64 { return 0 }
			p, _ := startAgentOnReplies(t, cfg, nil, &model.APIError{Provider: "x", Status: 429, RetryAfter: c.asked}, agenttest.NewModelReply(model.Text("fine")))
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.InDelta(t, c.want.Milliseconds(), p.EventsOfType("retry")[0].ObjectField("metadata")["wait_ms"], 0)
			require.Equal(t, c.want, recorder.totalDelay())
			require.Equal(t, 1+len(recorder.delays), p.CountFramesWithField("status", "thinking"), "a status as a sign of life each minute")
		})
	}
}

// A call whose next try would come after the wall-clock limit fails at once.
func TestCO6_NoDelayPastWallTimeout(t *testing.T) {
	t.Parallel()
	var recorder retryDelayRecorder
	cfg := recorder.recordingConfig()
	now := time.Unix(1000, 0)
	cfg.Clock = func() time.Time { return now }
	cfg.Limits.WallTimeout = 20 * time.Second
	p := startToolsAgent(t, cfg, agenttest.ToolCallScriptLine("get_context", `{}`), apiErrorScriptLine(529, 10), `{"content":"never"}`)
	p.SetActionHook(func(string, frame, string) bool { now = now.Add(9600 * time.Millisecond); return false })
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "not retried: the next try would be in 10.5 s, but the attempt has only 10.4 s left: script: 529 some_error: Not now", p.QueryAndWait("go"))
	require.Equal(t, true, p.FramesOfType("agent_error")[0]["fatal"])
	require.Empty(t, recorder.delays)
	require.Empty(t, p.EventsOfType("retry"))
	require.Empty(t, p.EventsOfType("limit"))
}

// A cancel ends a delay at once, and the time waited so far counts.
func TestCO6_CancelEndsDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := func(retryAfter time.Duration) error { return &model.APIError{Status: 529, RetryAfter: retryAfter} }
		p, _ := startAgentOnReplies(t, builtin.Config{}, nil, refused(time.Hour), refused(time.Second), agenttest.NewModelReply(model.Text("fine")))
		p.InitAndAwaitReady(nil)
		from := len(p.Frames())
		began := time.Now()
		p.SendQuery("go")
		synctest.Wait()
		time.Sleep(90 * time.Second) //nolint:forbidigo // of the bubble's clock
		p.SendFrame(frame{"type": "agent_cancel", "request_id": "q1"})
		require.Equal(t, "ready", p.AwaitQueryEnd(from))
		require.Equal(t, 90*time.Second, time.Since(began))
		require.Len(t, p.EventsOfType("cancelled"), 1)
		require.Empty(t, p.FramesOfType("agent_error"))

		require.Equal(t, "done", p.QueryAndWait("again"))
		second := p.EventsOfType("retry")[1].ObjectField("metadata")
		require.InDelta(t, 90_000, second["waited_ms"], 0)
		waited := time.Since(began) - 90*time.Second
		require.GreaterOrEqual(t, waited, time.Second)
		require.Less(t, waited, 1500*time.Millisecond, "the jitter is at most half a second")
		require.InDelta(t, float64(waited.Milliseconds()), second["wait_ms"], 0)
	})
}

// The stream of a reply that breaks off is ended before the retry event.
func TestCO6_BrokenStreamsAreRetried(t *testing.T) {
	t.Parallel()
	mock := mockapi.New(agenttest.ParseModelScript(t, agenttest.ToolCallScriptLine("get_context", `{}`), `{"content":"a whole reply"}`), nil)
	var mu sync.Mutex
	breaks := []int{800, 600, 400} // bytes after which the first replies break off; the third one breaks off before its first block
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
	var recorder retryDelayRecorder
	cfg := recorder.recordingConfig()
	var err error
	cfg.Model, err = open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	p := startAgent(t, cfg)
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Len(t, recorder.delays, 3)
	require.Len(t, p.Transcript(), 4)
	var order []string
	for _, f := range p.Frames() {
		switch {
		case f.StringField("type") == "agent_stream_complete" && f.StringField("error") != "":
			require.Contains(t, f.StringField("error"), model.ErrCutStream.Error())
			order = append(order, "broken")
		case f.StringField("type") == "agent_stream_complete":
			order = append(order, "complete")
		case f.ObjectField("metadata").StringField("type") == "retry":
			require.InDelta(t, 0, f.ObjectField("metadata")["status"], 0)
			require.Contains(t, f.ObjectField("metadata").StringField("error"), model.ErrCutStream.Error())
			order = append(order, "retry")
		}
	}
	require.Equal(t, []string{"broken", "retry", "broken", "retry", "retry", "complete", "complete"}, order)
}

// breakingWriter is a ResponseWriter that aborts the connection after left bytes.
type breakingWriter struct {
	http.ResponseWriter
	left int
}

// Write writes data, or aborts.
func (w *breakingWriter) Write(data []byte) (int, error) {
	if w.left -= len(data); w.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *breakingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestCO6_UnreachableAPIIsRetried(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	var recorder retryDelayRecorder
	cfg := recorder.recordingConfig()
	var err error
	cfg.Model, err = open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	p := startAgent(t, cfg)
	p.InitAndAwaitReady(nil)
	require.Contains(t, p.QueryAndWait("go"), model.ErrUnreachable.Error())
	require.Len(t, recorder.delays, 9)
	require.InDelta(t, 0, p.EventsOfType("retry")[0].ObjectField("metadata")["status"], 0)
}

// A retry event shows a long error as one short line.
func TestCO6_LongErrorIsShortened(t *testing.T) {
	t.Parallel()
	var recorder retryDelayRecorder
	long := fmt.Errorf("%w: %s", model.ErrCutStream, strings.Repeat("very\nlong \xff", 9999))
	p, _ := startAgentOnReplies(t, recorder.recordingConfig(), nil, long, agenttest.NewModelReply(model.Text("fine")))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	event := p.EventsOfType("retry")[0]
	require.Less(t, len(event.StringField("text")), 800)
	require.NotContains(t, event.StringField("text"), "\n")
	require.LessOrEqual(t, len(event.ObjectField("metadata").StringField("error")), 800)
}

func TestCO6_OtherErrorsEndTheQuery(t *testing.T) {
	t.Parallel()
	var recorder retryDelayRecorder
	p, _ := startAgentOnReplies(t, recorder.recordingConfig(), nil, errors.New("no idea"), agenttest.NewModelReply(model.Text("fine")))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "no idea", p.QueryAndWait("go"))
	require.Empty(t, recorder.delays)
	require.Equal(t, "done", p.QueryAndWait("go"))
}
