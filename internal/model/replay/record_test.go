package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
	"assay/internal/model/replay"
)

// parseReplayer parses a recording and returns a Replayer that plays it with
// MatchStrict. An error fails the test.
func parseReplayer(t *testing.T, recording string) model.Client {
	t.Helper()
	r, err := replay.ParseRecording("calls.jsonl", []byte(recording))
	require.NoError(t, err)
	return r.NewReplayer()
}

// runConversation makes six model calls and returns everything that the caller sees:
// deltas, replies and errors.
func runConversation(t *testing.T, client model.Client) string {
	t.Helper()
	var seen strings.Builder
	chat := []model.Message{modeltest.UserTextMessage("go <on> & é")}
	for range 6 {
		blocks := map[int]string{}
		reply, err := client.Complete(t.Context(), model.Request{System: []model.Block{model.Text("You are")}, Messages: chat}, func(d model.Delta) {
			blocks[d.Index] += fmt.Sprint(d.Type, d.ID, d.Name, d.Text)
		})
		if err != nil {
			api, _ := errors.AsType[*model.APIError](err)
			fmt.Fprintf(&seen, "%v %t %t %+v\n", err, errors.Is(err, model.ErrCutStream), model.IsTransient(err), api)
			continue
		}
		fmt.Fprintf(&seen, "%s %d\n", modeltest.MustMarshalJSON(t, reply), len(blocks))
		chat = append(chat, modeltest.AssistantMessage(reply.Content...))
		for _, c := range model.ToolUses(reply.Content) {
			chat = append(chat, modeltest.UserMessage(modeltest.ToolResultBlock(c.ID, "cell_id: 7")))
		}
		if reply.StopReason == model.StopEndTurn {
			chat = append(chat, modeltest.UserTextMessage("and then?"))
		}
	}
	return seen.String()
}

// A replayed conversation with API errors and a broken stream equals the recorded one,
// and recorded again it gives the same bytes.
func TestReplayEqualsConversation(t *testing.T) {
	t.Parallel()
	mock := mockapi.New(modeltest.ParseScript(t, `{"error":{"status":429,"retry_after":1.5,"body":{"type":"error","error":{"type":"rate_limit_error","message":"slow\n <down>"}}}}
{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"<b> & 数据"},{"type":"tool_use","name":"run_cell","input":{"z":1,"a":2.50}}],"usage":{"input_tokens":3,"output_tokens":5}}
{"content":"two","usage":{"cache_read_input_tokens":9}}
{"error":{"status":400}}
{"content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},{"type":"text","text":"x"}],"stop_reason":"refusal"}`), nil)
	var calls atomic.Int64
	live := modeltest.AnthropicClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 3 { // this reply breaks off and is requested again
			(&modeltest.TruncatingHandler{Handler: mock, Limit: 600}).ServeHTTP(w, r)
			return
		}
		mock.ServeHTTP(w, r)
	}))

	var first, second bytes.Buffer
	want := runConversation(t, replay.NewRecordingClient("anthropic/claude-test", live, &first))
	require.Contains(t, want, model.ErrCutStream.Error())
	require.Contains(t, want, "rate_limit_error")
	require.Equal(t, 6, strings.Count(first.String(), "\n"))
	require.NotContains(t, first.String(), `"key"`, "no secrets")
	require.Contains(t, first.String(), `{"request":{"model":"anthropic/claude-test","max_tokens":16000,`)

	require.Equal(t, want, runConversation(t, replay.NewRecordingClient("anthropic/claude-test", parseReplayer(t, first.String()), &second)))
	require.Equal(t, first.String(), second.String())
}

// A replayed error is transient if the recorded one was, and has the same text.
func TestReplayedErrorsStayTransient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err       error
		transient bool
	}{
		{&model.APIError{Provider: "anthropic", Status: 529, Type: "overloaded_error", Message: "Overloaded", RetryAfter: 1500 * time.Millisecond}, true},
		{&model.APIError{Provider: "anthropic", Status: 500, Type: "api_error"}, true},
		{&model.APIError{Status: 429}, true},
		{&model.APIError{Status: 408}, true},
		{&model.APIError{Status: 409}, true},
		{&model.APIError{Status: 400}, false},
		{&model.APIError{Status: 401}, false},
		{&model.APIError{Status: 413}, false},
		{&model.APIError{Status: 0}, false},
		{fmt.Errorf("anthropic: %w: EOF", model.ErrCutStream), true},
		{fmt.Errorf("anthropic: %w: connection refused", model.ErrUnreachable), true},
		{errors.New("the script has no more replies"), false},
		{context.DeadlineExceeded, false},
	} {
		require.Equal(t, c.transient, model.IsTransient(c.err), c.err)
		var out bytes.Buffer
		_, err := modeltest.Ask(t.Context(), replay.NewRecordingClient("m", failingClient{c.err}, &out), modeltest.UserTextMessage("go"))
		require.Equal(t, c.err, err)
		_, again := modeltest.Ask(t.Context(), parseReplayer(t, out.String()), modeltest.UserTextMessage("go"))
		require.EqualError(t, again, c.err.Error())
		require.Equal(t, c.transient, model.IsTransient(again), out.String())
		if api, ok := errors.AsType[*model.APIError](c.err); ok {
			require.Equal(t, api, again)
		}
	}
}

type failingClient struct{ err error }

func (f failingClient) Complete(context.Context, model.Request, func(model.Delta)) (*model.Response, error) {
	return nil, f.err
}

func TestEqualRequestsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	const line = `{"request":{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":%q}]}],"max_tokens":16000},"response":{"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}}` + "\n"
	recording := fmt.Sprintf(line, "a", "a1") + "\n" + fmt.Sprintf(line, "b", "b1") + fmt.Sprintf(line, "a", "a2")
	client := parseReplayer(t, recording)
	modeltest.RequireReplyText(t, client, "b1", modeltest.UserTextMessage("b"))
	modeltest.RequireReplyText(t, client, "a1", modeltest.UserTextMessage("a"))
	modeltest.RequireReplyText(t, client, "a2", modeltest.UserTextMessage("a"))
	_, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("a"))
	require.EqualError(t, err, "calls.jsonl: the request was not recorded: all of the 3 calls in it have been played")

	file := filepath.Join(t.TempDir(), "calls.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(recording), 0o600))
	for range 2 { // each opened model plays from the beginning
		opened, err := open.Open("replay:"+file, open.Options{})
		require.NoError(t, err)
		modeltest.RequireReplyText(t, opened, "a1", modeltest.UserTextMessage("a"))
	}
	_, err = open.Open("replay:"+file+"x", open.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestNotRecordedNamesFirstDifference(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	base := model.Request{
		System:   []model.Block{model.Text("You are Eva, and " + strings.Repeat("é", 60))},
		Messages: []model.Message{modeltest.UserTextMessage("one"), modeltest.AssistantMessage(modeltest.ToolCallBlock("x", "run/cell~")), modeltest.UserMessage(modeltest.ToolResultBlock("x", "1"))},
		Tools:    []model.Tool{{Name: "t", InputSchema: []byte(`{"type":"object","a/b~c":1}`)}},
	}
	recorded := replay.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":[]}`+"\n"+`{"content":"ok"}`).Client(), &out)
	_, err := recorded.Complete(t.Context(), base, nil)
	require.NoError(t, err)
	half := 0.5
	for name, c := range map[string]struct {
		change func(*model.Request)
		want   string
	}{
		"text": {func(r *model.Request) { r.Messages[0] = modeltest.UserTextMessage("two") }, `at "/messages/0/content/0/text" the next recorded one has "one", this one has "two"`},
		"long text": {func(r *model.Request) {
			r.System = []model.Block{model.Text("You are Eva, and " + strings.Repeat("é", 59) + "è")}
		}, `at "/system/0/text" the next recorded one has …ééééééééé`},
		"more":       {func(r *model.Request) { r.Messages = append(r.Messages, modeltest.UserTextMessage("more")) }, `at "/messages/3" the next recorded one has nothing, this one has {"content":[{`},
		"less":       {func(r *model.Request) { r.Messages = r.Messages[:1] }, `at "/messages/1" the next recorded one has {"content":[{`},
		"a setting":  {func(r *model.Request) { r.Temperature = &half }, `at "/temperature" the next recorded one has nothing, this one has 0.5`},
		"max_tokens": {func(r *model.Request) { r.MaxTokens = 9 }, `at "/max_tokens" the next recorded one has 16000, this one has 9`},
		"odd key": {func(r *model.Request) {
			r.Tools = []model.Tool{{Name: "t", InputSchema: []byte(`{"type":"object","a/b~c":2}`)}}
		}, `at "/tools/0/input_schema/a~1b~0c" the next recorded one has 1, this one has 2`},
		"other shape": {func(r *model.Request) { r.Tools = []model.Tool{{Name: "t", InputSchema: []byte(`[]`)}} }, `at "/tools/0/input_schema" the next recorded one has {"a/b~c":1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := base
			request.Messages = append([]model.Message{}, base.Messages...)
			c.change(&request)
			client := parseReplayer(t, out.String())
			_, err := client.Complete(t.Context(), request, nil)
			require.ErrorContains(t, err, "calls.jsonl:1: the request was not recorded: "+c.want)
			require.False(t, model.IsTransient(err))
			request = base
			request.Model, request.MaxTokens = "another", model.DefaultMaxTokens
			_, err = client.Complete(t.Context(), request, nil)
			require.NoError(t, err, "a miss uses nothing up, and any model may be replayed")
		})
	}
}

// The members of a recorded line may come in any order and with white space, and a
// request may contain any JSON.
func TestRecordingLineMembersInAnyOrder(t *testing.T) {
	t.Parallel()
	const request = `{"max_tokens":16000,"messages":[{"role":"user","content":[{"type":"text","text":"\"request\":{} \ud800 é"}]}]}`
	const response = `{"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	for _, line := range []string{
		`{"request":` + request + `,"response":` + response + `}`,
		`{"response":` + response + `,"session":"request","request":` + request + `}`,
		" {\t\"at\" : \"2026-11-20T12:03:00Z\" , \"request\" : " + request + " , \"response\" : " + response + " } \r",
	} {
		modeltest.RequireReplyText(t, parseReplayer(t, line+"\n"), "ok", modeltest.UserTextMessage("\"request\":{} \ufffd é"))
	}
}

func TestMalformedRecordingLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                                       "calls.jsonl:1: unexpected EOF",
		"\n" + `{"request":{}}`:                   "calls.jsonl:2: a call has either response or error",
		`{"response":{}}`:                         "calls.jsonl:1: request: it must be an object",
		`{"request":[],"response":{}}`:            "calls.jsonl:1: request: it must be an object",
		`{"request":{},"reply":{}}`:               `calls.jsonl:1: json: unknown field "reply"`,
		`{"request":{},"error":{}} {}`:            "calls.jsonl:1: more than one call on a line",
		`{"request":{},"response":{"content":5}}`: "calls.jsonl:1: json: cannot unmarshal number",
	} {
		_, err := replay.ParseRecording("calls.jsonl", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

// Concurrent calls write their lines whole, each in one Write.
func TestEachLineIsOneWrite(t *testing.T) {
	t.Parallel()
	out := &separateWrites{}
	client := replay.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":"ok"}`).Client(), out)
	var group sync.WaitGroup
	for n := range 50 {
		group.Go(func() {
			_, _ = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage(strings.Repeat("x", n*100)))
		})
	}
	group.Wait()
	require.Len(t, out.all, 50)
	for _, piece := range out.all {
		require.Equal(t, 1, strings.Count(piece, "\n"))
		require.True(t, strings.HasSuffix(piece, "}\n"))
	}
	replay := parseReplayer(t, strings.Join(out.all, ""))
	for n := range 50 {
		modeltest.RequireReplyText(t, replay, "ok", modeltest.UserTextMessage(strings.Repeat("x", n*100)))
	}
}

// separateWrites is an io.Writer that keeps the data of each Write separately. It is
// not safe for concurrent use.
type separateWrites struct{ all []string }

func (p *separateWrites) Write(data []byte) (int, error) {
	p.all = append(p.all, string(data))
	return len(data), nil
}

func TestRecordWriteErrorFailsCall(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { full.Close() })
	_, err = modeltest.Ask(t.Context(), replay.NewRecordingClient("m", modeltest.ParseScript(t, `{"content":"ok"}`).Client(), full), modeltest.UserTextMessage("go"))
	require.ErrorContains(t, err, "record the call: write /dev/full: no space left")
}

func TestReplayerReturnsCancelCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := modeltest.Ask(ctx, parseReplayer(t, ""), modeltest.UserTextMessage("go"))
	require.ErrorIs(t, err, cause)
}

func FuzzParseRecording(f *testing.F) {
	f.Add([]byte(`{"request":{"max_tokens":1,"messages":[]},"response":{"content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{}}}`))
	f.Add([]byte(`{"request":{"a":[1,{"b":null}]},"error":{"text":"x","cause":"cut_stream"}}` + "\n\n" + `{"request":{},"error":{"text":"","refusal":{"status":429,"retry_after":1e9}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := replay.ParseRecording("r", data)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "r:"), err)
			return
		}
		client := r.NewReplayer()
		for range 3 {
			if reply, err := modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go")); err == nil {
				modeltest.MustMarshalJSON(t, reply)
			}
		}
	})
}

// Recording.CallsOfModel leaves out the calls of other models.
func TestCallsOfModel(t *testing.T) {
	t.Parallel()
	line := `{"request":{"model":%q,"max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]},"response":{"content":[{"type":"text","text":%q}],"stop_reason":"end_turn"}}` + "\n"
	recording, err := replay.ParseRecording("r", fmt.Appendf(fmt.Appendf(nil, line, "a", "from a"), line, "b", "from b"))
	require.NoError(t, err)
	req := model.Request{Params: model.Params{MaxTokens: 5}, Messages: []model.Message{{Role: model.RoleUser, Content: []model.Block{model.Text("hi")}}}}
	for name, want := range map[string]string{"a": "from a", "b": "from b"} {
		reply, err := recording.CallsOfModel(name).NewReplayer().Complete(t.Context(), req, nil)
		require.NoError(t, err)
		require.Equal(t, want, model.JoinTextBlocks(reply.Content))
	}
	_, err = recording.CallsOfModel("c").NewReplayer().Complete(t.Context(), req, nil)
	require.ErrorIs(t, err, replay.ErrNotRecorded)
}
