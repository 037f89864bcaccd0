package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/gateway"
)

// A call goes to the vendor byte for byte, with the vendor's key, and the reply comes back byte for
// byte. What it has used is counted.
func TestCallsAreForwardedUnchanged(t *testing.T) {
	t.Parallel()
	for name, api := range apis() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != api.body || r.URL.RequestURI() != api.path+"?beta=true" {
					http.Error(w, "it came as "+r.URL.RequestURI()+" "+string(body), http.StatusTeapot)
					return
				}
				for _, key := range []string{"Cookie", "Openai-Organization"} {
					if r.Header.Get(key) != "" {
						http.Error(w, key+" was sent", http.StatusTeapot)
						return
					}
				}
				if key := r.Header.Get("X-Api-Key") + r.Header.Get("Authorization"); strings.TrimPrefix(key, "Bearer ") != "sk-the-real-key" {
					http.Error(w, "the key is "+key, http.StatusTeapot)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Request-Id", r.Header.Get("X-Mine"))
				w.Header().Set("Set-Cookie", "a=b")
				w.Header().Set("Anthropic-Organization-Id", "org")
				_, _ = w.Write([]byte(api.reply))
			})})
			status, header, text := g.call(t, api.path+"?beta=true", api.body, "X-Mine", "mine", "Cookie", "x=y", "Openai-Organization", "o", "Anthropic-Version", map[bool]string{true: "2023-06-01"}[name == "messages"])
			require.Equal(t, http.StatusOK, status, text)
			require.Equal(t, api.reply, text)
			require.Equal(t, "mine", header.Get("Request-Id"))
			require.Empty(t, header.Get("Set-Cookie")+header.Get("Anthropic-Organization-Id"))
			require.Equal(t, []gateway.EventKind{gateway.CallBegan, gateway.CallEnded}, g.kinds())
			reply := g.replies()[0]
			require.True(t, reply.IsComplete)
			require.Equal(t, model.Usage{InputTokens: 7, OutputTokens: 3}, reply.Response.Usage)
			require.Equal(t, "hi", model.ReplyText(reply.Response.Content))
			require.JSONEq(t, api.body, string(g.events[0].Request.Body))
		})
	}
}

// Each piece of a streamed reply reaches the agent before the next one is sent.
func TestStreamedRepliesArriveInPieces(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	pieces := strings.SplitAfter(messagesStream, "\n\n")
	g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			_, _ = w.Write([]byte(piece))
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})})
	response, err := g.post(t.Context(), "/v1/messages", streamedBody(messagesBody))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	for _, piece := range pieces {
		got := make([]byte, len(piece))
		_, err := io.ReadFull(response.Body, got)
		require.NoError(t, err)
		require.Equal(t, piece, string(got))
		next <- struct{}{}
	}
	rest, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, model.Usage{InputTokens: 7, OutputTokens: 3}, g.replies()[0].Response.Usage)
}

// The model "assay" is that of the endpoint. Nothing but the model's name is changed in the request.
func TestModelOfTheEndpoint(t *testing.T) {
	t.Parallel()
	vendors := anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Got", string(body))
		_, _ = w.Write([]byte(messagesReply))
	})
	g := startGateway(t, gateway.Config{Model: &gateway.Model{Provider: "anthropic", ID: "claude-y", Vendor: vendors["anthropic"], Name: "anthropic/claude-y"}})
	status, header, text := g.call(t, "/v1/messages", `{ "messages":[{"role":"user","content":"assay"}],"max_tokens":1.0, "model" : "assay" }`)
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, `{ "messages":[{"role":"user","content":"assay"}],"max_tokens":1.0, "model" : "claude-y" }`, header.Get("Got"))
	require.Equal(t, "claude-y", g.replies()[0].Model)

	for model, want := range map[string]string{
		"claude-x": `there is no key for the model \"claude-x\": set ANTHROPIC_API_KEY, or use the model \"assay\"`,
	} {
		status, _, text := g.call(t, "/v1/messages", strings.Replace(messagesBody, "claude-x", model, 1))
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, text, want)
	}
	none := startGateway(t, gateway.Config{})
	status, _, text = none.call(t, "/v1/messages", strings.Replace(messagesBody, "claude-x", "assay", 1))
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, text, "no --model is given")
	status, _, text = g.call(t, "/v1/chat/completions", strings.Replace(chatBody, "gpt-x", "assay", 1))
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, text, "anthropic/claude-y does not speak the API of /v1/chat/completions")
}

// The usage of a streamed chat completion is counted although the agent has not asked for it, and then
// the agent does not get it.
func TestUsageOfChatStreamsIsCounted(t *testing.T) {
	t.Parallel()
	g := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(chatChunks))
		if strings.Contains(string(body), `"include_usage":true`) {
			for _, c := range chatUsage { // split anywhere
				_, _ = w.Write([]byte(string(c)))
				_ = http.NewResponseController(w).Flush()
			}
		}
		_, _ = w.Write([]byte(chatDone))
	})})
	_, _, text := g.call(t, "/v1/chat/completions", streamedBody(chatBody))
	require.Equal(t, chatChunks+chatDone, text)
	_, _, text = g.call(t, "/v1/chat/completions", strings.TrimSuffix(streamedBody(chatBody), "}")+`,"stream_options":{"include_usage":true}}`)
	require.Equal(t, chatChunks+chatUsage+chatDone, text)
	for _, reply := range g.replies() {
		require.Equal(t, model.Usage{InputTokens: 7, OutputTokens: 3}, reply.Response.Usage)
	}
}

// Requests that are no calls of a model get an error in the vendor's shape and are reported.
func TestOtherRequestsAreRejected(t *testing.T) {
	t.Parallel()
	g := startGateway(t, gateway.Config{})
	for name, test := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		want               string
	}{
		"another token":      {"POST", "/v1/messages", messagesBody, []string{"X-Api-Key", "token-of-the-last-attempt"}, 401, `"authentication_error"`},
		"no token":           {"POST", "/v1/chat/completions", chatBody, []string{"X-Api-Key", ""}, 401, "not that of this attempt"},
		"another path":       {"POST", "/v1/embeddings", "{}", nil, 404, "/v1/embeddings is not served"},
		"the server's":       {"GET", "/api/runs", "", nil, 404, "is not served"},
		"another method":     {"GET", "/v1/messages", "", nil, 405, "the method must be POST"},
		"a WebSocket":        {"GET", "/v1/responses", "", []string{"Connection", "Upgrade", "Upgrade", "websocket"}, 426, "use POST"},
		"too large":          {"POST", "/v1/messages", strings.Repeat(" ", 33<<20), nil, 413, "larger than 33554432 bytes"},
		"encoded":            {"POST", "/v1/responses", "x", []string{"Content-Encoding", "zstd"}, 415, "without Content-Encoding"},
		"a long path":        {"POST", "/" + strings.Repeat("x", 100_000), "{}", nil, 404, "… is not served"},
		"in the background":  {"POST", "/v1/responses", `{"model":"assay","input":"hi","background":true}`, nil, 400, "background"},
		"no JSON":            {"POST", "/v1/responses", "x", nil, 400, "error"},
		"no model":           {"POST", "/v1/responses", "{}", nil, 400, "model"},
		"tokens of a prompt": {"POST", "/v1/messages/count_tokens", messagesBody, nil, 404, "cannot be counted"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, g.url+test.path, strings.NewReader(test.body))
		require.NoError(t, err)
		r.Header.Set("X-Api-Key", token)
		for i := 0; i < len(test.headers); i += 2 {
			r.Header.Set(test.headers[i], test.headers[i+1])
		}
		response, err := g.client.Do(r)
		require.NoError(t, err, name)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err, name)
		require.NoError(t, response.Body.Close())
		require.Equal(t, test.status, response.StatusCode, name)
		require.Contains(t, string(text), test.want, name)
		require.Contains(t, string(text), `"error"`, name)
		require.Equal(t, "false", response.Header.Get("X-Should-Retry"), name)
	}
	require.Len(t, g.kinds(), 13)
	for _, e := range g.events {
		require.Less(t, len(e.Request.Path)+len(e.Reply.Error), 1000)
	}
	require.NotContains(t, g.kinds(), gateway.CallBegan)
}

// An agent without network gets none through its vendor.
func TestHostedToolsAreRefused(t *testing.T) {
	t.Parallel()
	body := strings.TrimSuffix(messagesBody, "}") + `,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`
	for refuses, want := range map[bool]int{true: http.StatusBadRequest, false: http.StatusOK} {
		g := startGateway(t, gateway.Config{Vendors: newVendors(t, func() {}), RefusesHosted: refuses})
		status, _, text := g.call(t, "/v1/messages", body)
		require.Equal(t, want, status, text)
		if refuses {
			require.Contains(t, text, "tools.0.type: what the vendor does itself")
		}
	}
}

// The models are those of the vendor, or the one that there is.
func TestListOfModels(t *testing.T) {
	t.Parallel()
	get := func(g *gatewayUnderTest, path string, headers ...string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		response, err := g.client.Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text)
	}
	none := startGateway(t, gateway.Config{})
	require.Equal(t, `{"data":[],"object":"list"}`, get(none, "/v1/models"))
	require.Contains(t, get(none, "/v1/models/assay"), `there is no model \"assay\"`)
	alone := startGateway(t, gateway.Config{Model: &gateway.Model{Name: "script:x"}})
	require.Contains(t, get(alone, "/v1/models"), `"object":"list"`)
	require.Contains(t, get(alone, "/v1/models"), `"id":"assay"`)
	require.Contains(t, get(alone, "/v1/models", "Anthropic-Version", "2023-06-01"), `"has_more":false`)
	require.Equal(t, `{"id":"assay","object":"model","created":0,"owned_by":"assay"}`, get(alone, "/v1/models/assay"))
	require.Contains(t, get(alone, "/v1/models/x"), `there is no model \"x\"`)
	behind := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Got", r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"))
		_, _ = fmt.Fprintf(w, "models of the vendor at %s", r.URL.Path)
	})})
	require.Equal(t, "models of the vendor at /v1/models/x", get(behind, "/v1/models/x"))
	require.Equal(t, "models of the vendor at /v1/models/ft:x", get(behind, "/v1/models/ft:x"))
	for _, path := range []string{"/v1/models/../files", "/v1/models/%2e%2e/files", "/v1/models/..%2f..%2fx", "/v1/models/..", "/v1/models/.", "/v1/models/a%5c..", "/v1/models/"} {
		require.Contains(t, get(behind, path), "is not served", path)
	}
}

// A call that has to wait for others says so, and begins when one has ended.
func TestCallsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	inFlight, most := 0, 0
	arrived, finish := make(chan struct{}, 10), make(chan struct{})
	slots := gateway.NewSlots(2)
	vendors := anthropicAndOpenAI(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		inFlight++
		most = max(most, inFlight)
		mu.Unlock()
		arrived <- struct{}{}
		<-finish
		mu.Lock()
		inFlight--
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(messagesReply))
	})
	waiting := make(chan struct{}, 10)
	onEvent := func(e gateway.Event) {
		if e.Kind == gateway.WaitBegan {
			waiting <- struct{}{}
		}
	}
	gateways := []*gatewayUnderTest{
		startGateway(t, gateway.Config{Vendors: vendors, Slots: slots, Agent: gateway.Agent{OnEvent: onEvent}}),
		startGateway(t, gateway.Config{Vendors: vendors, Slots: slots, Agent: gateway.Agent{OnEvent: onEvent}}),
	}
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			status, _, text := gateways[i%2].call(t, "/v1/messages", messagesBody)
			if status != http.StatusOK {
				t.Error(text)
			}
		})
	}
	for range 2 {
		<-arrived
		<-waiting
	}
	close(finish)
	calls.Wait()
	require.Equal(t, 2, most)
}
