package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
)

func TestParams_Set(t *testing.T) {
	t.Parallel()
	var p model.Params
	require.NoError(t, p.Set("max_tokens", "9"))
	require.NoError(t, p.Set("temperature", "0.25"))
	require.NoError(t, p.Set("thinking", "2048"))
	require.Equal(t, `{"max_tokens":9,"temperature":0.25,"thinking":{"type":"enabled","budget_tokens":2048}}`, modeltest.MustMarshalJSON(t, p))
	require.NoError(t, p.Set("thinking", "adaptive"))
	require.Equal(t, &model.ThinkingSetting{Type: "adaptive"}, p.Thinking)
	for key, values := range map[string][]string{"max_tokens": {"", "0", "x"}, "temperature": {"2.5", "-1", "NaN", "x"}, "thinking": {"much", "0"}, "reasoning_effort": {"", "huge"}, "top_q": {"1"}} {
		for _, value := range values {
			require.ErrorContains(t, p.Set(key, value), key)
		}
	}
}

// Check returns an error for settings that the vendor's API rejects in every request.
func TestParams_Check(t *testing.T) {
	t.Parallel()
	const ours, theirs = "anthropic/m", "openai/m"
	cases := map[string]struct{ name, settings, want string }{
		"hot":                     {theirs, "temperature=2", ""},
		"too hot":                 {ours, "temperature=1.5", "temperature must be from 0 to 1 for anthropic/m, not 1.5"},
		"effort":                  {theirs, "reasoning_effort=none", ""},
		"effort, elsewhere":       {ours, "reasoning_effort=low", "reasoning_effort is a setting of openai/ models: for anthropic/m there is thinking"},
		"adaptive, elsewhere":     {theirs, "thinking=adaptive", ""},
		"a budget, elsewhere":     {theirs, "thinking=2048", "thinking is a setting of anthropic/ models: for openai/m there is reasoning_effort"},
		"disabled, elsewhere":     {theirs, "thinking=disabled", "thinking is a setting of anthropic/ models: for openai/m there is reasoning_effort"},
		"the least budget":        {ours, "thinking=1024", ""},
		"less":                    {ours, "thinking=1023", "thinking must be a budget of at least 1024 tokens for anthropic/m, not 1023"},
		"the most":                {ours, "thinking=15999", ""},
		"as much as the reply":    {ours, "thinking=16000", "thinking must be a budget less than max_tokens, which is 16000, not 16000"},
		"a longer reply":          {ours, "thinking=16000 max_tokens=20000", ""},
		"a shorter reply":         {ours, "max_tokens=2000 thinking=2000", "thinking must be a budget less than max_tokens, which is 2000, not 2000"},
		"budget and temperature":  {ours, "thinking=2048 temperature=0.5", "temperature must be 1, or left out, while anthropic/m thinks, not 0.5"},
		"adaptive, temperature":   {ours, "temperature=0 thinking=adaptive", "temperature must be 1, or left out, while anthropic/m thinks, not 0"},
		"a temperature of 1":      {ours, "thinking=adaptive temperature=1", ""},
		"disabled, a temperature": {ours, "thinking=disabled temperature=0.5", ""},
		"of a script":             {"script:x", "temperature=2 thinking=1", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p model.Params
			for setting := range strings.FieldsSeq(c.settings) {
				key, value, _ := strings.Cut(setting, "=")
				require.NoError(t, p.Set(key, value))
			}
			if err := p.Check(c.name); c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
			}
		})
	}
}
