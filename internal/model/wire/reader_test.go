package wire_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/endpoint"
	"assay/internal/model/modeltest"
	"assay/internal/model/wire"
)

// apis are the three APIs.
func apis() []wire.API { return []wire.API{wire.Messages, wire.Chat, wire.Responses} }

// readBody returns what a reader makes of a response with status 200 that arrives in pieces
// of these sizes in bytes, repeated as often as necessary.
func readBody(api wire.API, body string, sizes ...int) wire.Reply {
	return readResponse(api, http.StatusOK, body, sizes...)
}

func readResponse(api wire.API, status int, body string, sizes ...int) wire.Reply {
	r := wire.NewReplyReader(api, status, "text/event-stream")
	for i := 0; len(body) > 0; i++ {
		size := len(body)
		if len(sizes) > 0 {
			size = min(size, sizes[i%len(sizes)])
		}
		_, _ = r.Write([]byte(body[:size])) // it never fails
		body = body[size:]
	}
	return r.Reply()
}

// requireSameReply requires that two readers have read the same.
func requireSameReply(t *testing.T, want, got wire.Reply, about string) {
	t.Helper()
	require.Equal(t, modeltest.MustMarshalJSON(t, want.Response), modeltest.MustMarshalJSON(t, got.Response), about)
	require.Equal(t, want.Error, got.Error, about)
	require.Equal(t, want.IsComplete, got.IsComplete, about)
	require.Equal(t, want.Err == nil, got.Err == nil, "%s: %v, %v", about, want.Err, got.Err)
}

// requireAgreesWithClient requires that the reader makes the same of a response with status
// 200 as the client of the vendor does.
func requireAgreesWithClient(t *testing.T, api wire.API, body string) {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(body)) // the client may have gone
	})
	client := modeltest.AnthropicClientOfHandler
	if api == wire.Chat {
		client = modeltest.OpenAIClientOfHandler
	}
	want, err := modeltest.Ask(t.Context(), client(t, handler), modeltest.UserTextMessage("go"))
	got := readBody(api, body)
	refusal, isRefused := errors.AsType[*model.APIError](err)
	switch {
	case err == nil:
		require.NoError(t, got.Err, body)
		require.Nil(t, got.Error, body)
		require.True(t, got.IsComplete, body)
		if got.Response == nil { // nothing but the end has come
			got.Response = &model.Response{Content: []model.Block{}}
		}
		require.Equal(t, modeltest.MustMarshalJSON(t, want), modeltest.MustMarshalJSON(t, got.Response), body)
	case isRefused:
		require.Equal(t, refusal, got.Error, body)
	case errors.Is(err, endpoint.ErrNotEventStream), errors.Is(err, endpoint.ErrAnswerTooLong):
		require.Error(t, got.Err, body)
	default:
		require.ErrorIs(t, err, model.ErrCutStream)
		hasEnd := got.IsComplete && got.Response != nil && got.Response.StopReason != ""
		require.True(t, got.Err != nil || !hasEnd, "%v: %s", err, body)
	}
}

// variants returns a stream as other servers would send it, which changes nothing.
func variants(stream string) map[string]string {
	return map[string]string{
		"plain":     stream,
		"CRLF":      strings.ReplaceAll(stream, "\n", "\r\n"),
		"comments":  ": hello\n\n" + strings.ReplaceAll(stream, "\n\n", "\n\n:\n: ping\n\n"),
		"no spaces": strings.ReplaceAll(strings.ReplaceAll(stream, "data: ", "data:"), "event: ", "event:"),
		"fields":    "retry: 5\n" + strings.ReplaceAll(stream, "data: ", "id: 1\nunknown: x\ndata: "),
	}
}

// requireReadsVariants requires that a stream gives the same reply in all its variants and
// however its bytes arrive.
func requireReadsVariants(t *testing.T, api wire.API, stream string, want wire.Reply) {
	t.Helper()
	for name, body := range variants(stream) {
		for _, sizes := range [][]int{nil, {1}, {2, 3}, {61}} {
			requireSameReply(t, want, readBody(api, body, sizes...), name)
		}
	}
}

func TestReaderAgreesWithChatClient(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{}
	for name, c := range modeltest.ChatStreams() {
		bodies[name] = c.Body
	}
	hello, stop := modeltest.ChunkWithDelta(`{"content":"Hello"}`), modeltest.ChunkWithFinishReason("stop")
	for name, chunks := range map[string][]string{
		"an error":              {hello, `{"error":{"message":"Overloaded","type":"server_error"}}`, hello, stop},
		"an error with status":  {hello, `{"error":{"message":"No provider","code":503},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`},
		"a bad request":         {`{"error":{"message":"No","type":"invalid_request_error","code":null}}`},
		"too fast":              {`{"error":{"message":"Slow down","type":"tokens","code":"rate_limit_exceeded"}}`},
		"an error that is text": {`{"error":"out of memory"}`},
		"a long error":          {`{"error":"` + strings.Repeat("x", 9000) + `"}`},
		"no chunk":              {hello, `{"id":`, stop},
		"a list":                {hello, `[]`, stop},
		"a number":              {hello, `5`, stop},
		"null":                  {hello, `null`, stop},
		"other types":           {`{"choices":[{"index":0,"delta":{"content":"Hello","refusal":7,"tool_calls":{}},"finish_reason":null}],"usage":"none"}`, stop},
		"huge usage":            {hello, stop, `{"usage":{"prompt_tokens":1e30,"completion_tokens":99999999999999999999,"prompt_tokens_details":{"cached_tokens":1e999}}}`},
		"usage of other types":  {hello, stop, `{"usage":{"prompt_tokens":"7","completion_tokens":2.9,"prompt_tokens_details":[]}}`},
		"more cached than sent": {hello, stop, `{"usage":{"prompt_tokens":3,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":5}}}`},
		"unknown members":       {`{"x":[{}],"choices":[{"index":0,"x":1,"delta":{"content":"Hello","x":{}}}]}`, stop},
		"no end":                {hello},
	} {
		bodies[name] = modeltest.EventStreamBody(chunks...)
	}
	bodies["whole error"] = `{"error":{"message":"No","type":"invalid_request_error"}}`
	bodies["HTML"] = "<!doctype html>\n<title>Sign in</title>"
	bodies["nothing"] = ""
	bodies["no reply in it"] = `{"object":"list"}`
	bodies["a line without end"] = strings.TrimRight(strings.TrimSuffix(modeltest.EventStreamBody(hello, stop), "data: [DONE]\n\n"), "\n")
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireAgreesWithClient(t, wire.Chat, body)
			if strings.HasPrefix(body, "data") {
				requireReadsVariants(t, wire.Chat, body, readBody(wire.Chat, body))
			}
		})
	}
}

// messageEvents returns a stream of the Messages API with these data, each in an event with
// the name that it has as its type.
func messageEvents(data ...string) string {
	var out strings.Builder
	for _, d := range data {
		_, rest, _ := strings.Cut(d, `"type":"`)
		name, _, _ := strings.Cut(rest, `"`)
		out.WriteString("event: " + name + "\ndata: " + d + "\n\n")
	}
	return out.String()
}

func TestReaderAgreesWithMessagesClient(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1,"cache_read_input_tokens":2}}}`
		text  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		hello = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hellö"}}`
		stop  = `{"type":"content_block_stop","index":0}`
		last  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
		end   = `{"type":"message_stop"}`
	)
	bodies := map[string]string{}
	for name, events := range map[string][]string{
		"plain":               {start, `{"type":"ping"}`, text, hello, stop, last, end},
		"usage twice":         {start, text, hello, stop, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7,"output_tokens":2,"cache_read_input_tokens":null,"cache_creation_input_tokens":4}}`, end},
		"usage in two deltas": {start, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":9}}`, last, end},
		"negative usage":      {start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":-1,"output_tokens":-1e30}}`, end},
		"huge usage":          {start, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1e30,"output_tokens":99999999999999999999}}`, end},
		"no usage":            {`{"type":"message_start","message":{}}`, text, hello, stop, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, end},
		"overloaded":          {start, text, hello, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, end},
		"error of no form":    {start, `{"type":"error","detail":"x"}`},
		"unknown events":      {start, `{"type":"surprise","index":-1}`, text, `{"type":"content_block_delta","index":0,"delta":{"type":"novel_delta","text":"x"}}`, hello, stop, last, end},
		"unknown members":     {start, text, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hellö","x":{}},"y":[1]}`, stop, last, end},
		"unknown block":       {start, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"n","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, stop, last, end},
		"thinking":            {start, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`, stop, last, end},
		"a tool":              {start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"n","input":{}}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":\"\\ud83d"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\\ude00\"}"}}`, stop, last, end},
		"no block":            {start, hello, last, end},
		"out of order":        {start, strings.Replace(text, `0`, `3`, 1), last, end},
		"block of no type":    {start, `{"type":"content_block_start","index":0,"content_block":{}}`, end},
		"no JSON":             {start, `{"type":"message_delta","delta":`, end},
		"a list":              {start, `[{"type":"message_stop"}]`, end},
		"no end":              {start, text, hello, stop, last},
		"more after the end":  {start, text, hello, stop, last, end, `{"type":`},
		"nothing but the end": {end},
	} {
		bodies[name] = messageEvents(events...)
	}
	bodies["no names"] = strings.ReplaceAll(bodies["plain"], "event: ", "id: ")
	bodies["no empty lines"] = strings.ReplaceAll(bodies["plain"], "\n\n", "\n")
	bodies["no last empty line"] = strings.TrimSuffix(bodies["plain"], "\n")
	bodies["data of two lines"] = strings.ReplaceAll(bodies["plain"], `"delta":{`, "\ndata: \"delta\":{")
	bodies["another name"] = strings.ReplaceAll(bodies["plain"], "event: message_stop", "event: surprise")
	bodies["error by its name"] = strings.ReplaceAll(bodies["plain"], "event: message_delta", "event: error")
	bodies["HTML"] = "<!doctype html>"
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "HTML" { // this client goes by the media type
				requireAgreesWithClient(t, wire.Messages, body)
				requireReadsVariants(t, wire.Messages, body, readBody(wire.Messages, body))
			}
			if name == "HTML" {
				require.ErrorIs(t, readBody(wire.Messages, body).Err, endpoint.ErrNotEventStream)
			}
		})
	}
}

// The reader reads each kind of error response as the clients do, and keeps its type.
func TestReaderOfErrorResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		api    wire.API
		status int
		body   string
		want   model.APIError
		isJSON bool
	}{
		"Messages":       {wire.Messages, 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.APIError{Provider: "anthropic", Status: 529, Type: "overloaded_error", Message: "Overloaded"}, true},
		"chat":           {wire.Chat, 429, `{"error":{"message":"Slow","type":"requests","code":"rate_limit_exceeded"}}`, model.APIError{Provider: "openai", Status: 429, Type: "rate_limit_exceeded", Message: "Slow"}, true},
		"Responses":      {wire.Responses, 400, `{"error":{"message":"No","type":"invalid_request_error","param":"x","code":null}}`, model.APIError{Provider: "openai", Status: 400, Type: "invalid_request_error", Message: "No"}, true},
		"a web page":     {wire.Messages, 502, "<html>bad gateway</html>", model.APIError{Provider: "anthropic", Status: 502, Type: "api_error", Message: "<html>bad gateway</html>"}, false},
		"nothing":        {wire.Chat, 503, "", model.APIError{Provider: "openai", Status: 503, Type: "api_error"}, false},
		"a redirect":     {wire.Chat, 307, "", model.APIError{Provider: "openai", Status: 307, Type: "invalid_request_error"}, false},
		"a stream":       {wire.Chat, 500, "data: x\n\n", model.APIError{Provider: "openai", Status: 500, Type: "api_error", Message: "data: x"}, false},
		"cut in a value": {wire.Messages, 401, `{"type":"error","error":{"ty`, model.APIError{Provider: "anthropic", Status: 401, Type: "authentication_error", Message: `{"type":"error","error":{"ty`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sizes := range [][]int{nil, {1}} {
				got := readResponse(c.api, c.status, c.body, sizes...)
				require.Equal(t, &c.want, got.Error)
				require.Equal(t, c.isJSON, got.IsComplete)
				require.NoError(t, got.Err)
				require.Nil(t, got.Response)
			}
		})
	}
}

// Reading stops at a line of 16 MiB and after 64 MiB, and Write takes all the same.
func TestReaderLimits(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("x", 1<<20))
	for name, c := range map[string]struct {
		api          wire.API
		begin, piece string
		mebibytes    int
	}{
		"a line":      {wire.Messages, `data: {"x":"`, string(long), 16},
		"of comments": {wire.Chat, "", ":" + string(long[2:]) + "\n", 65},
		"of JSON":     {wire.Responses, `{"x":"`, string(long), 64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := wire.NewReplyReader(c.api, http.StatusOK, "")
			_, _ = r.Write([]byte(c.begin))
			for range c.mebibytes - 1 {
				_, _ = r.Write([]byte(c.piece))
			}
			require.NoError(t, r.Reply().Err)
			for range 3 {
				n, err := r.Write([]byte(c.piece))
				require.NoError(t, err)
				require.Equal(t, len(c.piece), n)
			}
			require.ErrorIs(t, r.Reply().Err, endpoint.ErrAnswerTooLong)
			require.False(t, r.Reply().IsComplete)
		})
	}
	refusal := wire.NewReplyReader(wire.Chat, http.StatusBadRequest, "")
	for range 65 {
		_, _ = refusal.Write(long)
	}
	require.Equal(t, http.StatusBadRequest, refusal.Reply().Error.Status)
	require.ErrorIs(t, refusal.Reply().Err, endpoint.ErrAnswerTooLong)
}

// Of a stream that is cut after any byte the reader has the beginning of the reply, and it
// is complete only at its end.
func TestReaderOfEveryPrefix(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"text","text":"some tëxt, 数据 🧪"},{"type":"tool_use","id":"a","name":"f","input":{"a":"é"}}],"usage":{"input_tokens":3,"output_tokens":5}}`
	for _, api := range apis() {
		for _, isStreamed := range []bool{true, false} {
			body := mockReply(t, api, line, isStreamed)
			want := readBody(api, body)
			require.True(t, want.IsComplete)
			require.Equal(t, int64(5), want.Response.Usage.OutputTokens)
			r := wire.NewReplyReader(api, http.StatusOK, "")
			complete := 0
			for i := range len(body) {
				_, _ = r.Write([]byte{body[i]})
				got := r.Reply()
				require.NoError(t, got.Err)
				require.Nil(t, got.Error)
				if got.IsComplete {
					complete++
				}
				if got.Response != nil {
					require.True(t, r.HasContent() || len(got.Response.Content) == 0)
					require.Truef(t, strings.HasPrefix("some tëxt, 数据 🧪", model.ReplyText(got.Response.Content)), "%q", got.Response.Content)
				}
			}
			requireSameReply(t, want, r.Reply(), string(api))
			require.LessOrEqual(t, complete, 400, "complete long before the end") // usage and [DONE] follow
		}
	}
}

// However a response is divided into pieces, the reader makes the same of it, and never
// anything that cannot be encoded.
func FuzzReplyReader(f *testing.F) {
	for _, c := range modeltest.ChatStreams() {
		f.Add(byte(1), uint16(200), c.Body, []byte{1, 7})
	}
	f.Add(byte(0), uint16(200), messageEvents(`{"type":"message_start","message":{"usage":{"input_tokens":3}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"message_stop"}`), []byte{3})
	f.Add(byte(0), uint16(529), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, []byte{2})
	f.Add(byte(2), uint16(200), responsesEvents(`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`, `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`, `{"type":"response.completed","response":{"status":"completed","output":[{"type":"function_call","arguments":"{"}],"usage":{"input_tokens":-1}}}`), []byte{5, 250})
	f.Add(byte(2), uint16(200), `{"status":"incomplete","output":[{"type":"reasoning","summary":[{"text":"x"}],"encrypted_content":"redacted_thinking:x"},{"type":"y"}]}`, []byte{1})
	f.Fuzz(func(t *testing.T, which byte, status uint16, body string, parts []byte) {
		api := apis()[int(which)%len(apis())]
		var sizes []int
		for _, p := range parts {
			sizes = append(sizes, int(p)+1)
		}
		want := readResponse(api, int(status), body)
		requireSameReply(t, want, readResponse(api, int(status), body, sizes...), body)
		if want.Response == nil {
			return
		}
		u := want.Response.Usage
		require.GreaterOrEqual(t, min(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens), int64(0))
		require.GreaterOrEqual(t, u.Add(u).TotalTokens(), int64(0))
		modeltest.MustMarshalJSON(t, want.Response)
	})
}

// The reader agrees with the clients about any event stream that ends with a whole line.
func FuzzReaderAgreesWithClient(f *testing.F) {
	for _, c := range modeltest.ChatStreams() {
		f.Add(true, c.Body)
	}
	f.Add(false, messageEvents(`{"type":"message_start","message":{"usage":{"input_tokens":3}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, `{"type":"message_stop"}`))
	f.Add(false, messageEvents(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`))
	f.Fuzz(func(t *testing.T, isChat bool, body string) {
		api := wire.Messages
		if isChat {
			api = wire.Chat
		}
		if !strings.HasPrefix(body, "data") && !strings.HasPrefix(body, "event") {
			return // what is no stream is recognized in other ways
		}
		requireAgreesWithClient(t, api, body+"\n\n")
	})
}
