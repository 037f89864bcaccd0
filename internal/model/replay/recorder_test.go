package replay_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/modeltest"
	"assay/internal/model/replay"
)

// reply is a model's reply with this text.
func reply(text string) *model.Response {
	return &model.Response{Content: []model.Block{model.Text(text)}, StopReason: model.StopEndTurn, Usage: model.Usage{InputTokens: 1}}
}

// record returns the recording of calls.
func record(t *testing.T, n replay.Normalizer, calls ...replay.Call) string {
	t.Helper()
	var out bytes.Buffer
	recorder := n.NewRecorder(&out)
	for _, call := range calls {
		require.NoError(t, recorder.Record(call))
	}
	return out.String()
}

func TestRecordedLine(t *testing.T) {
	t.Parallel()
	n := replay.Normalizer{Session: "s", Sandbox: []string{"/tmp/box"}}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	text := record(t, n,
		replay.Call{API: "messages", Model: "anthropic/m", At: at, Request: []byte("{\"model\": \"m\",\n \"messages\": [\"in /tmp/box at 0x7f0123456789\"]}"), Response: reply("/tmp/box")},
		replay.Call{API: "messages", At: at, Request: []byte(`{}`), Response: reply("half"), Err: model.ErrCutStream},
	)
	require.Equal(t, `{"at":"2026-01-02T03:04:05.006Z","session":"s","api":"messages","model":"anthropic/m","request":{"model":"m","messages":["in ${SANDBOX} at ${ADDRESS}"]},"response":{"content":[{"type":"text","text":"${SANDBOX}"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}
{"at":"2026-01-02T03:04:05.006Z","session":"s","api":"messages","request":{},"response":{"content":[{"type":"text","text":"half"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"error":{"text":"the reply broke off before its end","cause":"cut_stream"}}
`, text)

	replayer := newReplayer(t, replay.Normalizer{Session: "s", Sandbox: []string{"/var/x"}}, text, replay.MatchStrict)
	first, err := replayer.Play("messages", []byte(`{"messages":["in /var/x at 0x5555555555"],"model":"other","stream":true,"stream_options":{}}`))
	require.NoError(t, err)
	require.Equal(t, "/var/x", first.Response.Content[0].Text)
	require.Equal(t, "anthropic/m", first.Model)
	require.Equal(t, at, first.At)
	require.Equal(t, at, replayer.Time())
	second, err := replayer.Play("messages", []byte(`{}`))
	require.NoError(t, err)
	require.ErrorIs(t, second.Err, model.ErrCutStream)
	require.Equal(t, "half", second.Response.Content[0].Text)
}

// What an agent sends back of a reply of OpenAI's APIs may differ in what only the vendor's reply had.
func TestSentBackReplies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ api, recorded, replayed, want string }{
		"chat": {
			"chat",
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"refusal":null,"annotations":[],"reasoning_content":"hm","tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\": 1, \"b\": [1, 2]}"}}]}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1,\"b\":[1,2]}"}}]}]}`,
			"",
		},
		"responses": {
			"responses",
			`{"previous_response_id":"resp_1","input":[{"role":"user","content":"a","id":"x"},{"type":"reasoning","id":"rs_1","encrypted_content":"e","summary":[]},{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"t","annotations":[],"logprobs":[]}]},{"type":"function_call","id":"fc_1","status":"completed","call_id":"c","name":"f","arguments":"{ }"}]}`,
			`{"previous_response_id":"resp_call_1","input":[{"role":"user","content":"a","id":"x"},{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"t"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`,
			"",
		},
		"another argument": {
			"responses",
			`{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}]}`,
			`{"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":2}"}]}`,
			"/input/0/arguments",
		},
		"another text of the user": {
			"chat", `{"messages":[{"role":"user","content":"a","name":"x"}]}`, `{"messages":[{"role":"user","content":"a","name":"y"}]}`, "/messages/0/name",
		},
		"another kind": {"chat", `{"messages":["a"]}`, `{"messages":[{"role":"assistant"}]}`, "/messages/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recording := record(t, replay.Normalizer{}, replay.Call{API: test.api, Request: []byte(test.recorded), Response: reply("ok")})
			answer, err := newReplayer(t, replay.Normalizer{}, recording, replay.MatchStrict).Play(test.api, []byte(test.replayed))
			if test.want != "" {
				require.ErrorIs(t, err, replay.ErrNotRecorded)
				require.ErrorContains(t, err, `at "`+test.want+`"`)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "ok", answer.Response.Content[0].Text)
			again := record(t, replay.Normalizer{}, replay.Call{API: test.api, Request: []byte(test.replayed), Answer: answer})
			require.Equal(t, recording, again)
		})
	}
}

func TestClientOfRecording(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]replay.RecordedClient{
		`{"request":{"model":"anthropic/claude-x elsewhere"},"error":{"text":"x"}}`:                                                      {ModelName: "anthropic/claude-x", API: "messages"},
		`{"request":{"model":"script:/turns.jsonl"},"error":{"text":"x"}}`:                                                               {API: "messages"},
		`{"api":"messages","model":"script:/turns.jsonl","request":{"model":"assay"},"error":{"text":"x"}}`:                              {ModelName: "anthropic/assay", API: "messages"},
		`{"api":"chat","model":"openai/gpt-5 elsewhere","request":{"model":"gpt-5","messages":[],"max_tokens":9},"error":{"text":"x"}}`:  {ModelName: "openai/gpt-5", API: "chat"},
		`{"api":"chat","model":"openai/gpt-5","request":{"model":"gpt-5","messages":[],"max_completion_tokens":9},"error":{"text":"x"}}`: {ModelName: "openai/gpt-5", API: "chat", HasCompletionLimit: true},
		`{"api":"responses","model":"openai/gpt-5","request":{"model":"gpt-5","input":[],"max_output_tokens":99},"error":{"text":"x"}}`:  {ModelName: "openai/gpt-5", API: "responses"},
	} {
		r, err := replay.ParseRecording("r", []byte(line))
		require.NoError(t, err)
		require.Equal(t, want, r.Client())
	}
}

// A line of a server is no answer to a client that speaks another API.
func TestClientsOfOtherAPIs(t *testing.T) {
	t.Parallel()
	recording := record(t, replay.Normalizer{}, replay.Call{API: "chat", Request: []byte(`{"messages":[]}`), Response: reply("ok")})
	_, err := modeltest.Ask(t.Context(), parseReplayer(t, strings.TrimSpace(recording)), modeltest.UserTextMessage("go"))
	require.ErrorContains(t, err, "the next recorded one is of the API chat, this one of messages")
}

// failingWriter fails.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRecorderReportsFailures(t *testing.T) {
	t.Parallel()
	err := replay.Normalizer{}.NewRecorder(failingWriter{}).Record(replay.Call{API: "chat", Request: []byte(`{}`), Response: reply("ok")})
	require.EqualError(t, err, "disk full")
}

func FuzzRecordedRequestsAreFoundAgain(f *testing.F) {
	f.Add(uint8(2), []byte(`{"input":[{"type":"reasoning"},{"role":"assistant","content":[5]},{"type":"function_call","arguments":5}]}`))
	f.Add(uint8(1), []byte(`{"messages":[5,{"role":"assistant","tool_calls":[5,{"function":5}]}]}`))
	f.Add(uint8(0), []byte(`{"messages":[],"stream":true}`))
	f.Fuzz(func(t *testing.T, number uint8, request []byte) {
		api := []string{"messages", "chat", "responses"}[number%3]
		var out bytes.Buffer
		if (replay.Normalizer{}).NewRecorder(&out).Record(replay.Call{API: api, Request: request, Response: reply("ok")}) != nil {
			return
		}
		recording, err := replay.ParseRecording("r", out.Bytes())
		if err != nil {
			return // the request is no object
		}
		_, err = recording.NewReplayer().Play(api, request)
		require.NoError(t, err)
	})
}
