package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
	"assay/internal/model/script"
)

func TestMalformedFaults(t *testing.T) {
	t.Parallel()
	const one = "fault: a fault is one of cut, end, hang, drop, error, garbage and stall_ms"
	for text, want := range map[string]string{
		`{}`:                                  one,
		`{"hang":false}`:                      one,
		`{"after":1}`:                         one,
		`{"cut":1,"end":1}`:                   one,
		`{"drop":true,"hang":true}`:           one,
		`{"cut":-1}`:                          "fault: the events before a fault are counted from 0",
		`{"hang":true,"after":-1}`:            "fault: the events before a fault are counted from 0",
		`{"cut":1,"after":1}`:                 "fault: after does not go with cut",
		`{"drop":true,"after":1}`:             "fault: after does not go with drop",
		`{"garbage":"html","after":1}`:        "fault: after does not go with html",
		`{"garbage":"cut"}`:                   `fault: garbage is html, json or event, not "cut"`,
		`{"stall_ms":-1}`:                     "fault: stall_ms must be from 0 to a day",
		`{"stall_ms":1e300}`:                  "fault: stall_ms must be from 0 to a day",
		`{"error":{"type":"api_error"}}`:      "fault: the error of a fault needs a type and a message",
		`{"error":{"type":"a","message":""}}`: "fault: the error of a fault needs a type and a message",
		`{"cuts":1}`:                          `json: unknown field "cuts"`,
		`{"cut":1.5}`:                         "json: cannot unmarshal",
	} {
		_, err := script.Parse("s.jsonl", []byte(`{"content":"a","fault":`+text+`}`))
		require.EqualError(t, err, errorTextOrWantedPrefix(err, "s.jsonl:1: "+want), text)
	}
	_, err := script.Parse("s.jsonl", []byte(`{"fault":{"stall_ms":1}}`))
	require.EqualError(t, err, "s.jsonl:1: fault: there must be content that comes whole in spite of stall")
	_, err = script.Parse("s.jsonl", []byte(`{"content":"a","fault":null}`))
	require.NoError(t, err)
}

// errorTextOrWantedPrefix returns the text of err if it begins with want, and otherwise want,
// so that a comparison of both succeeds exactly if the text begins with want.
func errorTextOrWantedPrefix(err error, want string) string {
	if err != nil && strings.HasPrefix(err.Error(), want) {
		return err.Error()
	}
	return want
}

// faultsThatLoseReply returns the JSON of faults that make a call fail, each with the
// beginning of the error's text.
func faultsThatLoseReply() map[string]string {
	return map[string]string{
		`{"cut":0}`:                    "the reply broke off before its end: unexpected EOF",
		`{"cut":5}`:                    "the reply broke off before its end: unexpected EOF",
		`{"cut":99}`:                   "the reply broke off before its end: unexpected EOF",
		`{"end":0}`:                    "the reply broke off before its end",
		`{"end":5}`:                    "the reply broke off before its end",
		`{"end":99}`:                   "the reply broke off before its end",
		`{"drop":true}`:                "the API cannot be reached: ",
		`{"garbage":"html"}`:           "the answer is no stream of events but 200 text/html: <!DOCTYPE html> <html><body><h1>Welcome</h1></body></html>",
		`{"garbage":"json"}`:           "the reply broke off before its end: unexpected end of JSON input",
		`{"garbage":"json","after":6}`: "the reply broke off before its end: unexpected end of JSON input",
		`{"error":{"type":"overloaded_error","message":"Overloaded"}}`:           "529 overloaded_error: Overloaded",
		`{"error":{"type":"rate_limit_error","message":"slow\ndown"},"after":4}`: "429 rate_limit_error: slow down",
		`{"error":{"type":"api_error","message":"oh"},"after":99}`:               "500 api_error: oh",
		`{"error":{"type":"novel_error","message":"what"},"after":3}`:            "500 novel_error: what",
		`{"error":{"type":"invalid_request_error","message":"no"},"after":3}`:    "400 invalid_request_error: no",
	}
}

const scriptWithFault = `{"content":[{"type":"text","text":"some text 🧪, parted"},{"type":"tool_use","name":"get_context","input":{"a":"é\ud83e\uddea"}}],"fault":%s}
{"content":"whole"}`

// A fault gives the same deltas and the same error through the mock server and without
// it, and the next call gets the next line of the script.
func TestFaultsEqualServedFaults(t *testing.T) {
	t.Parallel()
	for text, want := range faultsThatLoseReply() {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			seen := map[string][]model.Delta{}
			for name, client := range modeltest.ScriptAndMockClients(t, fmt.Sprintf(scriptWithFault, text)) {
				_, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(d model.Delta) {
					seen[name] = append(seen[name], d)
				})
				provider := map[string]string{"script": "script: ", "mock": "anthropic: "}[name]
				require.EqualError(t, err, errorTextOrWantedPrefix(err, provider+want))
				requireErrorIsTransient(t, err, text)
				modeltest.RequireReplyText(t, client, "whole", modeltest.UserTextMessage("go"))
			}
			require.Equal(t, seen["mock"], seen["script"])
		})
	}
}

// requireErrorIsTransient requires that err, the error of the fault whose JSON is text,
// is transient or not as that kind of fault demands.
func requireErrorIsTransient(t *testing.T, err error, text string) {
	t.Helper()
	switch {
	case strings.Contains(text, "invalid_request_error"), strings.Contains(text, "html"):
		require.False(t, model.IsTransient(err), "%v", err)
	case strings.Contains(text, "drop"):
		require.ErrorIs(t, err, model.ErrUnreachable)
		require.True(t, model.IsTransient(err))
	case strings.Contains(text, "error"):
		require.True(t, model.IsTransient(err), "%v", err)
	default:
		require.ErrorIs(t, err, model.ErrCutStream)
		require.True(t, model.IsTransient(err))
	}
}

// A fault that loses the reply gives an error, after any number of events.
func TestFaultsAfterAnyEvent(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{`{"cut":%d}`, `{"end":%d}`, `{"garbage":"json","after":%d}`, `{"error":{"type":"api_error","message":"x"},"after":%d}`} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var lines strings.Builder
			for n := range 20 {
				line, _, _ := strings.Cut(fmt.Sprintf(scriptWithFault, fmt.Sprintf(kind, n)), "\n")
				lines.WriteString(line + "\n")
			}
			lines.WriteString(`{"content":"whole"}`)
			for name, client := range modeltest.ScriptAndMockClients(t, lines.String()) {
				for n := range 20 {
					_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
					require.True(t, model.IsTransient(err), "%s, after %d: %v", name, n, err)
				}
				modeltest.RequireReplyText(t, client, "whole", modeltest.UserTextMessage("go"))
			}
		})
	}
}

// A stall and an event of an unknown type leave a reply complete. If the reply is
// requested again, it comes without them.
func TestFaultsThatKeepReply(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"garbage":"event"}`, `{"garbage":"event","after":4}`, `{"stall_ms":1}`, `{"stall_ms":1,"after":5}`, `{"stall_ms":1,"after":99}`} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			want, err := modeltest.Ask(t.Context(), modeltest.ParseScript(t, strings.Replace(fmt.Sprintf(scriptWithFault, text), `,"fault":`+text, "", 1)).Client(), modeltest.UserTextMessage("go"))
			require.NoError(t, err)
			for _, client := range modeltest.ScriptAndMockClients(t, fmt.Sprintf(scriptWithFault, text)) {
				for range 2 {
					got, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
					require.NoError(t, err)
					require.Equal(t, modeltest.MustMarshalJSON(t, want), modeltest.MustMarshalJSON(t, got))
				}
				next := []model.Message{modeltest.UserTextMessage("go"), modeltest.AssistantMessage(want.Content...), modeltest.UserMessage(modeltest.ToolResultBlock("toolu_0_0", "r"))}
				modeltest.RequireReplyText(t, client, "whole", next...)
			}
		})
	}
}

// A client that retries gets the same conversation with and without faults, over HTTP
// and without a server.
func TestRetriesHideFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		sound := rapid.SliceOfN(rapid.SampledFrom([]string{
			`{"content":"text 🧪"}`,
			`{"content":[{"type":"tool_use","name":"get_context","input":{}}]}`,
			`{"content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"é"},{"type":"tool_use","name":"create_cell","input":{"source":"é\ud83e\uddea"}},{"type":"tool_use","name":"run_cell","input":{}}]}`,
		}), 1, 5).Draw(rt, "sound")
		trouble := rapid.Custom(func(rt *rapid.T) string {
			after := rapid.IntRange(0, 12).Draw(rt, "after")
			fault := rapid.SampledFrom([]string{
				`{"cut":%d}`, `{"end":%d}`, `{"garbage":"json","after":%d}`, `{"error":{"type":"overloaded_error","message":"x"},"after":%d}`,
				`{"drop":true}`, `{"garbage":"html"}`,
			}).Draw(rt, "fault")
			if strings.Contains(fault, "%d") {
				fault = fmt.Sprintf(fault, after)
			}
			content := rapid.SampledFrom(append(sound, `{"content":[]}`)).Draw(rt, "content")
			return strings.TrimSuffix(content, "}") + `,"fault":` + fault + `}`
		})
		refused := rapid.SampledFrom([]string{`{"error":{"status":429,"retry_after":1}}`, `{"error":{"status":529}}`})
		var spoiled []string
		for i, line := range sound {
			spoiled = append(spoiled, rapid.SliceOfN(rapid.OneOf(trouble, refused), 0, 3).Draw(rt, fmt.Sprint("before ", i))...)
			harmless := rapid.SampledFrom([]string{``, ``, `,"fault":{"garbage":"event","after":3}`, `,"fault":{"stall_ms":0,"after":2}`}).Draw(rt, "harmless")
			spoiled = append(spoiled, strings.TrimSuffix(line, "}")+harmless+"}")
		}
		want := converseWithRetries(rt, modeltest.ParseScript(t, strings.Join(sound, "\n")).Client(), len(sound))
		lines := strings.Join(spoiled, "\n")
		server := httptest.NewServer(mockapi.New(modeltest.ParseScript(t, lines), nil))
		defer server.Close()
		remote, err := open.Open("anthropic/claude-test", open.Options{APIKey: "key", BaseURL: server.URL})
		require.NoError(rt, err)
		for name, client := range map[string]model.Client{"script": modeltest.ParseScript(t, lines).Client(), "mock": remote} {
			if got := converseWithRetries(rt, client, len(sound)); got != want {
				rt.Fatalf("%s: got %s, want %s", name, got, want)
			}
		}
	})
}

// converseWithRetries calls a client, again after each error and at most 10 times per
// turn, until it has this many replies, and returns the conversation as JSON.
func converseWithRetries(t *rapid.T, client model.Client, replies int) string {
	chat := []model.Message{modeltest.UserTextMessage("go")}
	for turn := range replies {
		reply, err := modeltest.Ask(t.Context(), client, chat...)
		for tries := 0; err != nil && tries < 9; tries++ {
			reply, err = modeltest.Ask(t.Context(), client, chat...)
		}
		if err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		chat = append(chat, modeltest.AssistantMessage(reply.Content...))
		var answer []model.Block
		for _, c := range model.ToolUses(reply.Content) {
			answer = append(answer, modeltest.ToolResultBlock(c.ID, "cell_id: c"+c.ID))
		}
		chat = append(chat, modeltest.UserMessage(append(answer, model.Text(fmt.Sprint("turn ", turn)))...))
	}
	text, err := json.Marshal(chat)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Without a server, a hang is an error at once, and a stall lasts for its duration or
// until ctx ends.
func TestHangAndStallWithoutServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := modeltest.ParseScript(t, `{"fault":{"hang":true,"after":3}}
{"fault":{"hang":true}}
{"content":"ok","fault":{"stall_ms":3600000,"after":3}}`).Client()
		began := time.Now()
		for range 2 {
			_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
			require.EqualError(t, err, "script: the reply broke off before its end: nothing came for 2m0s")
			require.ErrorIs(t, err, model.ErrCutStream)
		}
		require.Zero(t, time.Since(began))
		modeltest.RequireReplyText(t, client, "ok", modeltest.UserTextMessage("go"))
		require.Equal(t, time.Hour, time.Since(began))
		modeltest.RequireReplyText(t, client, "ok", modeltest.UserTextMessage("go"))
		require.Equal(t, time.Hour, time.Since(began))

		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(cause) })
		_, err := modeltest.Ask(ctx, modeltest.ParseScript(t, `{"content":"ok","fault":{"stall_ms":3600000,"after":3}}`).Client(), modeltest.UserTextMessage("go"))
		require.Equal(t, cause, err)
		require.Equal(t, time.Hour+time.Minute, time.Since(began))
	})
}
