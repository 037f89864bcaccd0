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
	"assay/internal/model/wire"
)

// ParseScript parses the lines of a model script. A malformed line fails the test.
func ParseScript(t *testing.T, lines string) *script.Script {
	t.Helper()
	s, err := script.Parse("script.jsonl", []byte(lines))
	require.NoError(t, err)
	return s
}

// AnthropicClientOfHandler starts an HTTP server with this handler for the test, and returns an
// Anthropic client that calls it.
func AnthropicClientOfHandler(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := open.Open("anthropic/claude-test", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	return client
}

// ScriptAndMockClients returns two models that play these script lines: "script" plays
// them in this process, "mock" through a mockapi server and the Anthropic client.
func ScriptAndMockClients(t *testing.T, lines string) map[string]model.Client {
	t.Helper()
	return map[string]model.Client{
		"script": ParseScript(t, lines).Client(),
		"mock":   AnthropicClientOfHandler(t, mockapi.New(ParseScript(t, lines), nil)),
	}
}

// Ask makes a model call with these messages and returns the reply. An error fails the
// test.
func Ask(ctx context.Context, client model.Client, messages ...model.Message) (*model.Response, error) {
	return client.Complete(ctx, model.Request{Messages: messages}, nil)
}

// UserMessage returns a message with the role user and these content blocks.
func UserMessage(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: blocks}
}

// UserTextMessage returns a message with the role user and one text block.
func UserTextMessage(text string) model.Message { return UserMessage(model.Text(text)) }

// AssistantMessage returns a message with the role assistant and these content blocks.
func AssistantMessage(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: blocks}
}

// ToolCallBlock returns the content block of a tool call with this id and name and the
// input {}.
func ToolCallBlock(id, name string) model.Block { return model.ToolUse(id, name, []byte(`{}`)) }

// ToolResultBlock returns a content block with the result of the tool call id: this
// text, not marked as an error.
func ToolResultBlock(id, text string) model.Block {
	return model.ToolResult(id, false, model.Text(text))
}

// MustMarshalJSON returns v as JSON text. A value that cannot be encoded fails the test.
func MustMarshalJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// RequireReplyText makes a model call with these messages and requires that the text of
// the reply is want.
func RequireReplyText(t *testing.T, client model.Client, want string, messages ...model.Message) {
	t.Helper()
	reply, err := Ask(t.Context(), client, messages...)
	require.NoError(t, err)
	require.Equal(t, want, model.JoinTextBlocks(reply.Content))
}

// RequireAPIError requires that err is a model.APIError with this HTTP status, type and
// RetryAfter.
func RequireAPIError(t *testing.T, err error, status int, errorType string, retryAfter time.Duration) {
	t.Helper()
	var api *model.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, status, api.Status)
	require.Equal(t, errorType, api.Type)
	require.Equal(t, retryAfter, api.RetryAfter)
}

// TruncatingHandler is an HTTP handler that sends only the first Limit bytes of another
// handler's response. It is not safe for concurrent use.
type TruncatingHandler struct {
	Handler http.Handler
	Limit   int
	Abort   bool // then break the connection, instead of ending the answer regularly
	Written int  // bytes that Handler has written, including those that were not sent
}

// ServeHTTP calls the wrapped handler and sends the first Limit bytes of its response.
func (h *TruncatingHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Handler.ServeHTTP(&truncatingWriter{w, h}, r)
	if h.Abort {
		panic(http.ErrAbortHandler)
	}
}

// truncatingWriter is the http.ResponseWriter that a [TruncatingHandler] passes to its
// handler.
type truncatingWriter struct {
	http.ResponseWriter
	handler *TruncatingHandler
}

// Unwrap returns the wrapped writer. http.ResponseController needs it for Flush.
func (w *truncatingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write sends data up to the limit and drops the rest. It returns len(data) even if it
// sends less.
func (w *truncatingWriter) Write(data []byte) (int, error) {
	room := max(0, w.handler.Limit-w.handler.Written)
	w.handler.Written += len(data)
	if len(data) > room {
		_, _ = w.ResponseWriter.Write(data[:room])
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}

// OpenAIClientOfHandler starts an HTTP server with this handler for the test, and returns an
// OpenAI client that calls its Chat Completions API.
func OpenAIClientOfHandler(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	return openAIClient(t, "openai/some/model", wire.Chat, handler)
}

// ResponsesClientOfHandler starts an HTTP server with this handler for the test, and returns
// an OpenAI client that calls the reasoning model gpt-5 through its Responses API.
func ResponsesClientOfHandler(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	return openAIClient(t, "openai/gpt-5", wire.Responses, handler)
}

func openAIClient(t *testing.T, name string, api wire.API, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := open.Open(name, open.Options{BaseURL: server.URL, API: api})
	require.NoError(t, err)
	return client
}
