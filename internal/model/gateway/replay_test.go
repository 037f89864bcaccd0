package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/gateway"
	"assay/internal/model/replay"
	"assay/internal/model/wire"
)

// startReplay starts an endpoint that plays a recording and has no vendors. It records into again.
func startReplay(t *testing.T, recording string, again io.Writer) *gatewayUnderTest {
	t.Helper()
	parsed, err := replay.ParseRecording("calls.jsonl", []byte(recording))
	require.NoError(t, err)
	return startGateway(t, gateway.Config{Replayer: parsed.NewReplayer(), Recorder: replay.Normalizer{}.NewRecorder(again)})
}

// received is what an agent has received.
type received struct {
	status int
	header http.Header
	reply  wire.Reply
	isCut  bool // the connection broke
}

// ask sends a request and reads the response, also one that breaks off.
func (g *gatewayUnderTest) ask(t *testing.T, format wire.API, body string) received {
	t.Helper()
	response, err := g.post(t.Context(), format.Path(), body)
	if err != nil {
		return received{isCut: true}
	}
	defer response.Body.Close()
	reader := wire.NewReplyReader(format, response.StatusCode, response.Header.Get("Content-Type"))
	_, err = io.Copy(reader, response.Body)
	return received{response.StatusCode, response.Header, reader.Reply(), err != nil}
}

// A recorded call gets the same answer in a replay, streamed or not, and the replay's recording is the same. Its
// price is that of the recorded model.
func TestReplaysOfEachAPI(t *testing.T) {
	t.Parallel()
	for name, test := range apis() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first, second, third bytes.Buffer
			live := startGateway(t, gateway.Config{
				Vendors: newVendors(t, func() {}), Recorder: replay.Normalizer{}.NewRecorder(&first),
				FindCard: func(provider, id string) *model.ModelCard { return model.FindModelCard(provider + "/" + id) },
			})
			body := strings.NewReplacer("claude-x", "claude-sonnet-4-5", "gpt-x", "gpt-5").Replace(test.body)
			want := live.ask(t, wire.API(name), body)
			live.Close()
			require.Contains(t, first.String(), `"api":"`+name+`","model":"`)
			require.Equal(t, "hi", model.ReplyText(want.reply.Response.Content))

			again := startReplay(t, first.String(), &second)
			got := again.ask(t, wire.API(name), body)
			require.Equal(t, want.reply, got.reply)
			require.NotEmpty(t, got.header.Get("X-Assay-Time"))
			again.Close()
			require.Equal(t, first.String(), second.String())
			require.NotNil(t, live.replies()[0].CostUSD)
			require.Equal(t, live.replies()[0].CostUSD, again.replies()[0].CostUSD)
			require.Equal(t, live.replies()[0].Model, again.replies()[0].Model)

			streamed := startReplay(t, first.String(), &third).ask(t, wire.API(name), streamedBody(strings.ReplaceAll(body, "-", "_")))
			require.Contains(t, streamed.header.Get("Content-Type"), "text/event-stream")
			require.Equal(t, want.reply.Response.Content, streamed.reply.Response.Content)
			require.True(t, streamed.reply.IsComplete)
		})
	}
}

// Errors of the API, refusals for now, and replies that break off come again as they came.
func TestReplaysOfErrors(t *testing.T) {
	t.Parallel()
	half := messagesStream[:strings.Index(messagesStream, "event: content_block_stop")]
	for name, handler := range map[string]http.HandlerFunc{
		"refusal": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			wire.WriteError(w, wire.Messages, http.StatusTooManyRequests, "rate_limit_error", "slowly")
		},
		"final": func(w http.ResponseWriter, _ *http.Request) {
			wire.WriteError(w, wire.Messages, http.StatusBadRequest, "", "no such thing")
		},
		"in the stream": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(half + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n"))
		},
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte(half))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"cut at once": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"unreachable": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var first, second bytes.Buffer
			live := startGateway(t, gateway.Config{Vendors: anthropicAndOpenAI(t, handler), Recorder: replay.Normalizer{}.NewRecorder(&first)})
			want := live.ask(t, wire.Messages, streamedBody(messagesBody))
			live.Close()
			again := startReplay(t, first.String(), &second)
			got := again.ask(t, wire.Messages, streamedBody(messagesBody))
			again.Close()
			require.Equal(t, want.status, got.status)
			require.Equal(t, want.reply.Error, got.reply.Error)
			require.Equal(t, want.isCut, got.isCut)
			require.Equal(t, want.header.Get("Retry-After"), got.header.Get("Retry-After"))
			require.Equal(t, want.reply.Response == nil, got.reply.Response == nil)
			require.Equal(t, first.String(), second.String())
			was, is := live.replies()[0], again.replies()[0]
			require.Equal(t, was.IsRefusedByVendor, is.IsRefusedByVendor)
			require.Equal(t, was.RetryAfter, is.RetryAfter)
		})
	}
}

// A call that was not recorded gets a final error that names the first difference, or the other API.
func TestCallsThatWereNotRecorded(t *testing.T) {
	t.Parallel()
	var recording bytes.Buffer
	live := startGateway(t, gateway.Config{Vendors: newVendors(t, func() {}), Recorder: replay.Normalizer{}.NewRecorder(&recording)})
	live.ask(t, wire.Chat, chatBody)
	live.Close()
	g := startReplay(t, recording.String(), io.Discard)
	status, header, text := g.call(t, wire.Messages.Path(), messagesBody)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "false", header.Get("X-Should-Retry"))
	require.Contains(t, text, "the next recorded one is of the API chat, this one of messages")
	_, _, text = g.call(t, wire.Chat.Path(), strings.ReplaceAll(chatBody, `"hi"`, `"ho"`))
	require.Contains(t, text, `calls.jsonl:1: the request was not recorded: at \"/messages/0/content\" the next recorded one has \"hi\", this one has \"ho\"`)
	status, _, _ = g.call(t, wire.Chat.Path(), streamedBody(chatBody))
	require.Equal(t, http.StatusOK, status)
	status, _, text = g.call(t, wire.Chat.Path(), chatBody)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "all of the 1 calls in it have been played")
}

// Calls beyond a limit are refused before they are made: they are not recorded, and a replay refuses them, too.
func TestRefusedCallsAreNotRecorded(t *testing.T) {
	t.Parallel()
	var recording bytes.Buffer
	g := startGateway(t, gateway.Config{
		Vendors: newVendors(t, func() {}), Recorder: replay.Normalizer{}.NewRecorder(&recording), Agent: gateway.Agent{Limits: gateway.Limits{MaxCalls: 1}},
	})
	g.call(t, "/v1/messages", messagesBody)
	g.call(t, "/v1/messages", messagesBody)
	g.Close()
	require.Equal(t, 1, strings.Count(recording.String(), "\n"))
}

// Lines are in the order of the requests, whichever reply ends first.
func TestRecordedLinesAreInOrder(t *testing.T) {
	t.Parallel()
	var recording bytes.Buffer
	arrived, finish := make(chan struct{}), make(chan struct{})
	vendors := anthropicAndOpenAI(t, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "slow") {
			close(arrived)
			<-finish
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(messagesReply))
	})
	g := startGateway(t, gateway.Config{Vendors: vendors, Recorder: replay.Normalizer{}.NewRecorder(&recording)})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		response, err := g.post(t.Context(), "/v1/messages", strings.ReplaceAll(messagesBody, `"hi"`, `"slow"`))
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}()
	<-arrived
	g.call(t, "/v1/messages", messagesBody)
	close(finish)
	<-ended
	g.Close()
	lines := strings.Split(strings.TrimSpace(recording.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], `"slow"`)
	require.Contains(t, lines[1], `"hi"`)
}

// An agent learns from its environment that its calls are answered from a recording.
func TestEnvironOfAReplay(t *testing.T) {
	t.Parallel()
	line := `{"at":"2026-01-02T03:04:05.000Z","request":{"messages":[]},"error":{"text":"busy"}}`
	parsed, err := replay.ParseRecording("r", []byte(line))
	require.NoError(t, err)
	replayer, err := replay.Normalizer{}.NewReplayer(parsed, replay.MatchOrder)
	require.NoError(t, err)
	g := startGateway(t, gateway.Config{Replayer: replayer})
	require.Contains(t, g.Environ(nil, "127.0.0.1:1"), gateway.ReplayVariable+"=2026-01-02T03:04:05Z")
}
