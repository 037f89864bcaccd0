package model_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
)

// A message that is decoded and encoded again keeps its bytes.
func TestMessageJSONRoundTripKeepsBytes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"role":"user","content":[{"type":"text","text":"hi"}]}`,
		`{"role":"user","content":[]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"tool_use","id":"a","name":"b","input":{"b":[1.0,{}],"a":null}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}`,
		`{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":5,"source":"x","is_error":[]}]}`,
		`{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"n","input":{},"caller":{"type":"direct"}}]}`,
	} {
		var m model.Message
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		require.Equal(t, text, modeltest.MustMarshalJSON(t, m))
	}
}

func TestStringContentBecomesTextBlock(t *testing.T) {
	t.Parallel()
	var m model.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":"hi"}`), &m))
	require.Equal(t, modeltest.UserTextMessage("hi"), m)
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"hi"}]}`), &m))
	require.Equal(t, modeltest.UserMessage(modeltest.ToolResultBlock("a", "hi")), m)
}

func TestMalformedMessageBlocksAreErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"type":"text","text":5}]`:    "cannot unmarshal",
		`[{"text":"x"}]`:                "a block has no type",
		`[{"type":5}]`:                  "cannot unmarshal",
		`[{"text":5,"type":"text"}]`:    "cannot unmarshal",
		`[{"type":"image","source":5}]`: "cannot unmarshal",
		`5`:                             "cannot unmarshal",
	} {
		var m model.Message
		require.ErrorContains(t, json.Unmarshal([]byte(`{"role":"user","content":`+text+`}`), &m), want, text)
	}
}

func FuzzMessageJSON(f *testing.F) {
	f.Add([]byte(`{"role":"user","content":"hi"}`))
	f.Add([]byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{}}]}]}`))
	f.Add([]byte(`{"role":"x","content":[{"type":"other","a":{"b":[]}},{"type":"tool_use","input":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m, again model.Message
		if json.Unmarshal(data, &m) != nil {
			return
		}
		first := modeltest.MustMarshalJSON(t, m)
		require.NoError(t, json.Unmarshal([]byte(first), &again))
		require.Equal(t, first, modeltest.MustMarshalJSON(t, again))
	})
}
