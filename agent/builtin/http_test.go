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
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// startHTTP runs the agent on the real client, which talks to a server.
func startHTTP(t *testing.T, url, key string) *peer {
	t.Helper()
	client, err := open.Open("anthropic/claude-opus-4-5", open.Options{APIKey: key, BaseURL: url})
	require.NoError(t, err)
	return start(t, builtin.Run, builtin.Config{Model: client, ModelName: "anthropic/claude-opus-4-5"})
}

// bodies keeps what was sent to a server.
type bodies struct {
	http.Handler
	mu  sync.Mutex
	all [][]byte
}

func (b *bodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	b.all = append(b.all, body)
	b.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	b.Handler.ServeHTTP(w, r)
}

// A whole evaluation over HTTP, past the strict server. What was sent before is
// sent again byte for byte with every further call, but for the markers.
func TestCO9_AnEvaluationOverHTTP(t *testing.T) {
	t.Parallel()
	script, err := script.Parse("script.jsonl", []byte(strings.Join([]string{
		uses("get_context", `{}`, "create_cell", `{"position":0,"source":"print 数据 é","auto_run":true}`),
		`{"content":"no call: a nudge follows","expect":{"tool_result_contains":"数据 é"}}`,
		strings.TrimSuffix(uses("create_cell", `{"position":0,"source":"cut"}`), "}") + `,"stop_reason":"max_tokens"}`,
		uses("edit_cell", `{"cell_id":"$cell[0]","source":"fail é","auto_run":true}`, "fly", `{}`),
		submits("42"),
	}, "\n")))
	require.NoError(t, err)
	mock := &bodies{Handler: mockapi.New(script, nil)}
	server := httptest.NewServer(mock)
	t.Cleanup(server.Close)

	p := startHTTP(t, server.URL, "key")
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("Compute. <b> & é"))
	require.Contains(t, summary(t, p), "<EVAL_ANSWER>42</EVAL_ANSWER>")
	require.Empty(t, p.of("agent_error"))
	require.Len(t, mock.all, 5)

	for i := 1; i < len(mock.all); i++ {
		before, after := prefixOf(t, mock.all[i-1]), prefixOf(t, mock.all[i])
		require.Equal(t, before.head, after.head)
		require.Greater(t, len(after.messages), len(before.messages))
		require.Equal(t, before.messages, after.messages[:len(before.messages)])
	}
	require.Contains(t, string(mock.all[3]), `"max_tokens":32000`)
	require.Contains(t, string(mock.all[4]), `"max_tokens":16000`)
}

type prefix struct {
	head     string // tools and system
	messages []string
}

func prefixOf(t *testing.T, body []byte) prefix {
	t.Helper()
	var in struct {
		System, Tools json.RawMessage
		Messages      []json.RawMessage
	}
	body = bytes.ReplaceAll(body, []byte(cacheMarker), nil)
	require.NoError(t, json.Unmarshal(body, &in))
	out := prefix{head: string(in.Tools) + string(in.System)}
	for _, m := range in.Messages {
		out.messages = append(out.messages, string(m))
	}
	return out
}

func TestCO6_WrongKeyOverHTTP(t *testing.T) {
	t.Parallel()
	refuse := &bodies{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	})}
	server := httptest.NewServer(refuse)
	t.Cleanup(server.Close)
	p := startHTTP(t, server.URL, "wrong")
	p.init(frame{"eval_mode": true})
	require.Equal(t, "anthropic: 401 authentication_error: invalid x-api-key", p.ask("go"))
	require.Len(t, refuse.all, 1)
	require.Equal(t, true, p.of("agent_error")[0]["fatal"])
}

// The attempts of a run share a server, and each works on its own cells.
func TestCO3_AgentsShareAServer(t *testing.T) {
	t.Parallel()
	script, err := script.Parse("script.jsonl", []byte(
		uses("create_cell", `{"position":0,"source":"print mine","auto_run":true}`)+"\n"+
			uses("run_cell", `{"cell_id":"$cell[0]"}`)+"\n"+submits("1")))
	require.NoError(t, err)
	server := httptest.NewServer(mockapi.New(script, nil))
	t.Cleanup(server.Close)
	var peers []*peer
	for i := range 8 {
		p := startHTTP(t, server.URL, "key")
		p.made = 100 * i // each notebook has ids of its own
		p.init(frame{"eval_mode": true})
		p.query("the same")
		peers = append(peers, p)
	}
	for i, p := range peers {
		p.await(0, "done", func(f frame) bool { return f.text("status") == "done" })
		text, isError := p.resultText(1)
		require.False(t, isError)
		require.Contains(t, text, fmt.Sprintf("cell_id: c%d\nstatus: ok", 100*i+1))
	}
}
