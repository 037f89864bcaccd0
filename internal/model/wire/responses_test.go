package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
	"assay/internal/model/wire"
)

// responsesEvents returns a stream of the Responses API with these data.
func responsesEvents(data ...string) string { return messageEvents(data...) }

// The reader reads the streams of OpenAI's Responses and of servers that leave out some of
// their events.
func TestResponsesStreams(t *testing.T) {
	t.Parallel()
	const (
		created   = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[],"usage":null,"error":null},"sequence_number":0}`
		added     = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","role":"assistant","content":[]}}`
		part      = `{"type":"response.content_part.added","output_index":0,"content_index":0,"part":{"type":"output_text","text":""}}`
		hel       = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hel"}`
		lo        = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"lö"}`
		message   = `{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"Hellö","annotations":[]}]}`
		done      = `{"type":"response.output_item.done","output_index":0,"item":` + message + `}`
		call      = `{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
		callAdded = `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc","call_id":"a","name":"f","arguments":""}}`
		usage     = `{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":17}`
	)
	completed := func(output string) string {
		return `{"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"incomplete_details":null,"output":[` + output + `],"usage":` + usage + `}}`
	}
	text, toolUse := model.Text("Hellö"), model.ToolUse("a", "f", []byte(`{"x":1}`))
	counts := model.Usage{InputTokens: 5, OutputTokens: 7, CacheReadInputTokens: 4, CacheCreationInputTokens: 1}
	reply := func(stop model.StopReason, u model.Usage, content ...model.Block) *model.Response {
		return &model.Response{Content: content, StopReason: stop, Usage: u}
	}
	for name, c := range map[string]struct {
		body string
		want wire.Reply
	}{
		"text":                    {responsesEvents(created, added, part, hel, lo, done, completed(message)), wire.Reply{Response: reply("end_turn", counts, text), IsComplete: true}},
		"no output at the end":    {responsesEvents(created, added, hel, lo, done, completed("")), wire.Reply{Response: reply("end_turn", counts, text), IsComplete: true}},
		"nothing but deltas":      {responsesEvents(added, hel, lo, completed("")), wire.Reply{Response: reply("end_turn", counts, text), IsComplete: true}},
		"nothing but the end":     {responsesEvents(completed(message + "," + call)), wire.Reply{Response: reply("tool_use", counts, text, toolUse), IsComplete: true}},
		"ends as a chat":          {responsesEvents(completed(message)) + "data: [DONE]\n\n", wire.Reply{Response: reply("end_turn", counts, text), IsComplete: true}},
		"no end":                  {responsesEvents(created, added, part, hel), wire.Reply{Response: reply("", model.Usage{}, model.Text("Hel"))}},
		"cut in a call":           {responsesEvents(added, hel, lo, callAdded, `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x"}`), wire.Reply{Response: reply("", model.Usage{}, text, model.ToolUse("a", "f", []byte(`{"invalid_json":"{\"x"}`)))}},
		"items out of order":      {responsesEvents(callAdded, `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"x\":1}"}`, added, hel, lo, completed("")), wire.Reply{Response: reply("tool_use", counts, text, toolUse), IsComplete: true}},
		"incomplete":              {responsesEvents(added, hel, strings.Replace(strings.Replace(completed(""), "response.completed", "response.incomplete", 1), `"completed","error":null,"incomplete_details":null`, `"incomplete","incomplete_details":{"reason":"max_output_tokens"}`, 1)), wire.Reply{Response: reply("max_tokens", counts, model.Text("Hel")), IsComplete: true}},
		"filtered":                {`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, wire.Reply{Response: reply("refusal", model.Usage{}), IsComplete: true}},
		"refused":                 {responsesEvents(added, `{"type":"response.refusal.delta","output_index":0,"delta":"No"}`, completed(`{"type":"message","content":[{"type":"refusal","refusal":"No"}]}`)), wire.Reply{Response: reply("refusal", counts, model.Text("No")), IsComplete: true}},
		"reasoning":               {responsesEvents(`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning"}}`, `{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"a"}`, `{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`, `{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"b"}`), wire.Reply{Response: reply("", model.Usage{}, model.Block{Type: "thinking", Thinking: "a\n\nb"})}},
		"whole reasoning":         {`{"status":"completed","output":[{"type":"reasoning","summary":[{"text":"a"},{"text":"b"}],"encrypted_content":"gAAA"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"c"}]},` + message + `]}`, wire.Reply{Response: reply("end_turn", model.Usage{}, model.Block{Type: "thinking", Thinking: "a\n\nb"}, model.Block{Type: "thinking", Thinking: "c"}, text), IsComplete: true}},
		"failed":                  {responsesEvents(added, hel, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow"},"output":[],"usage":`+usage+`}}`), wire.Reply{Response: reply("", counts, model.Text("Hel")), Error: &model.APIError{Provider: "openai", Status: 429, Type: "rate_limit_exceeded", Message: "Slow"}, IsComplete: true}},
		"error":                   {responsesEvents(`{"type":"error","code":"server_error","message":"Oh","param":null,"sequence_number":1}`), wire.Reply{Error: &model.APIError{Provider: "openai", Status: 500, Type: "server_error", Message: "Oh"}}},
		"error in an object":      {responsesEvents(`{"type":"error","sequence_number":1,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Long"}}`), wire.Reply{Error: &model.APIError{Provider: "openai", Status: 400, Type: "context_length_exceeded", Message: "Long"}}},
		"whole error":             {`{"error":{"message":"No","type":"invalid_request_error"}}`, wire.Reply{Error: &model.APIError{Provider: "openai", Status: 400, Type: "invalid_request_error", Message: "No"}, IsComplete: true}},
		"an end of nothing":       {responsesEvents(added, hel, `{"type":"response.output_item.added","output_index":2}`, `{"type":"response.output_item.done","output_index":3}`, `{"type":"response.completed"}`), wire.Reply{Response: reply("", model.Usage{}, model.Text("Hel")), IsComplete: true}},
		"queued":                  {`{"id":"resp_1","status":"queued","output":[]}`, wire.Reply{IsComplete: true}},
		"unknown events":          {responsesEvents(`{"type":"response.novelty.delta","output_index":{},"delta":[1]}`, added, `{"type":"response.output_text.delta","output_index":7,"delta":"x"}`, hel, `{"type":"response.output_text.delta","output_index":0,"delta":5}`, lo, completed("")), wire.Reply{Response: reply("end_turn", counts, text), IsComplete: true}},
		"usage that is no number": {`{"status":"completed","output":[` + message + `],"usage":{"input_tokens":1e99,"output_tokens":-3,"input_tokens_details":{"cached_tokens":"x"}}}`, wire.Reply{Response: reply("end_turn", model.Usage{InputTokens: 1 << 40}, text), IsComplete: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want.Response != nil && c.want.Response.Content == nil {
				c.want.Response.Content = []model.Block{}
			}
			requireSameReply(t, c.want, readBody(wire.Responses, c.body), name)
			if !strings.HasPrefix(c.body, "{") {
				requireReadsVariants(t, wire.Responses, c.body, c.want)
			}
		})
	}
	got := readBody(wire.Responses, `{"status":"completed","output":[{"type":"web_search_call","id":"ws","action":{"q":1}},{"x":1}]}`)
	require.JSONEq(t, `[{"type":"web_search_call","id":"ws","action":{"q":1}}]`, modeltest.MustMarshalJSON(t, got.Response.Content))
	require.ErrorIs(t, readBody(wire.Responses, responsesEvents(created, `{"type":`)).Err, model.ErrCutStream)
}

// Reasoning that OpenAI has encrypted is no signature for another model: a reply that passes
// through a proxy has none, and a request that brings it back has no thinking.
func TestReasoningOfOpenAIIsNoSignature(t *testing.T) {
	t.Parallel()
	const item = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"}`
	passed := readBody(wire.Responses, `{"status":"completed","output":[`+item+`]}`)
	require.Equal(t, []model.Block{{Type: "thinking", Thinking: "hm"}}, passed.Response.Content)

	reply := wire.NewResponsesReply(nil)
	require.NoError(t, reply.AddWhole([]byte(`{"status":"completed","output":[`+item+`]}`)))
	signature := reply.Response().Content[0].Signature
	id, encrypted, ok := wire.ReasoningOfSignature(signature)
	require.True(t, ok)
	require.Equal(t, []string{"rs_1", "gAAA"}, []string{id, encrypted})

	for sent, want := range map[string]int{"gAAA": 0, "thinking:" + signature: 0, "thinking:c2ln": 1} {
		request, err := wire.DecodeRequest(wire.Responses, []byte(`{"model":"m","input":[{"role":"user","content":"a"},`+strings.Replace(item, "gAAA", sent, 1)+`,{"role":"assistant","content":"b"}]}`))
		require.NoError(t, err)
		require.Len(t, request.Messages[1].Content, 1+want, sent)
	}
}
