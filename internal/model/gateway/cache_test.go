package gateway_test

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/gateway"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
)

// countedVendors returns vendors that one handler plays, and the number of calls that they have got.
func countedVendors(t *testing.T, handler http.HandlerFunc) (map[string]gateway.Vendor, *atomic.Int64) {
	t.Helper()
	calls := &atomic.Int64{}
	return anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		handler(w, r)
	}), calls
}

// startCached starts an endpoint whose replies are cached in dir.
func startCached(t *testing.T, dir string, vendors map[string]gateway.Vendor, scope replay.CacheScope) *gatewayUnderTest {
	t.Helper()
	cache, err := replay.OpenCache(dir, nil)
	require.NoError(t, err)
	return startGateway(t, gateway.Config{
		Vendors: vendors, Cache: cache.ForAttempt(replay.Normalizer{}, scope),
		FindCard: func(string, string) *model.ModelCard { return model.FindModelCard("openai/gpt-5") },
	})
}

// replyTo is a handler with the whole replies of the three APIs.
func replyTo(w http.ResponseWriter, r *http.Request) {
	for _, test := range apis() {
		if r.URL.Path == test.path {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(test.reply))
		}
	}
}

// cacheableBody returns the body of a request of each API that can be cached.
func cacheableBody(name string) string {
	if name == "responses" {
		return strings.TrimSuffix(responsesBody, "}") + `,"store":false}`
	}
	return apis()[name].body
}

// A second run gets the replies of the first without a call of the vendor, streamed or not, with the same tokens and at
// no cost. Another epoch and another setting make calls.
func TestCachedReplies(t *testing.T) {
	t.Parallel()
	for name := range apis() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendors, calls := countedVendors(t, replyTo)
			dir, api, body := t.TempDir(), wire.API(name), cacheableBody(name)
			first := startCached(t, dir, vendors, replay.CacheScope{Epoch: 1})
			want := first.ask(t, api, body)
			first.ask(t, api, body) // another sample
			first.Close()
			require.EqualValues(t, 2, calls.Load())
			require.Positive(t, *first.replies()[0].CostUSD)
			require.False(t, first.replies()[0].IsCached)

			second := startCached(t, dir, vendors, replay.CacheScope{Epoch: 1})
			got := second.ask(t, api, body)
			require.Equal(t, want.reply, got.reply)
			streamed := second.ask(t, api, streamedBody(body))
			require.Contains(t, streamed.header.Get("Content-Type"), "text/event-stream")
			require.Equal(t, want.reply.Response.Content, streamed.reply.Response.Content)
			require.EqualValues(t, 2, calls.Load())
			second.ask(t, api, body) // a third sample
			require.EqualValues(t, 3, calls.Load())
			second.Close()
			require.True(t, second.replies()[0].IsCached)
			require.Zero(t, *second.replies()[0].CostUSD)
			require.Equal(t, model.Usage{InputTokens: 7, OutputTokens: 3}, second.replies()[0].Response.Usage)
			require.Equal(t, first.replies()[0].Model, second.replies()[0].Model)

			startCached(t, dir, vendors, replay.CacheScope{Epoch: 2}).ask(t, api, body)
			require.EqualValues(t, 4, calls.Load())
			third := startCached(t, dir, vendors, replay.CacheScope{Epoch: 1})
			third.ask(t, api, strings.TrimSuffix(body, "}")+`,"temperature":0.5}`)
			require.EqualValues(t, 5, calls.Load())
			_, _, _ = third.call(t, api.Path(), body, "Anthropic-Beta", "new")
			require.EqualValues(t, 6, calls.Load())
		})
	}
}

// Errors, replies that break off and replies that refer to what the vendor stores are not cached. A repeated call has
// the place of the one that failed.
func TestRepliesThatAreNotCached(t *testing.T) {
	t.Parallel()
	half := messagesStream[:strings.Index(messagesStream, "event: content_block_stop")]
	var refuses atomic.Bool
	for name, test := range map[string]struct {
		api     wire.API
		body    string
		handler http.HandlerFunc
	}{
		"refused": {wire.Messages, messagesBody, func(w http.ResponseWriter, r *http.Request) { wire.WriteError(w, wire.Messages, 529, "", "busy") }},
		"cut": {wire.Messages, messagesBody, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(half))
			panic(http.ErrAbortHandler)
		}},
		"ended early": {wire.Messages, messagesBody, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(half))
		}},
		"unreachable":          {wire.Messages, messagesBody, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"stored by the vendor": {wire.Responses, responsesBody, replyTo},
		"a stored response":    {wire.Responses, `{"model":"gpt-x","input":"hi","store":false,"previous_response_id":"resp_1"}`, replyTo},
		"two choices":          {wire.Chat, strings.TrimSuffix(chatBody, "}") + `,"n":2}`, replyTo},
		"a tool of the vendor": {wire.Responses, cacheableBody("responses"), func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"status":"completed","output":[{"type":"web_search_call","id":"ws"}]}`))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendors, calls := countedVendors(t, test.handler)
			dir := t.TempDir()
			for range 2 {
				g := startCached(t, dir, vendors, replay.CacheScope{})
				g.ask(t, test.api, test.body)
				g.Close()
			}
			require.EqualValues(t, 2, calls.Load())
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}

	vendors, calls := countedVendors(t, func(w http.ResponseWriter, r *http.Request) {
		if refuses.Load() {
			wire.WriteError(w, wire.Messages, 529, "", "busy")
			return
		}
		replyTo(w, r)
	})
	dir := t.TempDir()
	refuses.Store(true)
	first := startCached(t, dir, vendors, replay.CacheScope{})
	first.ask(t, wire.Messages, messagesBody)
	refuses.Store(false)
	first.ask(t, wire.Messages, messagesBody)
	require.EqualValues(t, 2, calls.Load())
	require.True(t, startCached(t, dir, vendors, replay.CacheScope{}).ask(t, wire.Messages, messagesBody).reply.IsComplete)
	require.EqualValues(t, 2, calls.Load())
}

// An agent gets the reasoning that OpenAI has encrypted from the cache, too, so that it can send it back. Nobody else does.
func TestCachedReasoning(t *testing.T) {
	t.Parallel()
	const output = `[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}]},{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{}"}]`
	vendors, calls := countedVendors(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"completed","output":` + output + `}`))
	})
	dir, body := t.TempDir(), cacheableBody("responses")
	first := startCached(t, dir, vendors, replay.CacheScope{})
	first.ask(t, wire.Responses, body)
	first.Close()
	second := startCached(t, dir, vendors, replay.CacheScope{})
	status, _, text := second.call(t, "/v1/responses", body)
	second.Close()
	require.Equal(t, http.StatusOK, status)
	require.EqualValues(t, 1, calls.Load())
	require.Contains(t, text, `{"encrypted_content":"gAAA","id":"rs_1","summary":[],"type":"reasoning"}`)
	require.NotContains(t, text, `"hm"`)
	for _, g := range []*gatewayUnderTest{first, second} {
		require.Empty(t, g.replies()[0].Response.Content[0].Signature)
	}
}

// A reply from the cache counts as a turn and has its tokens, so that an attempt ends where it ended before; the limit
// of cost is one of money, of which it takes none.
func TestLimitsOfCachedReplies(t *testing.T) {
	t.Parallel()
	vendors, calls := countedVendors(t, replyTo)
	dir := t.TempDir()
	start := func(limits gateway.Limits) *gatewayUnderTest {
		cache, err := replay.OpenCache(dir, nil)
		require.NoError(t, err)
		return startGateway(t, gateway.Config{
			Vendors: vendors, Cache: cache.ForAttempt(replay.Normalizer{}, replay.CacheScope{}), Agent: gateway.Agent{Limits: limits, SilenceDelay: time.Hour},
			FindCard: func(string, string) *model.ModelCard { return model.FindModelCard("openai/gpt-5") },
		})
	}
	ask := func(g *gatewayUnderTest) int { return g.ask(t, wire.Messages, messagesBody).status }
	filling := start(gateway.Limits{})
	ask(filling)
	ask(filling)
	for name, limits := range map[string]gateway.Limits{"turns": {MaxCalls: 1}, "tokens": {MaxTokens: 10}} {
		g := start(limits)
		require.Equal(t, http.StatusOK, ask(g), name)
		require.Equal(t, http.StatusForbidden, ask(g), name)
	}
	costly := start(gateway.Limits{MaxCostUSD: 1e-9})
	require.Equal(t, http.StatusOK, ask(costly))
	require.Equal(t, http.StatusOK, ask(costly))
	require.EqualValues(t, 2, calls.Load())
	require.Equal(t, http.StatusOK, ask(costly)) // the third is paid
	require.Equal(t, http.StatusForbidden, ask(costly))
	require.EqualValues(t, 3, calls.Load())
}
