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

// A reply that the client reads from the mock server equals the reply that the script
// gives without a server, streamed or not.
func TestReplyEqualsScript(t *testing.T) {
	t.Parallel()
	lines := scriptedReplies()
	lines["thinking"] = `{"content":[{"type":"thinking","thinking":"hm, 数","signature":""},{"type":"text","text":"ok"}]}`
	requireRepliesEqualScript(t, modeltest.OpenAIClientOfHandler, lines)
}

// scriptedReplies returns lines of scripts whose replies both APIs have.
func scriptedReplies() map[string]string {
	return map[string]string{
		"text in many alphabets": `{"content":"naïve café, 数据分析, Ω≈ç√, 🧪🔬 and more 🧪"}`,
		"blocks":                 `{"content":[{"type":"text","text":"Let me look: <a> & \"b\""},{"type":"tool_use","name":"get_context","input":{}},{"type":"tool_use","id":"mine","name":"create_cell","input":{"source":"print('é🧪')\n","position":0}}]}`,
		"usage":                  `{"content":"a","usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11}}`,
		"refusal":                `{"content":"a","stop_reason":"refusal"}`,
		"unknown stop reason":    `{"content":"a","stop_reason":"bored"}`,
		"nothing":                `{"content":[]}`,
		"a cut call":             `{"content":[{"type":"text","text":"é"},{"type":"tool_use","name":"create_cell","input":{"source":"print(12345678)"}}],"stop_reason":"max_tokens"}`,
	}
}

// requireRepliesEqualScript requires that a client gets from the mock server, streamed and whole, what each line of a
// script gives without a server.
func requireRepliesEqualScript(t *testing.T, newClient func(*testing.T, http.Handler) model.Client, lines map[string]string) {
	t.Helper()
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := modeltest.Ask(t.Context(), modeltest.ParseScript(t, line).Client(), modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			for name, handler := range map[string]http.Handler{
				"streamed": mockapi.New(modeltest.ParseScript(t, line), nil),
				"whole":    unstreamedHandler{mockapi.New(modeltest.ParseScript(t, line), nil)},
			} {
				got, err := modeltest.Ask(t.Context(), newClient(t, handler), modeltest.UserTextMessage("go"))
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
	body = bytes.Replace(body, []byte(`,"stream_options":{"include_usage":true}`), nil, 1)
	body = bytes.Replace(body, []byte(`"stream":true`), []byte(`"stream":false`), 1)
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
	for name, c := range modeltest.ChatStreams() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, newOKHandler("text/event-stream", c.Body)), modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			require.Equal(t, c.Reply, modeltest.MustMarshalJSON(t, reply))
		})
	}
}

func TestFinishReasons(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]model.StopReason{
		"stop": model.StopEndTurn, "tool_calls": model.StopToolUse, "function_call": model.StopToolUse,
		"length": model.StopMaxTokens, "content_filter": model.StopRefusal, "eos": "eos",
	} {
		reply, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, newOKHandler("text/event-stream", modeltest.EventStreamBody(modeltest.ChunkWithFinishReason(reason)))), modeltest.UserTextMessage("go"))
		require.NoError(t, err)
		require.Equal(t, want, reply.StopReason, reason)
	}
}

// A tool call whose id is missing, too long or already used gets an id that nothing in
// the conversation has.
func TestCallIDsAreUnique(t *testing.T) {
	t.Parallel()
	body := modeltest.EventStreamBody(modeltest.ChunkWithDelta(`{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"f","arguments":"{}"}},{"index":1,"function":{"name":"f"}},{"index":2,"id":"`+strings.Repeat("x", 500)+`","function":{"name":"f"}}]}`), modeltest.ChunkWithFinishReason("tool_calls"))
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
	f.Add([]byte(modeltest.EventStreamBody(modeltest.ChunkWithDelta(`{"content":"a"}`), modeltest.ChunkWithFinishReason("stop"))))
	f.Add([]byte(modeltest.EventStreamBody(modeltest.ChunkWithDelta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), modeltest.ChunkWithFinishReason("tool_calls"))))
	f.Add([]byte(modeltest.EventStreamBody(modeltest.ChunkWithDelta(`{"tool_calls":[{"index":-1,"function":{}},{"id":"a"},{}]}`), modeltest.ChunkWithFinishReason("length"))))
	f.Add([]byte(modeltest.EventStreamBody(`{"error":{"code":1e9}}`)))
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
