package gateway_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/gateway"
)

// The agent gets the token in place of all keys of models, and no proxy for its gateway.
func TestEnviron(t *testing.T) {
	t.Parallel()
	e := gateway.New(gateway.Config{Token: token})
	t.Cleanup(e.Close)
	got := e.Environ([]string{
		"PATH=/bin", "ANTHROPIC_API_KEY=a", "ANTHROPIC_AUTH_TOKEN=b", "anthropic_base_url=kept", "ANTHROPIC_BASE_URL=c", "OPENAI_API_KEY=d", "OPENAI_API_BASE=e",
		"CLAUDE_CODE_OAUTH_TOKEN=f", "GEMINI_API_KEY=g", "AWS_SECRET_ACCESS_KEY=h", "OPENROUTER_API_KEY=i", "NO_PROXY=example.org", "DATABASE_PASSWORD=kept", "ANTHROPIC_MODEL=kept",
	}, "127.0.0.1:7")
	require.Equal(t, []string{
		"PATH=/bin", "anthropic_base_url=kept", "DATABASE_PASSWORD=kept", "ANTHROPIC_MODEL=kept",
		"NO_PROXY=127.0.0.1,localhost,example.org", "no_proxy=127.0.0.1,localhost,example.org",
		"ASSAY_MODELS_URL=http://127.0.0.1:7", "ANTHROPIC_BASE_URL=http://127.0.0.1:7", "ANTHROPIC_API_KEY=" + token,
		"OPENAI_BASE_URL=http://127.0.0.1:7/v1", "OPENAI_API_KEY=" + token,
	}, got)
}
