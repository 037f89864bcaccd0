package mockapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// postMessageRequest posts a body to /v1/messages of a test server with an API key. If change
// is not nil, it alters the request before it is sent.
func postMessageRequest(t *testing.T, mock *mockapi.Server, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header.Set("X-Api-Key", "k")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	mock.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(text)
}

func TestMessageFormat(t *testing.T) {
	t.Parallel()
	mock := mockapi.New(modeltest.ParseScript(t, `{"content":"hi","usage":{"input_tokens":2,"output_tokens":1}}`), nil)
	status, text := postMessageRequest(t, mock, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"go"}]}`, nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],
		"stop_reason":"end_turn","stop_sequence":null,
		"usage":{"input_tokens":2,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`, text)

	status, text = postMessageRequest(t, mock, `{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"go"}]}`, nil)
	require.Equal(t, http.StatusOK, status)
	var names []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	require.Equal(t, []string{"message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}, names)
}

func TestErrorsForMissingAPIKeyAndWrongPath(t *testing.T) {
	t.Parallel()
	mock := mockapi.New(modeltest.ParseScript(t, `{"content":"hi"}`), nil)
	status, text := postMessageRequest(t, mock, `{}`, func(r *http.Request) { r.Header.Del("X-Api-Key") })
	require.Equal(t, http.StatusUnauthorized, status)
	require.JSONEq(t, `{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"}}`, text)
	withToken := func(token string) (int, string) {
		return postMessageRequest(t, mock, `{}`, func(r *http.Request) { r.Header.Del("X-Api-Key"); r.Header.Set("Authorization", token) })
	}
	status, _ = withToken("Bearer k") // as the newer SDKs of Anthropic send a key
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = withToken("k")
	require.Equal(t, http.StatusUnauthorized, status)
	status, _ = postMessageRequest(t, mock, `{}`, func(r *http.Request) { r.URL.Path = "/v1/complete" })
	require.Equal(t, http.StatusNotFound, status)
	status, _ = postMessageRequest(t, mock, `{}`, func(r *http.Request) { r.Method = http.MethodGet })
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

// Conversations that begin with the same message can be played at the same time, each
// with its own replies.
func TestConcurrentConversations(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"tool_use","name":"create_cell","input":{}}]}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[0]"}}],"expect":{"tool_result_contains":"cell_id"}}
{"content":"done"}`
	client := modeltest.AnthropicClientOfHandler(t, mockapi.New(modeltest.ParseScript(t, lines), nil))
	var group sync.WaitGroup
	failures := make(chan error, 40)
	for n := range cap(failures) {
		group.Go(func() {
			cell := fmt.Sprintf("c%d", n)
			chat := []model.Message{modeltest.UserTextMessage("the same")}
			for turn := range 3 {
				reply, err := modeltest.Ask(t.Context(), client, chat...)
				if err != nil {
					failures <- err
					return
				}
				if turn == 1 && !strings.Contains(string(reply.Content[0].Input), `"`+cell+`"`) {
					failures <- fmt.Errorf("cell %s: got %s", cell, reply.Content[0].Input)
				}
				chat = append(chat, modeltest.AssistantMessage(reply.Content...))
				for _, c := range model.ToolUses(reply.Content) {
					chat = append(chat, modeltest.UserMessage(modeltest.ToolResultBlock(c.ID, "cell_id: "+cell)))
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
}

func FuzzMessageRequest(f *testing.F) {
	f.Add(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"model":"m","max_tokens":9,"stream":true,"system":"x","tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		mock := mockapi.New(modeltest.ParseScript(t, `{"content":"ok"}`), nil)
		status, text := postMessageRequest(t, mock, body, nil)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, status, text)
	})
}
