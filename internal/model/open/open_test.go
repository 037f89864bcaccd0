package open_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

func TestOpenUnknownName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "gpt", "anthropic/", "script:", "replay:", "anthropic"} {
		_, err := open.Open(name, open.Options{APIKey: "k"})
		require.EqualError(t, err, `unknown model "`+name+`": known are anthropic/<id>, openai/<id>, script:FILE and replay:FILE`)
	}
	_, err := open.Open("anthropic/claude", open.Options{})
	require.EqualError(t, err, "the model anthropic/claude needs an API key: set ANTHROPIC_API_KEY")
}

func TestOpenScriptFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.jsonl")
	_, err := open.Open("script:"+file, open.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte(`{"content":"hi"}`), 0o600))
	client, err := open.Open("script:"+file, open.Options{})
	require.NoError(t, err)
	reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.NoError(t, err)
	require.Equal(t, "hi", model.JoinTextBlocks(reply.Content))
}

// HTTP redirects are not followed: key and conversation go only to the configured
// address.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"anthropic/x": "anthropic: the answer is no stream of events but 307", "openai/x": "openai: 307 "} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s: the request went elsewhere, with the key %q%q", name, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"))
		}))
		t.Cleanup(elsewhere.Close)
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
		t.Cleanup(server.Close)
		client, err := open.Open(name, open.Options{APIKey: "k", BaseURL: server.URL})
		require.NoError(t, err)
		_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.ErrorContains(t, err, want)
		require.False(t, model.IsTransient(err))
	}
}

// The text of a long API error is shortened, since it is stored in several places.
func TestLongAPIErrorIsShortened(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"anthropic/x", "openai/x"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			long := strings.Repeat("é", 1<<20)
			_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, long, "prompt "+long)
		}))
		t.Cleanup(server.Close)
		client, err := open.Open(name, open.Options{APIKey: "k", BaseURL: server.URL})
		require.NoError(t, err)
		_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.ErrorContains(t, err, "prompt éé")
		require.Less(t, len(err.Error()), 10_000)
	}
}

// Negative and huge token counts in a response are limited to 0 and 2^40, with both
// vendors.
func TestTokenCountsAreClamped(t *testing.T) {
	t.Parallel()
	script, err := script.Parse("s", []byte(`{"content": "x", "usage": {"input_tokens": -5, "output_tokens": -7, "cache_read_input_tokens": -9, "cache_creation_input_tokens": 9000000000000000000}}`))
	require.NoError(t, err)
	mock := mockapi.New(script, nil)
	for name, client := range map[string]model.Client{"anthropic": modeltest.AnthropicClientOfHandler(t, mock), "openai": modeltest.OpenAIClientOfHandler(t, mock)} {
		reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.NoError(t, err, name)
		u := reply.Usage
		require.GreaterOrEqual(t, min(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens), int64(0), name)
		require.Less(t, u.TotalTokens(), int64(1<<43), name)
	}
}
