package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/internal/model"
	"assay/internal/model/anthropic"
	"assay/internal/model/endpoint"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/script"
	"assay/internal/rawjson"
)

// mockStreamBody returns the body of the event stream in which the mock server sends
// the reply of this script line.
func mockStreamBody(t *testing.T, line string) string {
	t.Helper()
	body := `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header.Set("X-Api-Key", "k")
	w := httptest.NewRecorder()
	mockapi.New(modeltest.ParseScript(t, line), nil).ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

// completeFromStream runs one call against an HTTP response with this body, and returns
// the client's reply or error.
func completeFromStream(ctx context.Context, body io.Reader) (*model.Response, error) {
	client, err := anthropic.NewWithTransport(roundTripFunc(func(*http.Request) (*http.Response, error) {
		return newEventStreamResponse(body), nil
	}), endpoint.Config{})
	if err != nil {
		return nil, err
	}
	return modeltest.Ask(ctx, client, modeltest.UserTextMessage("go"))
}

const replyOfAllBlockTypes = `{"content":[{"type":"thinking","thinking":"hm 数 🧪","signature":"c2ln"},{"type":"redacted_thinking","data":"eHg="},{"type":"text","text":"naïve 数据分析 𝒳🧪"},{"type":"tool_use","id":"a","name":"create_cell","input":{"source":"é \ud83e\uddea 🧪 \u00e9 \\ud83e","n":[1.50,null]}},{"type":"server_tool_use","id":"s","name":"n","input":{}}],"usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11}}`

// The reply does not depend on the sizes of the packets in which the stream arrives.
func FuzzStreamPacketSizes(f *testing.F) {
	f.Add(replyOfAllBlockTypes, []byte{1})
	f.Add(replyOfAllBlockTypes, []byte{3, 1, 2})
	f.Add(`{"content":"🧪🧪🧪🧪🧪🧪🧪🧪🧪"}`, []byte{1, 2, 3, 5, 250})
	f.Add(`{"content":[{"type":"tool_use","name":"x","input":{"a":"\ud83d\ude00"}}],"stop_reason":"max_tokens"}`, []byte{7})
	f.Fuzz(func(t *testing.T, line string, parts []byte) {
		s, err := script.Parse("s", []byte(line))
		if err != nil || len(parts) == 0 || strings.ContainsAny(line, "\n$") || strings.Contains(line, "_ms") ||
			strings.Contains(line, `fault`) || strings.Contains(line, `error`) || strings.Contains(line, `expect`) {
			return // not a reply that comes whole and at once
		}
		want, err := modeltest.Ask(t.Context(), s.Client(), modeltest.UserTextMessage("hi"))
		require.NoError(t, err)
		got, err := completeFromStream(t.Context(), &chunkedReader{text: mockStreamBody(t, line), parts: parts})
		require.NoError(t, err)
		require.Equal(t, modeltest.MustMarshalJSON(t, want), modeltest.MustMarshalJSON(t, got))
	})
}

// chunkedReader reads a text in pieces of the given sizes in bytes, repeating the sizes
// as often as necessary.
type chunkedReader struct {
	text  string
	parts []byte
	at    int
}

func (r *chunkedReader) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	size := 1 + int(r.parts[r.at%len(r.parts)])
	r.at++
	n := copy(p[:min(size, len(p))], r.text)
	r.text = r.text[n:]
	return n, nil
}

// The reply does not depend on how its texts are split into delta events.
func TestReplyDoesNotDependOnDeltaSizes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringN(1, 40, -1).Draw(rt, "text")
		input, err := json.Marshal(map[string]string{"a": rapid.String().Draw(rt, "input")})
		require.NoError(rt, err)
		var out strings.Builder
		event := func(format string, args ...any) {
			data := fmt.Sprintf(format, args...)
			kind, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
			fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", kind, data)
		}
		pieces := func(index int, kind, field, text string) {
			for runes := []rune(text); len(runes) > 0; {
				n := rapid.IntRange(0, len(runes)).Draw(rt, "piece")
				piece, err := json.Marshal(string(runes[:n]))
				require.NoError(rt, err)
				event(`{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, kind, field, piece)
				runes = runes[n:]
			}
		}
		event(`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`)
		event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		pieces(0, "text_delta", "text", text)
		event(`{"type":"content_block_stop","index":0}`)
		event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"n","input":{}}}`)
		pieces(1, "input_json_delta", "partial_json", string(input))
		event(`{"type":"content_block_stop","index":1}`)
		event(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`)
		event(`{"type":"message_stop"}`)

		got, err := completeFromStream(rt.Context(), strings.NewReader(out.String()))
		require.NoError(rt, err)
		require.Equal(rt, &model.Response{
			Content:    []model.Block{model.Text(text), model.ToolUse("a", "n", input)},
			StopReason: model.StopToolUse,
			Usage:      model.Usage{InputTokens: 1, OutputTokens: 2},
		}, got)
	})
}

// For any stream the client returns an error, or a reply that can be encoded and sent
// again; it neither panics nor hangs.
func FuzzReadStream(f *testing.F) {
	f.Add([]byte(wholeReplyEventStream))
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n"))
	f.Add([]byte("event: error\ndata: [1]\n\n"))
	f.Add([]byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":-1,\"delta\":{\"type\":\"text_delta\"}}\n\n"))
	f.Add([]byte("event: content_block_start\r\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":5}}\r\n\r\n"))
	f.Add([]byte("event: a\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"input\":[\"\xff\\ud800\"]}}\n\nevent: a\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte("event: a\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"input\":{\"a\":\"\xff\\ud800\"}}}\n\nevent: a\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, err := completeFromStream(t.Context(), strings.NewReader(string(data)))
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "anthropic: "), err)
			return
		}
		for _, b := range model.ToolUses(reply.Content) {
			var object map[string]any
			require.NoError(t, json.Unmarshal(b.Input, &object))
			require.Equal(t, string(b.Input), string(rawjson.RepairUnicode(b.Input)))
		}
		modeltest.MustMarshalJSON(t, reply)
	})
}
