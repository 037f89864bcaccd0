package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
)

// clientsOfHandler returns functions that start a server and return a client of it, by API.
func clientsOfHandler() map[string]func(*testing.T, http.Handler) model.Client {
	return map[string]func(*testing.T, http.Handler) model.Client{"chat": modeltest.OpenAIClientOfHandler, "responses": modeltest.ResponsesClientOfHandler}
}

// A stream that ends before its finish_reason is an error, after any number of bytes,
// both if the connection breaks and if the HTTP response ends regularly.
func TestTruncatedStreamIsAnError(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"text","text":"some tëxt"},{"type":"tool_use","name":"get_context","input":{"a":1}}]}`
	for api, newClient := range clientsOfHandler() {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			whole := &modeltest.TruncatingHandler{Handler: mockapi.New(modeltest.ParseScript(t, line), nil), Limit: 1 << 20}
			want, err := modeltest.Ask(t.Context(), newClient(t, whole), modeltest.UserTextMessage("go"))
			require.NoError(t, err)

			done := len("data: [DONE]\n\n")
			for _, abort := range []bool{false, true} {
				for limit := 0; limit < whole.Written-done; limit += 61 {
					cut := &modeltest.TruncatingHandler{Handler: mockapi.New(modeltest.ParseScript(t, line), nil), Limit: limit, Abort: abort}
					reply, err := modeltest.Ask(t.Context(), newClient(t, cut), modeltest.UserTextMessage("go"))
					if err == nil { // the stream ended regularly after the finish_reason
						require.False(t, abort)
						require.Equal(t, want, reply)
						continue
					}
					require.True(t, model.IsTransient(err), "after %d bytes, abort %v: %v", limit, abort, err)
					if limit > 0 {
						require.ErrorIs(t, err, model.ErrCutStream, "after %d bytes, abort %v", limit, abort)
					}
				}
			}
		})
	}
}

// The text of an API error is one line, for the formats that various compatible servers
// use.
func TestAPIErrorMessages(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status         int
		header, value  string
		body, want     string
		wait           time.Duration
		transient, big bool
	}{
		"a wrong key":       {status: 401, body: `{"error":{"message":"Incorrect API key provided: sk-1.\nYou can find it","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, want: "openai: 401 invalid_api_key: Incorrect API key provided: sk-1. You can find it"},
		"too fast":          {status: 429, header: "Retry-After", value: "7", body: `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, want: "openai: 429 rate_limit_exceeded: Rate limit reached", wait: 7 * time.Second, transient: true},
		"too much":          {status: 429, body: `{"error":{"message":"The request exceeds what the context of your tier allows","code":"rate_limit_exceeded"}}`, want: "openai: 429 rate_limit_exceeded: The request exceeds what the context of your tier allows", transient: true},
		"in milliseconds":   {status: 429, header: "Retry-After-Ms", value: "1500", body: `{"error":{"message":"Rate limit reached","type":"tokens","code":null}}`, want: "openai: 429 tokens: Rate limit reached", wait: 1500 * time.Millisecond, transient: true},
		"no money":          {status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, want: "openai: 429 insufficient_quota: You exceeded your current quota"},
		"too long":          {status: 400, body: `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, want: "openai: 400 context_length_exceeded: This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", big: true},
		"too long, vLLM":    {status: 400, body: `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).","type":"BadRequestError","param":null,"code":400}`, want: "openai: 400 BadRequestError: This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion).", big: true},
		"max_tokens, vLLM":  {status: 400, body: `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is 8192 tokens and your request has 500 input tokens","type":"BadRequestError","code":400}}`, want: "openai: 400 BadRequestError: 'max_tokens' or 'max_completion_tokens' is too large: 16000. This model's maximum context length is 8192 tokens and your request has 500 input tokens"},
		"too long, llama":   {status: 500, body: `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}`, want: "openai: 500 exceed_context_size_error: the request exceeds the available context size. try increasing the context size or enable context shift", big: true},
		"too long, Ollama":  {status: 400, body: `{"error":"input length exceeds the context length"}`, want: "openai: 400 invalid_request_error: input length exceeds the context length", big: true},
		"too long, another": {status: 400, body: `{"error":{"message":"The input (99 tokens) is longer than the model's context length (9 tokens)."}}`, want: "openai: 400 invalid_request_error: The input (99 tokens) is longer than the model's context length (9 tokens).", big: true},
		"tools, reasoning":  {status: 400, body: `{"error":{"message":"Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`, want: "openai: 400 invalid_request_error: Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead. (set --model-arg api=responses, or reasoning_effort=none where the model knows it)"},
		"an effort, bad":    {status: 400, body: `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'none' with this model.","type":"invalid_request_error","param":"reasoning_effort","code":"unsupported_value"}}`, want: "openai: 400 unsupported_value: Unsupported value: 'reasoning_effort' does not support 'none' with this model."},
		"a detail":          {status: 422, body: `{"detail":[{"msg":"field required"}]}`, want: `openai: 422 invalid_request_error: {"detail":[{"msg":"field required"}]}`},
		"no JSON":           {status: 502, body: "<html>bad\ngateway</html>", want: "openai: 502 api_error: <html>bad gateway</html>", transient: true},
		"nothing":           {status: 503, want: "openai: 503 api_error: ", transient: true},
		"not even an error": {status: 404, body: `{"error":null}`, want: `openai: 404 not_found_error: {"error":null}`},
		"moved":             {status: 304, want: "openai: 304 invalid_request_error: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := modeltest.OpenAIClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set(c.header, c.value)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
			require.EqualError(t, err, c.want)
			var api *model.APIError
			require.ErrorAs(t, err, &api)
			require.Equal(t, c.status, api.Status)
			require.Equal(t, c.wait, api.RetryAfter)
			require.Equal(t, c.transient, model.IsTransient(err))
			require.Equal(t, c.big, model.IsContextExceeded(err))
		})
	}
}

// A response with status 200 can also hold an API error, or no reply at all; both are
// errors.
func TestErrorsInResponsesWithStatus200(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		body, want string
		transient  bool
	}{
		"in the stream":  {modeltest.EventStreamBody(modeltest.ChunkWithDelta(`{"content":"a"}`), `{"error":{"message":"Overloaded","type":"server_error"}}`), "openai: 500 server_error: Overloaded", true},
		"with a status":  {modeltest.EventStreamBody(modeltest.ChunkWithDelta(`{"content":"a"}`), `{"error":{"message":"No provider","code":503},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`), "openai: 503 api_error: No provider", true},
		"a bad request":  {modeltest.EventStreamBody(`{"error":{"message":"No","type":"invalid_request_error","code":null}}`), "openai: 400 invalid_request_error: No", false},
		"too fast":       {modeltest.EventStreamBody(`{"error":{"message":"Slow down","type":"tokens","code":"rate_limit_exceeded"}}`), "openai: 429 rate_limit_exceeded: Slow down", true},
		"a text":         {modeltest.EventStreamBody(`{"error":"out of memory"}`), "openai: 500 api_error: out of memory", true},
		"whole":          {`{"error":{"message":"No","type":"invalid_request_error"}}`, "openai: 400 invalid_request_error: No", false},
		"HTML":           {"<!doctype html>\n<title>Sign in</title>", "openai: the answer is no stream of events, nor JSON: <!doctype html> <title>Sign in</title>", false},
		"text":           {"hello", "openai: the answer is no stream of events, nor JSON: hello", false},
		"empty":          {"", "openai: the reply broke off before its end", true},
		"no reply in it": {`{"object":"list"}`, "openai: the reply broke off before its end", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modeltest.Ask(t.Context(), modeltest.OpenAIClientOfHandler(t, newOKHandler("text/plain", c.body)), modeltest.UserTextMessage("go"))
			require.EqualError(t, err, c.want)
			require.Equal(t, c.transient, model.IsTransient(err))
		})
	}
}

// A stream that never ends is an error, and so is a line that never ends.
func TestEndlessReply(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"a line":      "data: " + strings.Repeat("x", 1<<16),
		"of comments": ": " + strings.Repeat("x", 1<<16) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := modeltest.OpenAIClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = io.WriteString(w, piece)
				}
			}))
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
			require.ErrorContains(t, err, "openai: the answer is longer than")
			require.False(t, model.IsTransient(err))
		})
	}
}

func TestCancelReturnsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	for name, begin := range map[string]string{"before the answer": "", "in the stream": "data: " + modeltest.ChunkWithDelta(`{"content":"a"}`) + "\n\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			client := modeltest.OpenAIClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // so that the server notices that the client goes
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					_ = http.NewResponseController(w).Flush()
				} else {
					cancel(cause)
				}
				<-r.Context().Done()
			}))
			_, err := client.Complete(ctx, model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(model.Delta) { cancel(cause) })
			require.ErrorIs(t, err, cause)
		})
	}
}

// A call that is cancelled at any delta returns the cause of the cancellation, unless
// the whole reply had already arrived.
func TestCancelAtEveryDelta(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	line := `{"content":[{"type":"text","text":"some tëxt in pieces"},{"type":"tool_use","name":"get_context","input":{"a":1}}]}`
	for api, newClient := range clientsOfHandler() {
		client := newClient(t, mockapi.New(modeltest.ParseScript(t, line), nil))
		whole := 0
		count := func(model.Delta) { whole++ }
		want, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, count)
		require.NoError(t, err)
		for at := range whole {
			ctx, cancel := context.WithCancelCause(t.Context())
			seen := 0
			reply, err := client.Complete(ctx, model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(model.Delta) {
				if seen++; seen > at {
					cancel(cause)
				}
			})
			if err == nil {
				require.Equal(t, want, reply, api)
				continue
			}
			require.Equal(t, cause, err, api)
		}
	}
}

func TestIdleTimeoutAndConnectionRefused(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, ": wait\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	client, err := open.Open("openai/m", open.Options{BaseURL: silent.URL, IdleTimeout: 30 * time.Millisecond})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.EqualError(t, err, "openai: the reply broke off before its end: nothing came for 30ms")
	require.True(t, model.IsTransient(err))

	client, err = open.Open("openai/m", open.Options{BaseURL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.ErrorContains(t, err, "openai: ")
	require.ErrorContains(t, err, "connection refused")
	require.ErrorIs(t, err, model.ErrUnreachable)
}

// The faults of a script give errors of the same kinds as with the Messages API:
// transient or not, with the same status.
func TestScriptedFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{
		`{"cut":4}`:          "openai: the reply broke off before its end: unexpected EOF",
		`{"end":4}`:          "openai: the reply broke off before its end",
		`{"end":400}`:        "openai: the reply broke off before its end",
		`{"drop":true}`:      "EOF",
		`{"garbage":"html"}`: "openai: the answer is no stream of events",
		`{"garbage":"json"}`: "openai: the reply broke off before its end",
		`{"error":{"type":"overloaded_error","message":"Overloaded"},"after":3}`: "overloaded_error: Overloaded",
		`{"garbage":"event","after":3}`:                                          "",
		`{"stall_ms":20,"after":3}`:                                              "",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			lines := `{"content":"some text that takes a few events","fault":` + fault + "}\n" + `{"content":"once more"}`
			for api, newClient := range clientsOfHandler() {
				client := newClient(t, mockapi.New(modeltest.ParseScript(t, lines), nil))
				reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
				if want == "" {
					require.NoError(t, err, api)
					require.Equal(t, "some text that takes a few events", model.JoinTextBlocks(reply.Content))
					continue
				}
				require.ErrorContains(t, err, want, api)
				require.Equal(t, !strings.Contains(fault, "html"), model.IsTransient(err), "%s: %v", api, err)
				reply, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
				require.NoError(t, err)
				require.Equal(t, "once more", model.JoinTextBlocks(reply.Content))
			}
		})
	}
}
