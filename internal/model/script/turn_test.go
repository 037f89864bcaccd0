package script_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

// A request with a Turn gets the scripted reply of that number whatever its messages
// are, over HTTP and without a server. API errors before that turn are counted
// independently of the messages.
func TestRequestTurnSelectsReply(t *testing.T) {
	t.Parallel()
	parse := func() *script.Script {
		script, err := script.Parse("turns", []byte(`{"content":"one"}
{"error":{"status":400}}
{"error":{"status":403}}
{"content":"two"}
{"content":"three"}`))
		require.NoError(t, err)
		return script
	}
	server := httptest.NewServer(mockapi.New(parse(), nil))
	t.Cleanup(server.Close)
	remote, err := open.Open("anthropic/x", open.Options{APIKey: "key", BaseURL: server.URL})
	require.NoError(t, err)
	for _, client := range []model.Client{parse().Client(), remote} {
		ask := func(turn int, text string) string {
			messages := []model.Message{{Role: model.RoleUser, Content: []model.Block{model.Text(text)}}}
			reply, err := client.Complete(t.Context(), model.Request{Turn: turn, Messages: messages}, nil)
			if err != nil {
				return err.Error()
			}
			return model.JoinTextBlocks(reply.Content)
		}
		require.Equal(t, "one", ask(1, "a"))
		require.Equal(t, "one", ask(1, "b"))
		require.Contains(t, ask(2, "c"), "400 ")
		require.Contains(t, ask(2, "d"), "403 ")
		require.Equal(t, "two", ask(2, "e"))
		require.Equal(t, "three", ask(3, "f"))
		require.Contains(t, ask(4, "g"), "one more was asked for")
	}
}
