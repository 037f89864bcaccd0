package model_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script parses the lines of a script.
func script(t *testing.T, lines string) *model.Script {
	t.Helper()
	s, err := model.ParseScript("script.jsonl", []byte(lines))
	require.NoError(t, err)
	return s
}

// serve starts a server and returns the real client, talking to it.
func serve(t *testing.T, handler http.Handler) model.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := model.Open("anthropic/claude-test", model.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	return client
}

// both returns the two models that play the lines: in process and by HTTP.
func both(t *testing.T, lines string) map[string]model.Client {
	t.Helper()
	return map[string]model.Client{
		"script": script(t, lines).Client(),
		"mock":   serve(t, model.NewMock(script(t, lines), nil)),
	}
}

func ask(ctx context.Context, client model.Client, messages ...model.Message) (*model.Response, error) {
	return client.Complete(ctx, model.Request{Messages: messages}, nil)
}

func user(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: blocks}
}

func says(text string) model.Message { return user(model.Text(text)) }

func assistant(blocks ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: blocks}
}

func call(id, name string) model.Block { return model.ToolUse(id, name, []byte(`{}`)) }

func result(id, text string) model.Block { return model.ToolResult(id, false, model.Text(text)) }
