package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/gateway"
)

// newVendors returns vendors that reply to all three APIs.
func newVendors(t *testing.T, before func()) map[string]gateway.Vendor {
	t.Helper()
	return anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		before()
		replyTo(w, r)
	})
}

// A call beyond a limit gets a final error in the shape of its API, and says which limit that is.
func TestCallsBeyondLimitsAreRefused(t *testing.T) {
	t.Parallel()
	card := &model.ModelCard{Price: model.Price{Input: 1000, Output: 1000}} // a call costs 1 cent
	for name, test := range map[string]struct {
		limits  gateway.Limits
		allowed int
		detail  string
	}{
		"turns":    {gateway.Limits{MaxCalls: 2}, 2, "turns: configured 2, measured 2"},
		"tokens":   {gateway.Limits{MaxTokens: 25}, 3, "tokens: configured 25, measured 30"},
		"cost_usd": {gateway.Limits{MaxCostUSD: 0.05}, 5, "cost_usd: configured 0.05, measured 0.05"},
	} {
		for shape, api := range apis() {
			t.Run(name+"/"+shape, func(t *testing.T) {
				t.Parallel()
				g := startGateway(t, gateway.Config{
					Vendors: newVendors(t, func() {}), Agent: gateway.Agent{Limits: test.limits},
					FindCard: func(string, string) *model.ModelCard { return card },
				})
				for range test.allowed {
					status, _, text := g.call(t, api.path, api.body)
					require.Equal(t, http.StatusOK, status, text)
				}
				for range 2 {
					status, header, text := g.call(t, api.path, api.body)
					require.Equal(t, http.StatusForbidden, status)
					require.Equal(t, "false", header.Get("X-Should-Retry"))
					require.Contains(t, text, "the limit of this attempt is reached: "+test.detail)
				}
				replies := g.replies()
				last := replies[len(replies)-1]
				require.Equal(t, name, last.Limit)
				require.Equal(t, test.detail, last.Error)
				require.Nil(t, last.Response)
				require.InDelta(t, 0.01, *replies[0].CostUSD, 1e-9)
			})
		}
	}
}

// Calls at the same time do not get past a limit together: those that could reach it wait for each other.
func TestParallelCallsKeepALimit(t *testing.T) {
	t.Parallel()
	card := &model.ModelCard{Price: model.Price{Input: 1000, Output: 1000}} // a call uses 10 tokens and costs 1 cent
	for name, limits := range map[string]gateway.Limits{
		"turns": {MaxCalls: 5}, "tokens": {MaxTokens: 50}, "cost_usd": {MaxCostUSD: 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, gateway.Config{
				Vendors: newVendors(t, func() {}), Agent: gateway.Agent{Limits: limits},
				FindCard: func(string, string) *model.ModelCard { return card },
			})
			var mu sync.Mutex
			statuses := map[int]int{}
			var calls sync.WaitGroup
			for range 20 {
				calls.Go(func() {
					status, _, _ := g.call(t, "/v1/messages", messagesBody)
					mu.Lock()
					defer mu.Unlock()
					statuses[status]++
				})
			}
			calls.Wait()
			require.Equal(t, map[int]int{200: 5, 403: 15}, statuses)
		})
	}
}

// A limit is exceeded by one call at most, however small the calls before it were.
func TestLargeCallsAfterASmallOne(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	g := startGateway(t, gateway.Config{
		Agent: gateway.Agent{Limits: gateway.Limits{MaxTokens: 250}},
		Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
			output := "100"
			if calls.Add(1) == 1 {
				output = "1"
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.Replace(messagesReply, `"output_tokens":3`, `"output_tokens":`+output, 1)))
		}),
	})
	body := strings.Replace(messagesBody, `"max_tokens":10`, `"max_tokens":100`, 1)
	g.call(t, "/v1/messages", body)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { g.call(t, "/v1/messages", body) })
	}
	all.Wait()
	require.EqualValues(t, 4, calls.Load()) // 8 and 3 times 107 tokens
}

// Calls of whose input the vendor knows more than the request says are made one after the other near a limit.
func TestParallelCallsWithUnmeasuredInput(t *testing.T) {
	t.Parallel()
	pictures := `"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},`, 20) + `{"type":"text","text":"go"}]}]`
	for name, input := range map[string]string{
		"pictures": pictures, "a reference": `"container":"c","messages":[]`, "a reference with its name twice": `"container":null,"container":"c","messages":[]`,
		"a document whose type is there twice": `"messages":[{"role":"user","content":[{"type":"text","type":"document","source":{"type":"base64","data":"AA=="}}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			g := startGateway(t, gateway.Config{
				Agent: gateway.Agent{Limits: gateway.Limits{MaxTokens: 90_000}},
				Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
					calls.Add(1)
					w.Header().Set("Content-Type", "application/json")
					_, _ = w.Write([]byte(strings.Replace(messagesReply, `"input_tokens":7`, `"input_tokens":80000`, 1)))
				}),
			})
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() { g.call(t, "/v1/messages", `{"model":"m","max_tokens":10,`+input+`}`) })
			}
			all.Wait()
			require.EqualValues(t, 2, calls.Load())
		})
	}
}

// A call that has waited for one that could have reached a limit is made if that one cost nothing.
func TestCallThatWaitedForALimitIsMade(t *testing.T) {
	t.Parallel()
	card := &model.ModelCard{Price: model.Price{Input: 1000, Output: 1000}}
	arrived, fail := make(chan struct{}), make(chan struct{})
	waiting := make(chan struct{})
	var requests atomic.Int64
	g := startGateway(t, gateway.Config{
		Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) == 2 {
				close(arrived)
				<-fail
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(apis()["messages"].reply))
		}),
		Agent: gateway.Agent{Limits: gateway.Limits{MaxCostUSD: 0.02}, OnEvent: func(e gateway.Event) {
			if e.Kind == gateway.WaitBegan {
				close(waiting)
			}
		}},
		FindCard: func(string, string) *model.ModelCard { return card },
	})
	g.call(t, "/v1/messages", messagesBody) // tells what a call costs
	var calls sync.WaitGroup
	calls.Go(func() {
		status, _, _ := g.call(t, "/v1/messages", messagesBody)
		assert.Equal(t, http.StatusInternalServerError, status)
	})
	<-arrived
	calls.Go(func() {
		status, _, text := g.call(t, "/v1/messages", messagesBody)
		assert.Equal(t, http.StatusOK, status, text)
	})
	<-waiting
	close(fail)
	calls.Wait()
	status, _, _ := g.call(t, "/v1/messages", messagesBody)
	require.Equal(t, http.StatusForbidden, status)
}

// After Refuse every call is refused with the reason.
func TestRefusedEndpoint(t *testing.T) {
	t.Parallel()
	g := startGateway(t, gateway.Config{Vendors: newVendors(t, func() {})})
	g.Refuse("the answer was submitted")
	status, _, text := g.call(t, "/v1/messages", messagesBody)
	require.Equal(t, http.StatusForbidden, status)
	require.Contains(t, text, "the answer was submitted")
	require.Empty(t, g.replies()[0].Limit)
}

// A call whose price is not known costs nothing that is counted.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	g := startGateway(t, gateway.Config{Vendors: newVendors(t, func() {}), Agent: gateway.Agent{Limits: gateway.Limits{MaxCostUSD: 0.01}}})
	for i := range 5 {
		status, _, text := g.call(t, "/v1/messages", messagesBody)
		require.Equal(t, http.StatusOK, status, fmt.Sprint(i, text))
	}
	require.Nil(t, g.replies()[0].CostUSD)
}
