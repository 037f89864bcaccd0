package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The process of the built-in agent does not see where the API of its model is: its arguments say which API of OpenAI
// it uses, and whether that is OpenAI's own, in which limits have other names.
func TestBuiltinArgumentsNameTheAPI(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		model   string
		baseURL string
		args    []string
		want    string
	}{
		"OpenAI's own":           {"openai/gpt-5", "", nil, "--model-arg idle_s=0 --model-arg api=responses --openai-api"},
		"a chat with OpenAI":     {"openai/gpt-5", "https://api.openai.com/v1", []string{"api=chat", "max_tokens=99"}, "--model-arg max_tokens=99 --model-arg idle_s=0 --model-arg api=chat --openai-api"},
		"a compatible server":    {"openai/x", "http://127.0.0.1:1", []string{"base_url=http://127.0.0.1:1"}, "--model-arg idle_s=0 --model-arg api=chat --price-unknown"},
		"one that has Responses": {"openai/x", "http://127.0.0.1:1", []string{"api=responses"}, "--model-arg idle_s=0 --model-arg api=responses --price-unknown"},
		"another vendor":         {"anthropic/claude-x", "", nil, "--model-arg idle_s=0"},
	} {
		flags := builtinAgentFlags{model: test.model, modelArgs: test.args, strategy: "tools", name: "Eva", maxEvalIters: 5}
		options, _, err := (&cli{}).modelSettings(test.model, test.args)
		require.NoError(t, err, name)
		g := &modelGateway{baseURLs: map[string]string{"openai": test.baseURL}, modelAPI: options.API}
		got := strings.Join(g.builtinArguments(&flags), " ")
		require.Equal(t, "--model "+test.model+" --strategy tools --name Eva --max-eval-iters 5 "+test.want, got, name)
	}
}
