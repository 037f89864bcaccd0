package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/internal/model"
	"assay/internal/model/wire"
)

func newStreamWriter(w http.ResponseWriter, api wire.API) *wire.ReplyWriter {
	return wire.NewReplyWriter(w, api, wire.Envelope{Model: "m", IsStreamed: true, IncludesUsage: true}, "1")
}

// mixedDeltas returns the deltas of a client that does not know where a block ends, and the
// reply: a text that goes on after a call, two calls whose inputs are mixed, a call whose
// name comes late, and redacted thinking.
func mixedDeltas() ([]model.Delta, *model.Response) {
	content := []model.Block{
		{Type: "thinking", Thinking: "hm"},
		model.Text("one two three"), model.ToolUse("a", "f", []byte(`{"x":1}`)),
		model.ToolUse("b", "g", []byte(`{"y":2}`)), model.ToolUse("c", "late", []byte(`{}`)),
		{Type: "redacted_thinking", Data: "eHg="},
	}
	start := func(i int, name string) model.Delta {
		return model.Delta{Kind: model.DeltaStart, Index: i, Type: content[i].Type, ID: content[i].ID, Name: name}
	}
	text := func(i int, text string) model.Delta {
		return model.Delta{Kind: model.DeltaText, Index: i, Type: content[i].Type, Text: text}
	}
	deltas := []model.Delta{
		start(0, ""), text(0, "hm"), start(1, ""), text(1, "one "), start(2, "f"), text(2, `{"x"`), text(1, "two "),
		start(3, "g"), text(3, `{"y":`), text(2, `:1}`), start(4, ""), text(4, "{"), text(3, `2}`), text(1, "three"), text(4, "}"), start(5, ""),
	}
	for i := range content {
		deltas = append(deltas, model.Delta{Kind: model.DeltaStop, Index: i, Type: content[i].Type, Block: &content[i]})
	}
	return deltas, &model.Response{Content: content, StopReason: model.StopToolUse, Usage: model.Usage{OutputTokens: 9}}
}

// Deltas of several blocks may be mixed: the blocks are sent one after the other.
func TestMixedDeltas(t *testing.T) {
	t.Parallel()
	deltas, resp := mixedDeltas()
	for _, withStops := range []bool{true, false} {
		for _, api := range apis() {
			w := httptest.NewRecorder()
			writer := newStreamWriter(w, api)
			for _, d := range deltas {
				if withStops || d.Kind != model.DeltaStop {
					writer.WriteDelta(d)
				}
			}
			require.NoError(t, writer.Finish(resp))
			got := readBody(api, w.Body.String())
			require.True(t, got.IsComplete)
			require.Equal(t, "one two three", model.ReplyText(got.Response.Content), api)
			require.Equal(t, resp.Content[2:5], model.ToolUses(got.Response.Content), api)
			require.Equal(t, api != wire.Chat, strings.Contains(w.Body.String(), "eHg="), api)
			requireBlocksInTurn(t, w.Body.String())
		}
	}
}

// requireBlocksInTurn requires of a stream that a block, or item, ends before the next one
// begins.
func requireBlocksInTurn(t *testing.T, body string) {
	t.Helper()
	open := 0
	for line := range strings.Lines(body) {
		switch strings.TrimSpace(strings.TrimPrefix(line, "event: ")) {
		case "content_block_start", "response.output_item.added":
			open++
		case "content_block_stop", "response.output_item.done":
			open--
		}
		require.True(t, open == 0 || open == 1, body)
	}
	require.Zero(t, open)
}

// Text is sent at once, not when the block or the reply has ended.
func TestDeltasAreSentAtOnce(t *testing.T) {
	t.Parallel()
	for _, api := range apis() {
		w := httptest.NewRecorder()
		writer := newStreamWriter(w, api)
		require.Empty(t, w.Body.String())
		writer.WriteDelta(model.Delta{Kind: model.DeltaStart, Type: "text"})
		writer.WriteDelta(model.Delta{Kind: model.DeltaText, Type: "text", Text: "hello"})
		require.Contains(t, w.Body.String(), `"hello"`)
		require.True(t, w.Flushed)
		require.Equal(t, "text/event-stream; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, http.StatusOK, w.Code)
		got := readBody(api, w.Body.String())
		require.Equal(t, "hello", model.ReplyText(got.Response.Content))
		require.False(t, got.IsComplete)
	}
}

// A chat stream says the usage only if the request asks for it.
func TestUsageOnlyOnRequest(t *testing.T) {
	t.Parallel()
	for _, includes := range []bool{true, false} {
		w := httptest.NewRecorder()
		writer := wire.NewReplyWriter(w, wire.Chat, wire.Envelope{Model: "m", IsStreamed: true, IncludesUsage: includes}, "1")
		require.NoError(t, writer.Finish(&model.Response{StopReason: model.StopEndTurn, Usage: model.Usage{InputTokens: 3}}))
		require.Equal(t, includes, strings.Contains(w.Body.String(), "usage"))
	}
}

// An error before the first byte is an error response, and otherwise an event; a reader
// finds the same error in both.
func TestFail(t *testing.T) {
	t.Parallel()
	for _, api := range apis() {
		refusal := &model.APIError{Provider: api.Provider(), Status: 429, Type: "rate_limit_error", Message: "slow", RetryAfter: 1500 * time.Millisecond}
		for _, isStreamed := range []bool{true, false} {
			w := httptest.NewRecorder()
			writer := wire.NewReplyWriter(w, api, wire.Envelope{Model: "m", IsStreamed: isStreamed}, "1")
			writer.Fail(refusal)
			require.Equal(t, http.StatusTooManyRequests, w.Code)
			require.Equal(t, "1.5", w.Header().Get("Retry-After"))
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			got := readResponse(api, w.Code, w.Body.String())
			require.Equal(t, &model.APIError{Provider: api.Provider(), Status: 429, Type: "rate_limit_error", Message: "slow"}, got.Error)
		}
		w := httptest.NewRecorder()
		writer := newStreamWriter(w, api)
		model.EmitBlockDeltas(writer.WriteDelta, 0, model.Text("some"))
		writer.Fail(refusal)
		sent := w.Body.String()
		writer.Fail(refusal)
		require.NoError(t, writer.Finish(&model.Response{}))
		require.Equal(t, sent, w.Body.String(), "something came after the error")
		got := readBody(api, sent)
		require.Equal(t, &model.APIError{Provider: api.Provider(), Status: 429, Type: "rate_limit_error", Message: "slow"}, got.Error)
		require.Equal(t, "some", model.ReplyText(got.Response.Content))
	}
}

// An error of another vendor's API gets the type by which a client knows it.
func TestFailTranslates(t *testing.T) {
	t.Parallel()
	tooLong := &model.APIError{Provider: "anthropic", Status: 400, Type: "invalid_request_error", Message: "prompt is too long: 9 > 8"}
	alsoTooLong := &model.APIError{Provider: "openai", Status: 400, Type: "context_length_exceeded", Message: "maximum context length is 8"}
	noQuota := &model.APIError{Provider: "openai", Status: 429, Type: "insufficient_quota", Message: "no money"}
	unreachable := &model.APIError{Provider: "openai", Status: 0, Type: "", Message: "gone"}
	for _, c := range []struct {
		api    wire.API
		err    *model.APIError
		status int
		body   string
	}{
		{wire.Chat, tooLong, 400, `{"error":{"message":"prompt is too long: 9 > 8","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`},
		{wire.Responses, tooLong, 400, `{"error":{"message":"prompt is too long: 9 > 8","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}`},
		{wire.Messages, alsoTooLong, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: maximum context length is 8"}}`},
		{wire.Messages, tooLong, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}`},
		{wire.Messages, noQuota, 429, `{"type":"error","error":{"type":"rate_limit_error","message":"no money"}}`},
		{wire.Chat, noQuota, 429, `{"error":{"message":"no money","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`},
		{wire.Chat, &model.APIError{Provider: "anthropic", Status: 529, Type: "overloaded_error", Message: "x"}, 529, `{"error":{"message":"x","type":"overloaded_error","param":null,"code":null}}`},
		{wire.Messages, unreachable, 502, `{"type":"error","error":{"type":"api_error","message":"gone"}}`},
	} {
		w := httptest.NewRecorder()
		wire.NewReplyWriter(w, c.api, wire.Envelope{Model: "m"}, "1").Fail(c.err)
		require.Equal(t, c.status, w.Code)
		require.JSONEq(t, c.body, w.Body.String())
	}
}

// brokenWriter is a response writer whose client has gone.
type brokenWriter struct{ *httptest.ResponseRecorder }

var errGone = errors.New("gone")

func (brokenWriter) Write([]byte) (int, error) { return 0, errGone }

func TestFinishReportsLostClient(t *testing.T) {
	t.Parallel()
	for _, api := range apis() {
		for _, isStreamed := range []bool{true, false} {
			writer := wire.NewReplyWriter(brokenWriter{httptest.NewRecorder()}, api, wire.Envelope{IsStreamed: isStreamed}, "1")
			model.EmitBlockDeltas(writer.WriteDelta, 0, model.Text("x"))
			require.ErrorIs(t, writer.Finish(&model.Response{Content: []model.Block{model.Text("x")}}), errGone)
		}
	}
}

// A reply that cannot be encoded can still be reported.
func TestMalformedToolInput(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	writer := wire.NewReplyWriter(w, wire.Messages, wire.Envelope{}, "1")
	require.ErrorContains(t, writer.Finish(&model.Response{Content: []model.Block{model.ToolUse("a", "f", []byte(`{`))}}), "write the reply")
	writer.Fail(&model.APIError{Provider: "anthropic", Status: 500, Type: "api_error", Message: "x"})
	require.Equal(t, http.StatusInternalServerError, w.Code)
}

// The events of a streamed response are those of OpenAI, in its order.
func TestResponsesEvents(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	writer := newStreamWriter(w, wire.Responses)
	var patch model.Block
	require.NoError(t, json.Unmarshal([]byte(`{"type":"custom_tool_call","id":"ctc","status":"completed","call_id":"c","name":"apply_patch","input":"*** Begin"}`), &patch))
	resp := &model.Response{
		Content:    []model.Block{{Type: "thinking", Thinking: "hm", Signature: "c2ln"}, model.Text("hi"), model.ToolUse("a", "f", []byte(`{"x":1}`)), patch},
		StopReason: model.StopToolUse, Usage: model.Usage{InputTokens: 2, CacheReadInputTokens: 3, OutputTokens: 4},
	}
	require.NoError(t, writer.Finish(resp))
	var names []string
	for line := range strings.Lines(w.Body.String()) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(strings.TrimPrefix(name, "response.")))
		}
	}
	require.Equal(t, []string{
		"created", "in_progress",
		"output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
		"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done",
		"output_item.added", "custom_tool_call_input.delta", "custom_tool_call_input.done", "output_item.done",
		"completed",
	}, names)
	require.Contains(t, w.Body.String(), `"item":{"call_id":"c","id":"ctc","input":"","name":"apply_patch","status":"in_progress","type":"custom_tool_call"}`)
	require.Contains(t, w.Body.String(), `"item":{"call_id":"c","id":"ctc","input":"*** Begin","name":"apply_patch","status":"completed","type":"custom_tool_call"}`)
	require.Contains(t, w.Body.String(), `"encrypted_content":"thinking:c2ln"`)
	require.Contains(t, w.Body.String(), `"usage":{"input_tokens":5,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":3},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":9}`)
}

func TestErrorBody(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`, string(wire.ErrorBody(wire.Messages, 429, "", "x")))
	require.JSONEq(t, `{"error":{"message":"x","type":"budget","param":null,"code":null}}`, string(wire.ErrorBody(wire.Chat, 402, "budget", "x")))
	require.JSONEq(t, string(wire.ErrorBody(wire.Chat, 404, "", "x")), string(wire.ErrorBody(wire.Responses, 404, "", "x")))
	w := httptest.NewRecorder()
	w.Header().Set("Retry-After", "7")
	wire.WriteError(w, wire.Responses, http.StatusTooManyRequests, "", "x")
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "7", w.Header().Get("Retry-After"))
}

func TestWriteModelList(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		"anthropic": `{"data":[{"id":"a","type":"model","display_name":"a","created_at":"1970-01-01T00:00:00Z"},{"id":"b","type":"model","display_name":"b","created_at":"1970-01-01T00:00:00Z"}],"first_id":"a","has_more":false,"last_id":"b"}`,
		"openai":    `{"object":"list","data":[{"id":"a","object":"model","created":0,"owned_by":"assay"},{"id":"b","object":"model","created":0,"owned_by":"assay"}]}`,
	} {
		w := httptest.NewRecorder()
		wire.WriteModelList(w, provider, []string{"a", "b"})
		require.JSONEq(t, want, w.Body.String())
	}
	w := httptest.NewRecorder()
	wire.WriteModelList(w, "anthropic", nil)
	require.JSONEq(t, `{"data":[],"first_id":null,"has_more":false,"last_id":null}`, w.Body.String())
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
}

// In whatever order the pieces of a text, of thinking and of tool calls come, all of them
// arrive, and the blocks come one after the other.
func TestDeltasInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.Permutation([]string{"text", "thinking", "tool_use", "tool_use", "tool_use"}).Draw(rt, "kinds")
		var content []model.Block
		texts := make([][]rune, len(kinds)) // what has not come yet
		for i, kind := range kinds {
			text := rapid.StringMatching(`[a-zé🧪]{0,12}`).Draw(rt, "text")
			b := map[string]model.Block{
				"text": model.Text(text), "thinking": {Type: "thinking", Thinking: text},
				"tool_use": model.ToolUse(string(rune('a'+i)), "f", []byte(`{"x":"`+text+`"}`)),
			}[kind]
			content = append(content, b)
			texts[i] = []rune(b.Text + b.Thinking + string(b.Input))
		}
		w := httptest.NewRecorder()
		api := rapid.SampledFrom(apis()).Draw(rt, "api")
		writer := newStreamWriter(w, api)
		for started := 0; started < len(kinds) || slices.ContainsFunc(texts, func(r []rune) bool { return len(r) > 0 }); {
			if i := started; i < len(kinds) && rapid.Bool().Draw(rt, "start") {
				writer.WriteDelta(model.Delta{Kind: model.DeltaStart, Index: i, Type: kinds[i], ID: content[i].ID, Name: content[i].Name})
				started++
			}
			if started == 0 {
				continue
			}
			i := rapid.IntRange(0, started-1).Draw(rt, "block")
			n := rapid.IntRange(0, len(texts[i])).Draw(rt, "piece")
			writer.WriteDelta(model.Delta{Kind: model.DeltaText, Index: i, Type: kinds[i], Text: string(texts[i][:n])})
			texts[i] = texts[i][n:]
		}
		for i, b := range content {
			if rapid.Bool().Draw(rt, "stop") {
				writer.WriteDelta(model.Delta{Kind: model.DeltaStop, Index: i, Type: b.Type, Block: &b})
			}
		}
		require.NoError(rt, writer.Finish(&model.Response{Content: content, StopReason: model.StopToolUse}))
		got := readBody(api, w.Body.String())
		require.True(rt, got.IsComplete)
		var text, thinking string
		for _, b := range got.Response.Content {
			text, thinking = text+b.Text, thinking+b.Thinking
		}
		for _, b := range content {
			text, thinking = strings.TrimPrefix(text, b.Text), strings.TrimPrefix(thinking, b.Thinking)
		}
		require.Empty(rt, text+thinking)
		require.Equal(rt, model.ToolUses(content), model.ToolUses(got.Response.Content))
	})
}
