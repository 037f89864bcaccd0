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

// Script parses the lines of a script. A malformed line fails the test.
func Script(t *testing.T, lines string) *script.Script {
	t.Helper()
	s, err := script.Parse("script.jsonl", []byte(lines))
	require.NoError(t, err)
	return s
}

// ServeAnthropic starts a server for the test and returns an anthropic client of it.
func ServeAnthropic(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := open.Open("anthropic/claude-test", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	return client
}

// Clients returns two models that play the lines: "script" plays them in this process,
// "mock" through a mockapi server and the anthropic client.
func Clients(t *testing.T, lines string) map[string]model.Client {
	t.Helper()
	return map[string]model.Client{
		"script": Script(t, lines).Client(),
		"mock":   ServeAnthropic(t, mockapi.New(Script(t, lines), nil)),
	}
}

// Ask makes a call with those messages and returns the reply.
func Ask(ctx context.Context, client model.Client, messages ...model.Message) (*model.Response, error) {
	return client.Complete(ctx, model.Request{Messages: messages}, nil)
}

// User returns a message of the user with those blocks.
func User(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: blocks}
}

// UserText returns a message of the user with one block of text.
func UserText(text string) model.Message { return User(model.Text(text)) }

// Assistant returns a message of the model with those blocks.
func Assistant(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: blocks}
}

// ToolCall returns the call of a tool with the input {}.
func ToolCall(id, name string) model.Block { return model.ToolUse(id, name, []byte(`{}`)) }

// ToolResult returns the result of the call id as text, not an error.
func ToolResult(id, text string) model.Block { return model.ToolResult(id, false, model.Text(text)) }

// JSON returns the JSON of v. A value that cannot be encoded fails the test.
func JSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// RequireText makes a call with those messages and requires that the text of the reply is
// want.
func RequireText(t *testing.T, client model.Client, want string, messages ...model.Message) {
	t.Helper()
	reply, err := Ask(t.Context(), client, messages...)
	require.NoError(t, err)
	require.Equal(t, want, model.PlainText(reply.Content))
}

// RequireAPIError requires that err is a model.APIError with that HTTP status, type and
// RetryAfter.
func RequireAPIError(t *testing.T, err error, status int, errorType string, retryAfter time.Duration) {
	t.Helper()
	var api *model.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, status, api.Status)
	require.Equal(t, errorType, api.Type)
	require.Equal(t, retryAfter, api.RetryAfter)
}

// Truncating is a handler that sends only the first Limit bytes of the answer of
// another handler. It is not safe for concurrent use.
type Truncating struct {
	Handler http.Handler
	Limit   int
	Abort   bool // then break the connection, instead of ending the answer regularly
	Written int  // bytes that Handler has written, including those that were not sent
}

// ServeHTTP calls Handler.
func (h *Truncating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(&truncatingWriter{w, h}, r)
	if h.Abort {
		panic(http.ErrAbortHandler)
	}
}

// truncatingWriter is the ResponseWriter that [Truncating] passes to its handler.
type truncatingWriter struct {
	http.ResponseWriter
	handler *Truncating
}

// Unwrap is for http.ResponseController.
func (w *truncatingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write returns len(data) even if it sends less.
func (w *truncatingWriter) Write(data []byte) (int, error) {
	room := max(0, w.handler.Limit-w.handler.Written)
	w.handler.Written += len(data)
	if len(data) > room {
		_, _ = w.ResponseWriter.Write(data[:room])
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}

// ServeOpenAI starts a server for the test and returns an openai client of it.
func ServeOpenAI(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := open.Open("openai/some/model", open.Options{BaseURL: server.URL})
	require.NoError(t, err)
	return client
}
