package wire_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/wire"
)

// minimalRequest returns the body of a short request to the API.
func minimalRequest(api wire.API, isStreamed bool) string {
	body := map[wire.API]string{
		wire.Messages:  `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`,
		wire.Chat:      `{"model":"m","messages":[{"role":"user","content":"hi"}]`,
		wire.Responses: `{"model":"m","input":"hi"`,
	}[api]
	if isStreamed {
		body += `,"stream":true`
	}
	if isStreamed && api == wire.Chat {
		body += `,"stream_options":{"include_usage":true}`
	}
	return body + "}"
}

// mockReply returns the body with which the mock server sends the reply of this script
// line.
func mockReply(t *testing.T, api wire.API, line string, isStreamed bool) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, api.Path(), strings.NewReader(minimalRequest(api, isStreamed)))
	r.Header.Set("X-Api-Key", "k")
	w := httptest.NewRecorder()
	mockapi.New(modeltest.ParseScript(t, line), nil).ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

// scriptLines are replies with all kinds of blocks, texts, stop reasons and usage.
func scriptLines() map[string]string {
	return map[string]string{
		"text in many alphabets": `{"content":"naïve café, 数据分析, Ω≈ç√, 🧪🔬 and more 🧪"}`,
		"blocks":                 `{"content":[{"type":"text","text":"Let me look: <a> & \"b\""},{"type":"tool_use","name":"get_context","input":{}},{"type":"tool_use","id":"mine","name":"create_cell","input":{"source":"print('é🧪')\n","position":0}}]}`,
		"thinking":               `{"content":[{"type":"thinking","thinking":"hm, 数","signature":"c2ln"},{"type":"redacted_thinking","data":"eHg="},{"type":"text","text":"ok"}]}`,
		"hidden thinking":        `{"content":[{"type":"thinking","thinking":"","signature":"c2ln"},{"type":"tool_use","id":"a","name":"f","input":{}}]}`,
		"usage":                  `{"content":"a","usage":{"input_tokens":3,"output_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":11}}`,
		"refusal":                `{"content":"a","stop_reason":"refusal"}`,
		"stop sequence":          `{"content":"a","stop_reason":"stop_sequence"}`,
		"unknown stop reason":    `{"content":"a","stop_reason":"bored"}`,
		"nothing":                `{"content":[]}`,
		"a cut text":             `{"content":"abc","stop_reason":"max_tokens"}`,
		"a cut call":             `{"content":[{"type":"text","text":"é"},{"type":"tool_use","name":"create_cell","input":{"source":"print(12345678)"}}],"stop_reason":"max_tokens"}`,
		"a foreign block":        `{"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"text","text":"x"}]}`,
		"a foreign item":         `{"content":[{"call_id":"c","id":"ctc","input":"*** Begin <é>","name":"apply_patch","status":"completed","type":"custom_tool_call"},{"action":{"command":["ls"],"timeout_ms":12345678901234567},"call_id":"d","type":"local_shell_call"},{"type":"text","text":"x"}]}`,
		"two texts":              `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
	}
}

// afterAPI returns a reply without what the API has no place for.
func afterAPI(api wire.API, resp *model.Response) *model.Response {
	out := &model.Response{Content: []model.Block{}, StopReason: resp.StopReason, Usage: resp.Usage}
	if api != wire.Messages && out.StopReason == model.StopSequence {
		out.StopReason = model.StopEndTurn
	}
	isFirstText := true
	for _, b := range resp.Content {
		switch {
		case api == wire.Messages:
		case b.Type == "server_tool_use", api == wire.Chat && strings.HasSuffix(b.Type, "_call"):
			continue
		case api == wire.Chat && b.Type == model.BlockRedactedThinking, api == wire.Chat && b.Type == model.BlockThinking && b.Thinking == "":
			continue
		case api == wire.Chat:
			b.Signature = ""
		}
		if last := len(out.Content) - 1; api == wire.Chat && b.Type == model.BlockText && !isFirstText {
			out.Content[last].Text += b.Text // all text of a chat is one
			continue
		}
		isFirstText = isFirstText && b.Type != model.BlockText
		out.Content = append(out.Content, b)
	}
	return out
}

// A reply that a ReplyWriter writes is the same for a ReplyReader, whether its deltas come in
// pieces, whole or not at all, and streamed or not.
func TestReplySurvivesWritingAndReading(t *testing.T) {
	t.Parallel()
	for name, line := range scriptLines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients := modeltest.ScriptAndMockClients(t, line)
			for _, api := range apis() {
				for how, client := range map[string]model.Client{"whole deltas": clients["script"], "pieces": clients["mock"], "no deltas": silentClient{clients["script"]}} {
					for _, isStreamed := range []bool{true, false} {
						w := httptest.NewRecorder()
						writer := wire.NewReplyWriter(w, api, wire.Envelope{Model: "m", IsStreamed: isStreamed, IncludesUsage: true}, "1")
						resp, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, writer.WriteDelta)
						require.NoError(t, err)
						require.NoError(t, writer.Finish(resp))
						got := readBody(api, w.Body.String())
						about := strings.Join([]string{string(api), how, w.Body.String()}, " ")
						require.True(t, got.IsComplete, about)
						requireSameReply(t, wire.Reply{Response: afterAPI(api, resp), IsComplete: true}, withContent(got), about)
					}
				}
			}
		})
	}
}

// silentClient is a client that reports no deltas.
type silentClient struct{ model.Client }

func (c silentClient) Complete(ctx context.Context, req model.Request, _ func(model.Delta)) (*model.Response, error) {
	return c.Client.Complete(ctx, req, nil)
}

// withContent returns the reply with a response that has content, if only an empty one.
func withContent(r wire.Reply) wire.Reply {
	if r.Response == nil {
		r.Response = &model.Response{Content: []model.Block{}}
	}
	return r
}

// What the mock server sends is the same for a ReplyReader, too.
func TestReaderReadsMockReplies(t *testing.T) {
	t.Parallel()
	for name, line := range scriptLines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := modeltest.Ask(t.Context(), modeltest.ParseScript(t, line).Client(), modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			for _, api := range apis() {
				body := mockReply(t, api, line, true)
				want := wire.Reply{Response: afterAPI(api, resp), IsComplete: true}
				requireSameReply(t, want, withContent(readBody(api, body)), body)
				requireReadsVariants(t, api, body, readBody(api, body))
				if name != "a cut call" || api != wire.Messages { // which the API completes with {}
					requireSameReply(t, want, withContent(readBody(api, mockReply(t, api, line, false))), body)
				}
			}
		})
	}
}
