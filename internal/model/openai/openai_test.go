package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// newOKHandler returns an HTTP handler that answers each request with status 200 and this
// body.
func newOKHandler(kind, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	})
}

// newEventStreamBody returns the body of an event stream with these data lines and [DONE] at
// its end.
func newEventStreamBody(data ...string) string {
	var all strings.Builder
	for _, d := range data {
		all.WriteString("data: " + d + "\n\n")
	}
	return all.String() + "data: [DONE]\n\n"
}

// chunkWithDelta returns the JSON of a chat completion chunk with this delta.
func chunkWithDelta(delta string) string { return `{"choices":[{"index":0,"delta":` + delta + `}]}` }

// chunkWithFinishReason returns the JSON of the chat completion chunk that ends a reply
// with this finish_reason.
func chunkWithFinishReason(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// A reply that the client reads from the mock server equals the reply that the script
// gives without a server, streamed or not.
func TestReplyEqualsScript(t *testing.T) {
	t.Parallel()
	lines := map[string]string{
		"text in many alphabets": `{"content":"naïve café, 数据分析, Ω≈ç√, 🧪🔬 and more 🧪"}`,
		"blocks":                 `{"content":[{"type":"text","text":"Let me look: <a> & \"b\""},{"type":"tool_use","name":"get_context","input":{}},{"type":"tool_use","id":"mine","name":"create_cell","input":{"source":"print('é🧪')\n","position":0}}]}`,
		"thinking":               `{"content":[{"type":"thinking","thinking":"hm, 数","signature":""},{"type":"text","text":"ok"}]}`,
		"usage":                  `{"content":"a","usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11}}`,
		"refusal":                `{"content":"a","stop_reason":"refusal"}`,
		"unknown stop reason":    `{"content":"a","stop_reason":"bored"}`,
		"nothing":                `{"content":[]}`,
		"a cut call":             `{"content":[{"type":"text","text":"é"},{"type":"tool_use","name":"create_cell","input":{"source":"print(12345678)"}}],"stop_reason":"max_tokens"}`,
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := modeltest.Ask(t.Context(), modeltest.ParseScript(t, line).Client(), modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			for name, handler := range map[string]http.Handler{
				"streamed": mockapi.New(modeltest.ParseScript(t, line), nil),
				"whole":    unstreamedHandler{mockapi.New(modeltest.ParseScript(t, line), nil)},
			} {
				got, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, handler), modeltest.UserTextMessage("go"))
				require.NoError(t, err, name)
				require.Equal(t, modeltest.MustMarshalJSON(t, want), modeltest.MustMarshalJSON(t, got), name)
			}
		})
	}
}

// unstreamedHandler is an HTTP handler that sets "stream" to false in requests before
// it calls another handler, so that the other one answers like a server that cannot
// stream.
type unstreamedHandler struct{ http.Handler }

func (u unstreamedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	body = bytes.Replace(body, []byte(`"stream":true,"stream_options":{"include_usage":true}`), []byte(`"stream":false`), 1)
	r.Body = io.NopCloser(bytes.NewReader(body))
	u.Handler.ServeHTTP(w, r)
}

func TestDeltasAddUpToTheReply(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"thinking","thinking":"数据","signature":""},{"type":"text","text":"分析 and some more text"},{"type":"tool_use","id":"a","name":"run_cell","input":{"cell_id":"é1"}},{"type":"tool_use","id":"b","name":"x","input":{}}]}`
	client := modeltest.OpenAIClientOfHandler(t, mockapi.New(modeltest.ParseScript(t, line), nil))
	var texts [4]string
	var seen strings.Builder
	reply, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(d model.Delta) {
		switch d.Kind {
		case model.DeltaStart:
			fmt.Fprintf(&seen, "start %d %s %s %s;", d.Index, d.Type, d.ID, d.Name)
		case model.DeltaText:
			texts[d.Index] += d.Text
		case model.DeltaStop:
			fmt.Fprintf(&seen, "stop %d %s;", d.Index, d.Type)
		}
	})
	require.NoError(t, err)
	require.Equal(t, reply.Content[0].Thinking, texts[0])
	require.Empty(t, reply.Content[0].Signature)
	require.Equal(t, reply.Content[1].Text, texts[1])
	require.JSONEq(t, string(reply.Content[2].Input), texts[2])
	require.JSONEq(t, `{}`, texts[3])
	require.Equal(t, "start 0 thinking  ;start 1 text  ;start 2 tool_use a run_cell;start 3 tool_use b x;"+
		"stop 0 thinking;stop 1 text;stop 2 tool_use;stop 3 tool_use;", seen.String())
}

// Compatible servers differ in many ways from OpenAI's: the client reads all of these
// streams.
func TestStreamsOfCompatibleServers(t *testing.T) {
	t.Parallel()
	text := []string{chunkWithDelta(`{"role":"assistant","content":"Hel"}`), chunkWithDelta(`{"content":"lo"}`), chunkWithFinishReason("stop")}
	hello := `{"content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`
	calls := func(stop string, blocks ...string) string {
		return `{"content":[` + strings.Join(blocks, ",") + `],"stop_reason":"` + stop + `","usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`
	}
	use := func(id, name, input string) string {
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
	}
	tool := func(call string) string { return chunkWithDelta(`{"tool_calls":[` + call + `]}`) }
	cases := map[string]struct{ body, want string }{
		"plain":                        {newEventStreamBody(text...), hello},
		"without [DONE]":               {strings.TrimSuffix(newEventStreamBody(text...), "data: [DONE]\n\n"), hello},
		"more after [DONE]":            {newEventStreamBody(text...) + "data: {broken\n\n", hello},
		"CRLF":                         {strings.ReplaceAll(newEventStreamBody(text...), "\n", "\r\n"), hello},
		"no space behind the colon":    {strings.ReplaceAll(newEventStreamBody(text...), "data: ", "data:"), hello},
		"one line break":               {strings.ReplaceAll(newEventStreamBody(text...), "\n\n", "\n"), hello},
		"comments and names":           {": OPENROUTER PROCESSING\n\nevent: message\nid: 1\nretry: 5\n" + newEventStreamBody(text...), hello},
		"white space first":            {"\n\n " + newEventStreamBody(text...), hello},
		"empty deltas":                 {newEventStreamBody(chunkWithDelta(`{}`), chunkWithDelta(`{"content":null,"tool_calls":null}`), text[0], chunkWithDelta(`{"content":""}`), text[1], `{"choices":[{"index":0}]}`, text[2]), hello},
		"no choices":                   {newEventStreamBody(`{"choices":[],"prompt_filter_results":[]}`, `{}`, text[0], text[1], text[2]), hello},
		"the first of several":         {newEventStreamBody(text[0], `{"choices":[{"index":1,"delta":{"content":"Bye"},"finish_reason":"length"}]}`, text[1], text[2]), hello},
		"finish with the last text":    {newEventStreamBody(text[0], `{"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"usage":null}`), hello},
		"parts for a text":             {newEventStreamBody(chunkWithDelta(`{"content":[{"type":"text","text":"Hel"},{"type":"text","text":"lo"}]}`), text[2]), hello},
		"whole, of no type":            {`{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}`, hello},
		"refused":                      {newEventStreamBody(chunkWithDelta(`{"refusal":"Hello"}`), text[2]), strings.Replace(hello, "end_turn", "refusal", 1)},
		"usage last":                   {newEventStreamBody(append(text, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}`)...), strings.Replace(hello, `"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0`, `"input_tokens":10,"output_tokens":7,"cache_creation_input_tokens":30,"cache_read_input_tokens":60`, 1)},
		"usage that makes no sense":    {newEventStreamBody(append(text, `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":-7,"prompt_tokens_details":{"cached_tokens":-60}}}`)...), strings.Replace(hello, `"input_tokens":0`, `"input_tokens":1`, 1)},
		"usage all along":              {newEventStreamBody(`{"choices":[{"index":0,"delta":{"content":"Hello"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), strings.Replace(hello, `"input_tokens":0,"output_tokens":0`, `"input_tokens":3,"output_tokens":2`, 1)},
		"reasoning_content":            {newEventStreamBody(chunkWithDelta(`{"reasoning_content":"hm"}`), chunkWithDelta(`{"content":"x"}`), chunkWithFinishReason("stop")), calls("end_turn", `{"type":"thinking","thinking":"hm","signature":""}`, `{"type":"text","text":"x"}`)},
		"reasoning":                    {newEventStreamBody(chunkWithDelta(`{"reasoning":"hm"}`), chunkWithDelta(`{"content":"x"}`), chunkWithFinishReason("stop")), calls("end_turn", `{"type":"thinking","thinking":"hm","signature":""}`, `{"type":"text","text":"x"}`)},
		"reasoning said twice":         {newEventStreamBody(chunkWithDelta(`{"reasoning":"hm","reasoning_content":"hm"}`), chunkWithFinishReason("stop")), calls("end_turn", `{"type":"thinking","thinking":"hm","signature":""}`)},
		"a call in pieces":             {newEventStreamBody(tool(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}`), tool(`{"index":0,"function":{"arguments":"{\"x\":"}}`), tool(`{"index":0,"function":{"arguments":"1}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`))},
		"two, by index":                {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), tool(`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), tool(`{"index":0,"function":{"arguments":":1}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`), use("b", "g", `{}`))},
		"two whole ones":               {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("b", "g", `{}`))},
		"two whole ones, index 0":      {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), tool(`{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("b", "g", `{}`))},
		"no index":                     {newEventStreamBody(tool(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"function":{"arguments":"1}"}}`), tool(`{"id":"b","function":{"name":"g","arguments":"{"}}`), tool(`{"id":"b","function":{"arguments":"}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`), use("b", "g", `{}`))},
		"no ids":                       {newEventStreamBody(tool(`{"index":0,"function":{"name":"f","arguments":"{}"}}`), tool(`{"index":1,"function":{"name":"f","arguments":"{}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("call_1", "f", `{}`), use("call_2", "f", `{}`))},
		"neither index nor ids":        {newEventStreamBody(tool(`{"function":{"name":"f","arguments":"{}"}}`), tool(`{"function":{"name":"f","arguments":"{}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("call_1", "f", `{}`), use("call_2", "f", `{}`))},
		"one id for two":               {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), tool(`{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("call_1", "g", `{}`))},
		"name and id in every piece":   {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`))},
		"the name comes late":          {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"arguments":"{"}}`), tool(`{"index":0,"function":{"name":"f","arguments":"}"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`))},
		"arguments are an object":      {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"x":1}`))},
		"no arguments":                 {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`), tool(`{"index":1,"id":"b","function":{"name":"f"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{}`), use("b", "f", `{}`))},
		"arguments are no object":      {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"[1]"}}`), chunkWithFinishReason("tool_calls")), calls("tool_use", use("a", "f", `{"invalid_json":"[1]"}`))},
		"arguments are cut":            {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), chunkWithFinishReason("length")), calls("max_tokens", use("a", "f", `{"invalid_json":"{\"x\""}`))},
		"a function call of old":       {newEventStreamBody(chunkWithDelta(`{"function_call":{"name":"f","arguments":"{"}}`), chunkWithDelta(`{"function_call":{"arguments":"}"}}`), chunkWithFinishReason("function_call")), calls("tool_use", use("call_1", "f", `{}`))},
		"stop, though there is a call": {newEventStreamBody(tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), chunkWithFinishReason("stop")), calls("end_turn", use("a", "f", `{}`))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, newOKHandler("text/event-stream", c.body)), modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			require.Equal(t, c.want, modeltest.MustMarshalJSON(t, reply))
		})
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]model.StopReason{
		"stop": model.StopEndTurn, "tool_calls": model.StopToolUse, "function_call": model.StopToolUse,
		"length": model.StopMaxTokens, "content_filter": model.StopRefusal, "eos": "eos",
	} {
		reply, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, newOKHandler("text/event-stream", newEventStreamBody(chunkWithFinishReason(reason)))), modeltest.UserTextMessage("go"))
		require.NoError(t, err)
		require.Equal(t, want, reply.StopReason, reason)
	}
}

// A tool call whose id is missing, too long or already used gets an id that nothing in
// the conversation has.
func TestCallIDsAreUnique(t *testing.T) {
	t.Parallel()
	body := newEventStreamBody(chunkWithDelta(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"name":"f"}},{"index":2,"id":"`+strings.Repeat("x", 500)+`","function":{"name":"f"}}]}`), chunkWithFinishReason("tool_calls"))
	reply, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, newOKHandler("text/event-stream", body)),
		modeltest.UserTextMessage("go"), modeltest.AssistantMessage(modeltest.ToolCallBlock("call_0", "f"), modeltest.ToolCallBlock("call_2", "f")), modeltest.UserMessage(modeltest.ToolResultBlock("call_0", "r"), modeltest.ToolResultBlock("call_2", "r")))
	require.NoError(t, err)
	var ids []string
	for _, c := range model.ToolUses(reply.Content) {
		ids = append(ids, c.ID)
	}
	require.Equal(t, []string{"call_1", "call_3", "call_4"}, ids)
}

// For any stream the client returns an error or a reply that can be encoded; it neither
// panics nor hangs.
func FuzzReadStream(f *testing.F) {
	f.Add([]byte(newEventStreamBody(chunkWithDelta(`{"content":"a"}`), chunkWithFinishReason("stop"))))
	f.Add([]byte(newEventStreamBody(chunkWithDelta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), chunkWithFinishReason("tool_calls"))))
	f.Add([]byte(newEventStreamBody(chunkWithDelta(`{"tool_calls":[{"index":-1,"function":{}},{"id":"a"},{}]}`), chunkWithFinishReason("length"))))
	f.Add([]byte(newEventStreamBody(`{"error":{"code":1e9}}`)))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"tool_calls":[{"function":{"name":"f","arguments":[1]}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":-1}}`))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\xff\"}}]}\r\n\r\n: x\r\ndata:[DONE]"))
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := modeltest.Ask(t.Context(), clientOfChunkedServer(t, body), modeltest.UserTextMessage("go"))
		if err != nil {
			require.Contains(t, err.Error(), "openai: ")
			return
		}
		require.NotEmpty(t, reply.StopReason)
		for _, b := range reply.Content {
			if b.Type == model.BlockToolUse {
				require.NotEmpty(t, b.ID)
				require.NoError(t, json.Unmarshal(b.Input, &map[string]any{}))
			}
		}
		_, err = json.Marshal(reply)
		require.NoError(t, err)
	})
}

// clientOfChunkedServer starts a server that answers with this body in small pieces,
// and returns a client that calls it.
func clientOfChunkedServer(t *testing.T, body []byte) model.Client {
	t.Helper()
	return modeltest.OpenAIClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for len(body) > 0 {
			n := min(len(body), 1+len(body)/3)
			_, _ = w.Write(body[:n])
			_ = http.NewResponseController(w).Flush()
			body = body[n:]
		}
	}))
}
