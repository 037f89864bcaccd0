// Package modeltest has helpers for tests of models.
package modeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// Script parses the lines of a script.
func Script(t *testing.T, lines string) *script.Script {
	t.Helper()
	s, err := script.Parse("script.jsonl", []byte(lines))
	require.NoError(t, err)
	return s
}

// ServeAnthropic starts a server and returns the real client, talking to it.
func ServeAnthropic(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := open.Open("anthropic/claude-test", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	return client
}

// Clients returns the two models that play the lines: in process and by HTTP.
func Clients(t *testing.T, lines string) map[string]model.Client {
	t.Helper()
	return map[string]model.Client{
		"script": Script(t, lines).Client(),
		"mock":   ServeAnthropic(t, mockapi.New(Script(t, lines), nil)),
	}
}

func Ask(ctx context.Context, client model.Client, messages ...model.Message) (*model.Response, error) {
	return client.Complete(ctx, model.Request{Messages: messages}, nil)
}

func User(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: blocks}
}

func UserText(text string) model.Message { return User(model.Text(text)) }

func Assistant(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: blocks}
}

func ToolCall(id, name string) model.Block { return model.ToolUse(id, name, []byte(`{}`)) }

func ToolResult(id, text string) model.Block { return model.ToolResult(id, false, model.Text(text)) }

func JSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func RequireText(t *testing.T, client model.Client, want string, messages ...model.Message) {
	t.Helper()
	reply, err := Ask(t.Context(), client, messages...)
	require.NoError(t, err)
	require.Equal(t, want, model.PlainText(reply.Content))
}

func RequireAPIError(t *testing.T, err error, status int, kind string, wait time.Duration) {
	t.Helper()
	var api *model.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, status, api.Status)
	require.Equal(t, kind, api.Type)
	require.Equal(t, wait, api.RetryAfter)
}

// Truncating is a handler that sends only the first Limit bytes of another one's
// answer. It is not safe for concurrent use.
type Truncating struct {
	Handler http.Handler
	Limit   int
	Abort   bool // break the connection after them, instead of ending the answer regularly
	Written int  // bytes that Handler has written, the cut ones included
}

// ServeHTTP calls Handler.
func (h *Truncating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(&truncatingWriter{w, h}, r)
	if h.Abort {
		panic(http.ErrAbortHandler)
	}
}

type truncatingWriter struct {
	http.ResponseWriter
	handler *Truncating
}

// Unwrap is for http.ResponseController.
func (w *truncatingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write claims to have written all of data.
func (w *truncatingWriter) Write(data []byte) (int, error) {
	room := max(0, w.handler.Limit-w.handler.Written)
	w.handler.Written += len(data)
	if len(data) > room {
		_, _ = w.ResponseWriter.Write(data[:room])
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}

// ServeOpenAI starts a server and returns the real client, talking to it.
func ServeOpenAI(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := open.Open("openai/some/model", open.Options{BaseURL: server.URL})
	require.NoError(t, err)
	return client
}
