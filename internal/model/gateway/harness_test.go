package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/gateway"
)

const token = "token-of-the-attempt"

// gatewayUnderTest is a running endpoint with the events that it has sent.
type gatewayUnderTest struct {
	*gateway.Endpoint
	url    string
	client *http.Client

	mu     sync.Mutex
	events []gateway.Event
}

// startGateway starts an endpoint on loopback.
func startGateway(t *testing.T, cfg gateway.Config) *gatewayUnderTest {
	t.Helper()
	g := &gatewayUnderTest{client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	cfg.Token = token
	onEvent := cfg.Agent.OnEvent
	cfg.Agent.OnEvent = func(e gateway.Event) {
		g.mu.Lock()
		g.events = append(g.events, e)
		g.mu.Unlock()
		if onEvent != nil {
			onEvent(e)
		}
	}
	transport := gateway.NewTransport()
	cfg.Transport = transport
	g.Endpoint = gateway.New(cfg)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g.url = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	t.Cleanup(func() {
		g.client.CloseIdleConnections()
		g.Close()
		require.NoError(t, <-served)
		transport.CloseIdleConnections()
	})
	return g
}

// newVendor returns the API of a vendor that a handler plays.
func newVendor(t *testing.T, handler http.HandlerFunc) gateway.Vendor {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	require.NoError(t, err)
	return gateway.Vendor{BaseURL: base, APIKey: "sk-the-real-key"}
}

// anthropicAndOpenAI returns vendors that one handler plays.
func anthropicAndOpenAI(t *testing.T, handler http.HandlerFunc) map[string]gateway.Vendor {
	t.Helper()
	anthropic, openai := newVendor(t, handler), newVendor(t, handler)
	openai.BaseURL = openai.BaseURL.JoinPath("v1")
	return map[string]gateway.Vendor{"anthropic": anthropic, "openai": openai}
}

// post sends a request with the token. The test must close the body of the response.
func (g *gatewayUnderTest) post(ctx context.Context, path, body string, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("X-Api-Key", token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return g.client.Do(r)
}

// call sends a request and returns status, headers and body of the response.
func (g *gatewayUnderTest) call(t *testing.T, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	response, err := g.post(t.Context(), path, body, headers...)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

// kinds returns the kinds of the events so far.
func (g *gatewayUnderTest) kinds() (kinds []gateway.EventKind) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// replies returns the replies of the calls that have ended.
func (g *gatewayUnderTest) replies() (replies []gateway.Reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.events {
		if e.Kind == gateway.CallEnded {
			replies = append(replies, *e.Reply)
		}
	}
	return replies
}

// Requests and replies of the three APIs, streamed and whole. The replies say hi and have used 7 and 3 tokens.
const (
	messagesBody   = `{"model":"claude-x","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
	messagesReply  = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":3}}`
	messagesStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"x\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":7,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":3}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

	chatBody   = `{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}`
	chatReply  = `{"id":"c","object":"chat.completion","created":0,"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`
	chatChunks = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}]}` + "\n\n" +
		`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	chatUsage = `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}` + "\n\n"
	chatDone  = "data: [DONE]\n\n"

	responsesBody  = `{"model":"gpt-x","input":"hi"}`
	responsesReply = `{"id":"resp_1","object":"response","status":"completed","model":"gpt-x","output":[{"id":"m","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}],"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}}`
)

// api is one of the three APIs in tests.
type api struct{ path, body, reply string }

func apis() map[string]api {
	return map[string]api{
		"messages":  {"/v1/messages", messagesBody, messagesReply},
		"chat":      {"/v1/chat/completions", chatBody, chatReply},
		"responses": {"/v1/responses", responsesBody, responsesReply},
	}
}

// streamedBody returns the body of a request for a streamed reply.
func streamedBody(body string) string { return strings.TrimSuffix(body, "}") + `,"stream":true}` }
