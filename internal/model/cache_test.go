package model_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
)

func TestBlockCacheMarkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		block model.Block
		want  string
	}{
		"text":        {model.Text("hi"), `{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}`},
		"image":       {model.Image("image/png", "aGk="), `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="},"cache_control":{"type":"ephemeral"}}`},
		"tool_use":    {model.ToolUse("a", "b", nil), `{"type":"tool_use","id":"a","name":"b","input":{},"cache_control":{"type":"ephemeral"}}`},
		"tool_result": {model.ToolResult("a", true), `{"type":"tool_result","tool_use_id":"a","is_error":true,"cache_control":{"type":"ephemeral"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NotContains(t, modeltest.MustMarshalJSON(t, c.block), "cache_control")
			c.block.Cache = true
			require.Equal(t, c.want, modeltest.MustMarshalJSON(t, c.block))
			var again model.Block
			require.NoError(t, json.Unmarshal([]byte(c.want), &again))
			require.True(t, again.Cache)
			require.Equal(t, c.want, modeltest.MustMarshalJSON(t, again))
		})
	}
}

// The API accepts no cache marker on a thinking block, so Encode puts none there.
func TestThinkingBlocksGetNoCacheMarker(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{model.BlockThinking, model.BlockRedactedThinking} {
		require.NotContains(t, modeltest.MustMarshalJSON(t, model.Block{Type: kind, Cache: true}), "cache_control")
	}
}

func TestToolCacheMarkers(t *testing.T) {
	t.Parallel()
	tool := model.Tool{Name: "n", Description: "d", InputSchema: json.RawMessage(`{"type":"object"}`)}
	require.Equal(t, `{"name":"n","description":"d","input_schema":{"type":"object"}}`, modeltest.MustMarshalJSON(t, tool))
	tool.Cache = true
	want := `{"name":"n","description":"d","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}`
	require.Equal(t, want, modeltest.MustMarshalJSON(t, tool))
	var again model.Tool
	require.NoError(t, json.Unmarshal([]byte(want), &again))
	require.Equal(t, tool, again)
}
