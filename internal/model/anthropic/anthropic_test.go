package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
)

// A reply that the client reads from the mock server's stream equals the reply that the
// same script gives without a server.
func TestStreamedReplyEqualsScript(t *testing.T) {
	t.Parallel()
	lines := map[string]string{
		"text in many alphabets": `{"content":"naïve café, 数据分析, Ω≈ç√, 🧪🔬 and more 🧪"}`,
		"blocks":                 `{"content":[{"type":"text","text":"Let me look: <a> & \"b\""},{"type":"tool_use","name":"get_context","input":{}},{"type":"tool_use","id":"mine","name":"create_cell","input":{"source":"print('é')\n","position":0}}]}`,
		"thinking":               `{"content":[{"type":"thinking","thinking":"hm, 数","signature":"c2ln"},{"type":"redacted_thinking","data":"eHg="},{"type":"text","text":"ok"}]}`,
		"hidden thinking":        `{"content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"text","text":"ok"}]}`,
		"usage":                  `{"content":"a","usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11}}`,
		"stop reason":            `{"content":"a","stop_reason":"refusal"}`,
		"unknown stop reason":    `{"content":"a","stop_reason":"bored"}`,
		"nothing":                `{"content":[]}`,
		"a cut call":             `{"content":[{"type":"text","text":"é"},{"type":"tool_use","name":"create_cell","input":{"source":"print(12345678)"}}],"stop_reason":"max_tokens"}`,
		"a foreign block":        `{"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"text","text":"x"}]}`,
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients := modeltest.ScriptAndMockClients(t, line)
			want, err := modeltest.Ask(t.Context(), clients["script"], modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			got, err := modeltest.Ask(t.Context(), clients["mock"], modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			require.Equal(t, modeltest.MustMarshalJSON(t, want), modeltest.MustMarshalJSON(t, got))
		})
	}
}

func TestDeltasAddUpToTheReply(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"text","text":"数据分析 and some more text"},{"type":"tool_use","id":"a","name":"run_cell","input":{"cell_id":"é1"}}]}`
	for name, client := range modeltest.ScriptAndMockClients(t, line) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var texts [2]string
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
			require.Equal(t, reply.Content[0].Text, texts[0])
			require.JSONEq(t, string(reply.Content[1].Input), texts[1])
			require.Equal(t, "start 0 text  ;stop 0 text;start 1 tool_use a run_cell;stop 1 tool_use;", seen.String())
		})
	}
}

// A reply that is cut off inside a tool's input is no error. The incomplete text
// becomes the property invalid_json, which no tool has.
func TestTruncatedToolInputIsNoError(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"tool_use","name":"create_cell","input":{"source":"1+1"}}],"stop_reason":"max_tokens"}`
	for name, client := range modeltest.ScriptAndMockClients(t, line) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			require.Equal(t, model.StopMaxTokens, reply.StopReason)
			require.JSONEq(t, `{"invalid_json":"{\"source"}`, string(reply.Content[0].Input))
		})
	}
}

// A stream that ends before message_stop is an error, after any number of bytes, both
// if the connection breaks and if the HTTP response ends regularly.
func TestTruncatedStreamIsAnError(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"text","text":"some text"},{"type":"tool_use","name":"get_context","input":{"a":1}}]}`
	whole := &modeltest.TruncatingHandler{Handler: mockapi.New(modeltest.ParseScript(t, line), nil), Limit: 1 << 20}
	_, err := modeltest.Ask(t.Context(), modeltest.AnthropicClientOfHandler(t, whole), modeltest.UserTextMessage("go"))
	require.NoError(t, err)

	for _, abort := range []bool{false, true} {
		for limit := 0; limit < whole.Written; limit += 97 {
			cut := &modeltest.TruncatingHandler{Handler: mockapi.New(modeltest.ParseScript(t, line), nil), Limit: limit, Abort: abort}
			_, err := modeltest.Ask(t.Context(), modeltest.AnthropicClientOfHandler(t, cut), modeltest.UserTextMessage("go"))
			if abort && limit == 0 {
				require.True(t, model.IsTransient(err), "%v", err) // not even the status came
				continue
			}
			require.ErrorIs(t, err, model.ErrCutStream, "after %d bytes, abort %v", limit, abort)
		}
	}
}

// The error for an HTTP error response of the API is one line, and the request is sent
// only once.
func TestAPIErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status int
		header string
		body   string
		want   string
		wait   time.Duration
	}{
		"401":           {401, "", `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "anthropic: 401 authentication_error: invalid x-api-key", 0},
		"429":           {429, "7", `{"type":"error","error":{"type":"rate_limit_error","message":"slow\n down"}}`, "anthropic: 429 rate_limit_error: slow down", 7 * time.Second},
		"529":           {529, "0.5", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "anthropic: 529 overloaded_error: Overloaded", 500 * time.Millisecond},
		"no JSON":       {502, "", `<html>bad gateway</html>`, "anthropic: 502 api_error: <html>bad gateway</html>", 0},
		"nothing":       {503, "", ``, "anthropic: 503 api_error: ", 0},
		"date in past":  {500, "Mon, 02 Jan 2006 15:04:05 GMT", `{"type":"error","error":{"type":"api_error","message":"oh"}}`, "anthropic: 500 api_error: oh", 0},
		"foreign shape": {400, "", `{"detail":"what"}`, `anthropic: 400 invalid_request_error: {"detail":"what"}`, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			client := modeltest.AnthropicClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
			var api *model.APIError
			require.ErrorAs(t, err, &api)
			require.EqualError(t, err, c.want)
			require.Equal(t, c.status, api.Status)
			require.Equal(t, c.wait, api.RetryAfter)
			require.EqualValues(t, 1, calls.Load())
		})
	}
}

func TestErrorEventInStream(t *testing.T) {
	t.Parallel()
	client := modeltest.AnthropicClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: error
data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}

`)
	}))
	_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.EqualError(t, err, "anthropic: 529 overloaded_error: Overloaded")
}

func TestCancelReturnsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	for name, client := range modeltest.ScriptAndMockClients(t, `{"content":"late","delay_ms":3600000}`) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
			_, err := modeltest.Ask(ctx, client, modeltest.UserTextMessage("go"))
			require.ErrorIs(t, err, cause)
		})
	}
}

// If nothing listens at the address, the error names the provider and is
// ErrUnreachable.
func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	client, err := open.Open("anthropic/x", open.Options{APIKey: "k", BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.ErrorContains(t, err, "anthropic: ")
	require.ErrorContains(t, err, "connection refused")
	require.ErrorIs(t, err, model.ErrUnreachable)
}

// The body that is sent is the JSON of the Request, with "stream":true before it.
func TestRequestBody(t *testing.T) {
	t.Parallel()
	var got []byte
	client := modeltest.AnthropicClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	half := 0.5
	req := model.Request{
		Params:   model.Params{Temperature: &half, Thinking: &model.ThinkingSetting{Type: "adaptive"}},
		System:   []model.Block{model.Text("You are <b>")},
		Messages: []model.Message{modeltest.UserTextMessage("é & ü"), modeltest.AssistantMessage(model.ToolUse("a", "b", []byte(`{"z":1,"a":2.50}`))), modeltest.UserMessage(modeltest.ToolResultBlock("a", "x"), model.Image("image/png", "aGk="))},
		Tools:    []model.Tool{{Name: "b", Description: "d", InputSchema: []byte(`{"type":"object"}`)}},
	}
	_, err := client.Complete(t.Context(), req, nil)
	require.Error(t, err)

	require.Equal(t, `{"stream":true,"model":"claude-test","max_tokens":16000,"temperature":0.5,"thinking":{"type":"adaptive"},`+
		`"system":[{"type":"text","text":"You are <b>"}],"messages":[{"role":"user","content":[{"type":"text","text":"é & ü"}]},`+
		`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"z":1,"a":2.50}}]},`+
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"}]},`+
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}],`+
		`"tools":[{"name":"b","description":"d","input_schema":{"type":"object"}}]}`, string(got))
}
