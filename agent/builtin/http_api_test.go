package builtin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
)

// startAgentOnHTTPAPI runs an agent with tools on the real client of an API at that URL.
func startAgentOnHTTPAPI(t *testing.T, url, key string) *agenttest.Server {
	t.Helper()
	client, err := open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: key, BaseURL: url})
	require.NoError(t, err)
	return startAgent(t, builtin.Config{Model: client, ModelName: "anthropic/claude-opus-4-5"})
}

// requestBodyRecorder records the bodies of the requests to a server.
type requestBodyRecorder struct {
	http.Handler
	mu  sync.Mutex
	all [][]byte
}

// ServeHTTP records the body and passes the request on.
func (b *requestBodyRecorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.all = append(b.all, body)
	b.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.Handler.ServeHTTP(w, r)
}

// A whole evaluation over HTTP with a validating API. Every request repeats byte for byte
// what earlier ones have sent, except for the cache markers.
func TestCO9_EvaluationOverHTTP(t *testing.T) {
	t.Parallel()
	mock := &requestBodyRecorder{Handler: mockapi.New(agenttest.ParseModelScript(t,
		agenttest.ToolCallScriptLine("get_context", `{}`, "create_cell", `{"position":0,"source":"print 数据 é","auto_run":true}`),
		`{"content":"no call: a reminder follows","expect":{"tool_result_contains":"数据 é"}}`,
		strings.TrimSuffix(agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"cut"}`), "}")+`,"stop_reason":"max_tokens"}`,
		agenttest.ToolCallScriptLine("edit_cell", `{"cell_id":"$cell[0]","source":"fail é","auto_run":true}`, "fly", `{}`),
		agenttest.SubmitScriptLine("42"),
	), nil)}
	server := httptest.NewServer(mock)
	t.Cleanup(server.Close)

	p := startAgentOnHTTPAPI(t, server.URL, "key")
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("Compute. <b> & é"))
	require.Contains(t, p.Submissions()[0].Summary, "<EVAL_ANSWER>42</EVAL_ANSWER>")
	require.Empty(t, p.FramesOfType("agent_error"))
	require.Len(t, mock.all, 5)

	for i := 1; i < len(mock.all); i++ {
		before, after := parseRequestPrefix(t, mock.all[i-1]), parseRequestPrefix(t, mock.all[i])
		require.Equal(t, before.head, after.head)
		require.Greater(t, len(after.messages), len(before.messages))
		require.Equal(t, before.messages, after.messages[:len(before.messages)])
	}
	require.Contains(t, string(mock.all[3]), `"max_tokens":32000`)
	require.Contains(t, string(mock.all[4]), `"max_tokens":16000`)
}

// requestPrefix is what a request has in common with later ones.
type requestPrefix struct {
	head     string // tools and system prompt
	messages []string
}

// parseRequestPrefix returns the parts of a request, without cache markers.
func parseRequestPrefix(t *testing.T, body []byte) requestPrefix {
	t.Helper()
	var in struct {
		System, Tools json.RawMessage
		Messages      []json.RawMessage
	}
	body = bytes.ReplaceAll(body, []byte(cacheMarkerJSON), nil)
	require.NoError(t, json.Unmarshal(body, &in))
	out := requestPrefix{head: string(in.Tools) + string(in.System)}
	for _, m := range in.Messages {
		out.messages = append(out.messages, string(m))
	}
	return out
}

func TestCO6_WrongKeyIsAFatalError(t *testing.T) {
	t.Parallel()
	unauthorized := &requestBodyRecorder{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	})}
	server := httptest.NewServer(unauthorized)
	t.Cleanup(server.Close)
	p := startAgentOnHTTPAPI(t, server.URL, "wrong")
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "anthropic: 401 authentication_error: invalid x-api-key", p.QueryAndWait("go"))
	require.Len(t, unauthorized.all, 1)
	require.Equal(t, true, p.FramesOfType("agent_error")[0]["fatal"])
}

// Several agents can use one mock API at once; each works on its own cells.
func TestCO3_AgentsShareAnAPI(t *testing.T) {
	t.Parallel()
	script := agenttest.ParseModelScript(t,
		agenttest.ToolCallScriptLine("create_cell", `{"position":0,"source":"print mine","auto_run":true}`), agenttest.ToolCallScriptLine("run_cell", `{"cell_id":"$cell[0]"}`), agenttest.SubmitScriptLine("1"))
	server := httptest.NewServer(mockapi.New(script, nil))
	t.Cleanup(server.Close)
	var servers []*agenttest.Server
	for i := range 8 {
		p := startAgentOnHTTPAPI(t, server.URL, "key")
		p.CreatedCells = 100 * i // each notebook has its own ids
		p.InitAndAwaitReady(frame{"eval_mode": true})
		p.SendQuery("the same")
		servers = append(servers, p)
	}
	for i, p := range servers {
		p.AwaitFrame(0, "done", func(f frame) bool { return f.StringField("status") == "done" })
		text, isError := p.ToolResult(1)
		require.False(t, isError)
		require.Contains(t, text, fmt.Sprintf("cell_id: c%d\nstatus: ok", 100*i+1))
	}
}
