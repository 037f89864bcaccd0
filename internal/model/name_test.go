package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
)

func TestCheckAndResolveModelName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"script:a.jsonl":     "script:/cases/a.jsonl",
		"replay:b/a.jsonl":   "replay:/cases/b/a.jsonl",
		"script:/b/a.jsonl":  "script:/b/a.jsonl",
		"anthropic/claude-x": "anthropic/claude-x",
	} {
		require.NoError(t, model.CheckName(name))
		require.Equal(t, want, model.ResolveFileInName(name, "/cases"))
		require.Equal(t, name, model.ResolveFileInName(name, ""))
	}
	require.ErrorContains(t, model.CheckName("gpt"), "unknown model")
	require.Equal(t, "gpt", model.ResolveFileInName("gpt", "/cases"))
}
