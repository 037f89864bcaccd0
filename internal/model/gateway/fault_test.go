package gateway_test

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/gateway"
)

// brokenVendor returns a vendor at an address where nobody listens.
func brokenVendor(t *testing.T) gateway.Vendor {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	base, err := url.Parse("http://" + listener.Addr().String() + "/?key=sk-the-real-key")
	require.NoError(t, err)
	return gateway.Vendor{BaseURL: base, APIKey: "sk-the-real-key"}
}

// Whatever a vendor does, the agent gets an error or what came of the reply, and the reply says whether the vendor
// is the cause. The key reaches nobody.
func TestFaultsOfVendors(t *testing.T) {
	t.Parallel()
	const key = "sk-the-real-key"
	for name, test := range map[string]struct {
		vendor  http.HandlerFunc // nil: nobody listens
		status  int              // 0: the connection breaks
		text    string           // that the agent gets
		err     string
		refused bool
		after   time.Duration
	}{
		"down": {nil, 502, "did not reply", "did not reply", true, 0},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			awaitClientGone(r)
		}, 504, "nothing came for 300ms", "nothing came for 300ms", true, 0},
		"429": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"type":"error","error":{"type":"rate_limit_error","message":"slowly, ` + key + `"}}`))
		}, 429, "slowly, [redacted]", "slowly, [redacted]", true, 7 * time.Second},
		"401": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`))
		}, 401, "invalid x-api-key [redacted]", "authentication_error", false, 0},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>" + strings.Repeat("x", 100_000)))
		}, 502, "<html>", "502", true, 0},
		"garbage": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: x\ndata: {{{\n\n" + key))
		}, 200, "data: {{{", "broke off", true, 0},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(messagesStream[:500]))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 0, "message_start", "broke off", true, 0},
		"ends early": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(messagesStream[:strings.Index(messagesStream, "event: message_stop")]))
		}, 200, "message_delta", "broke off", true, 0},
		"overloaded in a stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"))
		}, 200, "overloaded_error", "529 overloaded_error: Overloaded", true, 0},
		"the key in pieces": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, c := range strings.Replace(messagesStream, `"text":"hi"`, `"text":"`+key+`"`, 1) {
				_, _ = w.Write([]byte(string(c)))
				_ = http.NewResponseController(w).Flush()
			}
		}, 200, `"text":"[redacted]"`, "", false, 0},
		"a page in place of a reply": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>Sign in"))
		}, 200, "<html>Sign in", "<html>Sign in", false, 0},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		}, 307, "", "307", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendors := map[string]gateway.Vendor{"anthropic": brokenVendor(t)}
			if test.vendor != nil {
				vendors = anthropicAndOpenAI(t, test.vendor)
			}
			g := startGateway(t, gateway.Config{Vendors: vendors, IdleTimeout: 300 * time.Millisecond})
			g.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			response, err := g.post(t.Context(), "/v1/messages", streamedBody(messagesBody))
			require.NoError(t, err)
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if test.status == 0 {
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			} else {
				require.NoError(t, err)
				require.Equal(t, test.status, response.StatusCode)
			}
			require.Contains(t, string(text), test.text)
			require.NotContains(t, string(text), key)
			g.awaitReply(t)
			reply := g.replies()[0]
			require.Contains(t, reply.Error, test.err)
			require.NotContains(t, reply.Error, key)
			require.Equal(t, test.err == "", reply.IsComplete)
			require.Equal(t, test.refused, reply.IsRefusedByVendor)
			require.Equal(t, test.after, reply.RetryAfter)
		})
	}
}

// awaitClientGone waits until the client of a request has closed the connection.
func awaitClientGone(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // before that, the server does not notice
	<-r.Context().Done()
}

// awaitReply waits until a call has ended.
func (g *gatewayUnderTest) awaitReply(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return len(g.replies()) > 0 }, time.Minute, time.Millisecond)
}

// A server may compress its replies, although it was asked not to. They are read and cleaned all the same.
func TestRepliesThatAreCompressed(t *testing.T) {
	t.Parallel()
	encoding := "gzip"
	g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", encoding)
		w.Header().Set("X-Echo", "Bearer sk-the-real-key")
		out := gzip.NewWriter(w)
		_, _ = out.Write([]byte(strings.Replace(messagesReply, `"hi"`, `"sk-the-real-key"`, 1)))
		_ = out.Close()
	})})
	status, header, text := g.call(t, "/v1/messages", messagesBody)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `"usage"`)
	require.NotContains(t, text+header.Get("X-Echo"), "sk-the-real-key")
	require.Empty(t, header.Get("Content-Encoding"))
	require.Equal(t, model.Usage{InputTokens: 7, OutputTokens: 3}, g.replies()[0].Response.Usage)

	encoding = "br"
	status, _, text = g.call(t, "/v1/messages", messagesBody)
	require.Equal(t, http.StatusBadGateway, status)
	require.Contains(t, text, "a reply with the encoding br, although it was asked for none")
}

// An agent that goes away ends its call, also at the vendor, and frees its slot.
func TestAgentThatGoesAway(t *testing.T) {
	t.Parallel()
	arrived, ended := make(chan struct{}), make(chan struct{})
	g := startGateway(t, gateway.Config{Slots: gateway.NewSlots(1), Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Mine") == "second" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(messagesReply))
			return
		}
		close(arrived)
		awaitClientGone(r)
		close(ended)
	})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := g.post(ctx, "/v1/messages", messagesBody) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	<-ended
	status, _, text := g.call(t, "/v1/messages", messagesBody, "X-Mine", "second")
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, "the agent has closed the connection", g.replies()[0].Error)
	require.False(t, g.replies()[0].IsRefusedByVendor)
}

// An agent that leaves a reply before its end is charged for it: with what the vendor says if that comes soon, else
// with an estimate.
func TestAgentThatLeavesAReply(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	for name, test := range map[string]struct {
		after string // that the agent has left
		used  model.Usage
	}{
		"the usage comes": {chatUsage + chatDone, model.Usage{InputTokens: 7, OutputTokens: 3}},
		"nothing comes":   {"", model.Usage{InputTokens: int64(len(streamedBody(chatBody))+len(`,"stream_options":{}`)) / 4, OutputTokens: 6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte(chatChunks))
				_ = http.NewResponseController(w).Flush()
				<-left
				_, _ = w.Write([]byte(test.after))
				_ = http.NewResponseController(w).Flush()
				if test.after == "" {
					awaitClientGone(r)
				}
			})})
			response, err := g.post(t.Context(), "/v1/chat/completions", streamedBody(chatBody))
			require.NoError(t, err)
			got := make([]byte, len(chatChunks))
			_, err = io.ReadFull(response.Body, got)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			if name == "the usage comes" {
				close(left)
			}
			g.awaitReply(t)
			if test.after == "" { // else the server may not notice that the agent has left
				require.Equal(t, "the agent has not read the reply to its end", g.replies()[0].Error)
			}
			require.InDelta(t, test.used.InputTokens, g.replies()[0].Response.Usage.InputTokens, 5)
			require.InDelta(t, test.used.OutputTokens, g.replies()[0].Response.Usage.OutputTokens, 5)
		})
	}
}

// An agent that leaves while its call waits for others has left: the call was not refused.
func TestAgentThatLeavesTheQueue(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	finish := make(chan struct{})
	g := startGateway(t, gateway.Config{
		Slots: gateway.NewSlots(1), Vendors: newVendors(t, func() { <-finish }),
		Agent: gateway.Agent{OnEvent: func(e gateway.Event) {
			if e.Kind == gateway.WaitBegan {
				leave()
			}
		}},
	})
	var calls sync.WaitGroup
	calls.Go(func() {
		status, _, _ := g.call(t, "/v1/messages", messagesBody)
		assert.Equal(t, http.StatusOK, status)
	})
	require.Eventually(t, func() bool { return len(g.kinds()) > 0 }, time.Minute, time.Millisecond)
	_, err := g.post(ctx, "/v1/messages", messagesBody) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, context.Canceled)
	g.awaitReply(t)
	close(finish)
	calls.Wait()
	require.Zero(t, g.replies()[0].Status)
	require.Equal(t, "the agent has closed the connection", g.replies()[0].Error)
}

// Requests that do not say how long they are keep no more memory than they need: many are answered at once.
func TestRequestsOfUnknownLength(t *testing.T) {
	t.Parallel()
	const calls = 20
	var arrived sync.WaitGroup
	arrived.Add(calls)
	g := startGateway(t, gateway.Config{Vendors: newVendors(t, func() {
		arrived.Done()
		arrived.Wait()
	})})
	var all sync.WaitGroup
	for range calls {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/v1/messages", io.MultiReader(strings.NewReader(messagesBody)))
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", token)
		all.Go(func() {
			response, err := g.client.Do(r)
			if assert.NoError(t, err) {
				assert.Equal(t, http.StatusOK, response.StatusCode)
				assert.NoError(t, response.Body.Close())
			}
		})
	}
	all.Wait()
}

// The last event of a call is its end, also if nothing comes again and again.
func TestEventsOfACallAreInOrder(t *testing.T) {
	t.Parallel()
	pieces := strings.SplitAfter(messagesStream, "\n\n")
	g := startGateway(t, gateway.Config{
		Agent: gateway.Agent{SilenceDelay: time.Microsecond},
		Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, piece := range pieces {
				_, _ = w.Write([]byte(piece))
				_ = http.NewResponseController(w).Flush()
			}
		}),
	})
	for range 200 {
		g.call(t, "/v1/messages", streamedBody(messagesBody))
	}
	g.Close()
	isSilent, hasEnded, silences := map[int64]bool{}, map[int64]bool{}, 0
	for _, e := range g.events {
		require.False(t, hasEnded[e.Call], "%s after the end", e.Kind)
		switch e.Kind {
		case gateway.SilenceBegan:
			require.False(t, isSilent[e.Call])
			isSilent[e.Call] = true
			silences++
		case gateway.SilenceEnded:
			require.True(t, isSilent[e.Call])
			isSilent[e.Call] = false
		case gateway.CallEnded:
			hasEnded[e.Call] = true
		default:
		}
	}
	require.Len(t, hasEnded, 200)
	require.NotZero(t, silences)
}

// The end of the endpoint ends its calls.
func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		awaitClientGone(r)
	})})
	go func() {
		<-arrived
		g.Close()
	}()
	_, err := g.post(t.Context(), "/v1/messages", messagesBody) //nolint:bodyclose // there is none
	require.Error(t, err)
	g.awaitReply(t)
	require.Equal(t, "the attempt ended", g.replies()[0].Error)
	_, err = g.post(t.Context(), "/v1/messages", messagesBody) //nolint:bodyclose // there is none
	require.Error(t, err)
}

// An agent that does not read a reply is disconnected, and the vendor too.
func TestAgentThatDoesNotRead(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(": " + strings.Repeat("x", 64<<10) + "\n\n")); err != nil {
				return
			}
		}
	})})
	g.SetWriteTimeout(200 * time.Millisecond)
	response, err := g.post(t.Context(), "/v1/messages", streamedBody(messagesBody))
	require.NoError(t, err)
	defer response.Body.Close()
	<-ended
	g.awaitReply(t)
	require.Equal(t, "the agent has not read the reply to its end", g.replies()[0].Error)
}
