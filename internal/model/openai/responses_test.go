package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
	"assay/internal/model/open"
	"assay/internal/model/openai"
	"assay/internal/model/wire"
)

// A reply that the client reads from the mock server's Responses API equals the reply that
// the script gives without a server, streamed or not.
func TestResponsesReplyEqualsScript(t *testing.T) {
	t.Parallel()
	lines := scriptedReplies()
	maps.Copy(lines, map[string]string{
		"two texts":          `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
		"reasoning":          `{"content":[{"type":"thinking","thinking":"hm, 数","signature":"openai:rs_7:gAAA"},{"type":"text","text":"ok"}]}`,
		"hidden reasoning":   `{"content":[{"type":"thinking","thinking":"","signature":"openai:rs_7:gAAA"},{"type":"tool_use","id":"a","name":"f","input":{}}]}`,
		"another's thinking": `{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"eHg="},{"type":"text","text":"ok"}]}`,
	})
	requireRepliesEqualScript(t, modeltest.ResponsesClientOfHandler, lines)
}

// collectedDeltas are the deltas of a reply.
type collectedDeltas struct {
	texts  map[int]string
	order  []string
	blocks map[int]*model.Block
}

func (c *collectedDeltas) add(d model.Delta) {
	switch d.Kind {
	case model.DeltaStart:
		c.order = append(c.order, fmt.Sprintf("start %d %s %s %s", d.Index, d.Type, d.ID, d.Name))
	case model.DeltaText:
		c.texts[d.Index] += d.Text
	case model.DeltaStop:
		c.order = append(c.order, fmt.Sprintf("stop %d %s", d.Index, d.Type))
		c.blocks[d.Index] = d.Block
	}
}

// completeWithDeltas makes a call and returns the reply and its deltas.
func completeWithDeltas(t *testing.T, client model.Client) (*model.Response, collectedDeltas) {
	t.Helper()
	c := collectedDeltas{texts: map[int]string{}, blocks: map[int]*model.Block{}}
	reply, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, c.add)
	require.NoError(t, err)
	return reply, c
}

func TestResponsesDeltasAddUpToTheReply(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"thinking","thinking":"数据","signature":"openai:rs_1:gAAA"},{"type":"text","text":"分析 and some more text"},{"type":"tool_use","id":"a","name":"run_cell","input":{"cell_id":"é1"}},{"type":"tool_use","id":"b","name":"x","input":{}}]}`
	for name, handler := range map[string]http.Handler{
		"streamed": mockapi.New(modeltest.ParseScript(t, line), nil),
		"whole":    unstreamedHandler{mockapi.New(modeltest.ParseScript(t, line), nil)},
	} {
		reply, got := completeWithDeltas(t, modeltest.ResponsesClientOfHandler(t, handler))
		require.Equal(t, "数据", got.texts[0], name)
		require.Equal(t, reply.Content[1].Text, got.texts[1], name)
		require.JSONEq(t, string(reply.Content[2].Input), got.texts[2], name)
		require.JSONEq(t, `{}`, got.texts[3], name)
		require.Equal(t, []string{
			"start 0 thinking  ", "stop 0 thinking", "start 1 text  ", "stop 1 text", "start 2 tool_use a run_cell", "stop 2 tool_use", "start 3 tool_use b x", "stop 3 tool_use",
		}, got.order, name)
		for i, b := range reply.Content {
			require.Equal(t, &b, got.blocks[i], name)
		}
	}
}

// Servers leave out some events, and items may come mixed: the deltas have the order of the
// blocks in the reply all the same.
func TestResponsesDeltasOfOddStreams(t *testing.T) {
	t.Parallel()
	const (
		message   = `{"type":"message","content":[{"type":"output_text","text":"ab"},{"type":"output_text","text":"c"}]}`
		call      = `{"type":"function_call","call_id":"x","name":"f","arguments":"{\"n\":1}"}`
		added     = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}`
		callAdded = `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"x","name":"f","arguments":""}}`
		a         = `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}`
		c         = `{"type":"response.output_text.delta","output_index":0,"content_index":1,"delta":"c"}`
		n         = `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"n\""}`
		done      = `{"type":"response.output_item.done","output_index":0,"item":` + message + `}`
		callDone  = `{"type":"response.output_item.done","output_index":1,"item":` + call + `}`
		end       = `{"type":"response.completed","response":{"status":"completed","output":[` + message + "," + call + `]}}`
	)
	want := `[{"type":"text","text":"ab"},{"type":"text","text":"c"},{"type":"tool_use","id":"x","name":"f","input":{"n":1}}]`
	for name, events := range map[string][]string{
		"complete":              {added, a, c, done, callAdded, n, callDone, end},
		"mixed":                 {callAdded, n, added, a, callDone, c, done, end},
		"no items end":          {added, a, c, callAdded, n, end},
		"nothing but the items": {done, callDone, end},
		"nothing but the end":   {end},
		"no output at the end":  {added, a, c, done, callAdded, n, callDone, `{"type":"response.completed","response":{"status":"completed","output":[]}}`},
		"no deltas":             {added, done, callAdded, callDone, end},
	} {
		reply, got := completeWithDeltas(t, modeltest.ResponsesClientOfHandler(t, newOKHandler("text/event-stream", modeltest.EventStreamBody(events...))))
		require.JSONEq(t, want, modeltest.MustMarshalJSON(t, reply.Content), name)
		require.Equal(t, map[int]string{0: "ab", 1: "c", 2: `{"n":1}`}, got.texts, name)
		require.Len(t, got.order, 6, name)
		require.Len(t, got.blocks, 3, name)
	}
}

func TestResponsesRequestBody(t *testing.T) {
	t.Parallel()
	hot := 1.5
	var path string
	body := bodySentTo(t, "gpt-5", &path, model.Request{
		Params:   model.Params{MaxTokens: 9, Temperature: &hot, ReasoningEffort: "low", Thinking: &model.ThinkingSetting{Type: "adaptive"}},
		System:   []model.Block{{Type: "text", Text: "You are <b>", Cache: true}, model.Text("State")},
		Messages: []model.Message{modeltest.UserTextMessage("é & ü")},
		Tools:    []model.Tool{{Name: "b", Description: "d", InputSchema: []byte(`{"type":"object"}`), Cache: true}},
	})
	require.Equal(t, "/v1/responses", path)
	require.Equal(t, `{"model":"gpt-5","instructions":"You are <b>\n\nState","input":[{"role":"user","content":[{"type":"input_text","text":"é & ü"}]}],`+
		`"tools":[{"type":"function","name":"b","description":"d","parameters":{"type":"object"},"strict":false}],`+
		`"max_output_tokens":16,"temperature":1.5,"reasoning":{"effort":"low"},"include":["reasoning.encrypted_content"],"store":false,"stream":true}`, body)
	require.Equal(t, `{"model":"gpt-4.1","input":[{"role":"user","content":[{"type":"input_text","text":"go"}]}],"max_output_tokens":16000,"store":false,"stream":true}`,
		bodySentTo(t, "gpt-4.1", &path, model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}))
}

// bodySentTo sends a request to a model through the Responses API and returns the body that
// the server received. It sets path to the path of the request's URL.
func bodySentTo(t *testing.T, id string, path *string, req model.Request) (body string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body, *path = string(text), r.URL.Path
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	client, err := open.Open("openai/"+id, open.Options{BaseURL: server.URL, API: wire.Responses})
	require.NoError(t, err)
	_, err = client.Complete(t.Context(), req, nil)
	require.Error(t, err)
	return body
}

// The reasoning of a model is requested if it reasons: OpenAI refuses to encrypt that of
// any other.
func TestReasoningIsRequestedOfReasoningModels(t *testing.T) {
	t.Parallel()
	var path string
	for id, want := range map[string]bool{
		"o1": true, "o3-mini": true, "o4-mini-2025-04-16": true, "gpt-5": true, "gpt-5.4-mini": true, "gpt-6.1-sol": true, "gpt-10": true, "gpt-5-codex": true, "codex-mini-latest": true,
		"gpt-4o": false, "gpt-4.1-mini": false, "gpt-5-chat-latest": false, "chatgpt-4o-latest": false, "gpt-3.5-turbo": false, "omni": false, "some/model": false,
	} {
		body := bodySentTo(t, id, &path, model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}})
		require.Equal(t, want, strings.Contains(body, `"include":["reasoning.encrypted_content"]`), id)
	}
}

func TestResponsesRequestInput(t *testing.T) {
	t.Parallel()
	png := model.Image("image/png", "aGk=")
	const (
		image     = `{"type":"input_image","image_url":"data:image/png;base64,aGk="}`
		callA     = `{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`
		outputA   = `{"type":"function_call_output","call_id":"a","output":"r"}`
		reasoning = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA:x"}`
	)
	text := func(s string) string { return `{"type":"input_text","text":"` + s + `"}` }
	user := func(parts ...string) string {
		return `{"role":"user","content":[` + strings.Join(parts, ",") + `]}`
	}
	thinking := func(signature string) model.Block {
		return model.Block{Type: "thinking", Thinking: "hm", Signature: signature}
	}
	own := thinking("openai:rs_1:gAAA:x")
	called, answered := modeltest.ToolCallBlock("a", "f"), modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"))
	cases := map[string]struct {
		messages []model.Message
		want     string
	}{
		"texts":                {[]model.Message{modeltest.UserMessage(model.Text("a"), model.Text(" "), model.Text("b")), modeltest.AssistantMessage(model.Text("c"), model.Text("\n"), model.Text("d"))}, user(text("a"), text("b")) + `,{"role":"assistant","content":"c"},{"role":"assistant","content":"d"}`},
		"an image":             {[]model.Message{modeltest.UserMessage(model.Text("a"), png)}, user(text("a"), image)},
		"a call":               {[]model.Message{modeltest.AssistantMessage(model.ToolUse("a", "run.x", []byte(`{"z":1,"a":2.50}`))), answered}, `{"type":"function_call","call_id":"a","name":"run_x","arguments":"{\"z\":1,\"a\":2.50}"},` + outputA},
		"a text around it":     {[]model.Message{modeltest.AssistantMessage(model.Text("c"), called), modeltest.UserMessage(model.Text("go on"), modeltest.ToolResultBlock("a", "r"))}, `{"role":"assistant","content":"c"},` + callA + "," + outputA + "," + user(text("go on"))},
		"a failed one":         {[]model.Message{modeltest.AssistantMessage(called), modeltest.UserMessage(model.ToolResult("a", true, model.Text("no")))}, callA + `,{"type":"function_call_output","call_id":"a","output":"[The tool failed.]\nno"}`},
		"nothing returned":     {[]model.Message{modeltest.AssistantMessage(called), modeltest.UserMessage(model.ToolResult("a", false))}, callA + `,{"type":"function_call_output","call_id":"a","output":"(nothing)"}`},
		"images returned":      {[]model.Message{modeltest.AssistantMessage(called), modeltest.UserMessage(model.ToolResult("a", false, png, model.Text("plot"), png))}, callA + `,{"type":"function_call_output","call_id":"a","output":[` + image + "," + text("plot") + "," + image + `]}`},
		"failed, with images":  {[]model.Message{modeltest.AssistantMessage(called), modeltest.UserMessage(model.ToolResult("a", true, model.Text("no"), png))}, callA + `,{"type":"function_call_output","call_id":"a","output":[` + text(`[The tool failed.]\nno`) + "," + image + `]}`},
		"failed, only images":  {[]model.Message{modeltest.AssistantMessage(called), modeltest.UserMessage(model.ToolResult("a", true, png))}, callA + `,{"type":"function_call_output","call_id":"a","output":[` + text(`[The tool failed.]\n`) + "," + image + `]}`},
		"reasoning, a call":    {[]model.Message{modeltest.AssistantMessage(own, called), answered}, reasoning + "," + callA + "," + outputA},
		"reasoning in between": {[]model.Message{modeltest.AssistantMessage(model.Text("c"), own, own, called), answered}, `{"role":"assistant","content":"c"},` + reasoning + "," + reasoning + "," + callA + "," + outputA},
		"reasoning, blank":     {[]model.Message{modeltest.AssistantMessage(own, model.Text(" "), called), answered}, reasoning + "," + callA + "," + outputA},
		"reasoning at the end": {[]model.Message{modeltest.AssistantMessage(model.Text("c"), own), modeltest.UserTextMessage("go")}, `{"role":"assistant","content":"c"},` + user(text("go"))},
		"nothing but that":     {[]model.Message{modeltest.UserTextMessage("a"), modeltest.AssistantMessage(own), modeltest.UserTextMessage("b")}, user(text("a")) + "," + user(text("b"))},
		"another's thinking":   {[]model.Message{modeltest.AssistantMessage(thinking("c2ln"), thinking(""), thinking("openai:rs_1"), thinking("openai::x"), thinking("openai:rs_1:"), model.Block{Type: "redacted_thinking", Data: "x"}, called), answered}, callA + "," + outputA},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var in struct{ Input json.RawMessage }
			var path string
			require.NoError(t, json.Unmarshal([]byte(bodySentTo(t, "gpt-5", &path, model.Request{Messages: c.messages})), &in))
			require.Equal(t, "["+c.want+"]", string(in.Input))

			mock := mockapi.New(modeltest.ParseScript(t, strings.Repeat(`{"content":"ok"}`+"\n", 9)), nil)
			_, err := modeltest.Ask(t.Context(), modeltest.ResponsesClientOfHandler(t, mock), c.messages...)
			require.NoError(t, err) // the mock server accepts it
		})
	}
}

// A whole tool loop with the mock server, which checks that calls have results and that
// reasoning comes before what followed it.
func TestResponsesToolLoop(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"thinking","thinking":"","signature":"openai:rs_1:gAAA"},{"type":"tool_use","id":"a","name":"plot","input":{"x":1}},{"type":"tool_use","id":"b","name":"run","input":{}}]}
{"expect":{"tool_result_contains":"broke"},"content":[{"type":"thinking","thinking":"","signature":"openai:rs_2:gBBB"},{"type":"text","text":"Again."},{"type":"tool_use","id":"c","name":"run","input":{}}]}
{"expect":{"tool_result_contains":"fine"},"content":"Done."}`
	var bodies []string
	mock := mockapi.New(modeltest.ParseScript(t, lines), nil)
	client := modeltest.ResponsesClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		r.Body = io.NopCloser(bytes.NewReader(body))
		mock.ServeHTTP(w, r)
	}))
	png := model.Image("image/png", "aGk=")
	messages := []model.Message{modeltest.UserTextMessage("go")}
	for _, results := range [][]model.Block{
		{model.ToolResult("a", false, png), model.ToolResult("b", true, model.Text("it broke"))},
		{model.ToolResult("c", false, model.Text("fine"))},
		nil,
	} {
		reply, err := modeltest.Ask(t.Context(), client, messages...)
		require.NoError(t, err)
		messages = append(messages, modeltest.AssistantMessage(reply.Content...), modeltest.UserMessage(results...))
	}
	require.Equal(t, "Done.", model.ReplyText(messages[5].Content))
	require.Contains(t, bodies[1], `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","call_id":"a",`)
	require.Contains(t, bodies[1], `"output":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]`)
	require.Contains(t, bodies[1], `"output":"[The tool failed.]\nit broke"`)
	require.Contains(t, bodies[2], `"encrypted_content":"gAAA"`)
	require.Contains(t, bodies[2], `{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"},{"role":"assistant","content":"Again."}`)
}

// The API of a model is Responses at OpenAI itself and Chat Completions elsewhere, unless it
// is chosen.
func TestChoiceOfTheAPI(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]wire.API{
		"": wire.Responses, "https://api.openai.com/v1": wire.Responses, "https://api.openai.com": wire.Responses,
		"http://127.0.0.1:8080/v1": wire.Chat, "https://eu.api.openai.com.example/v1": wire.Chat, "no URL": wire.Chat,
	} {
		require.Equal(t, want, openai.DefaultAPI(base), base)
	}
	for _, name := range []string{"chat", "responses"} {
		api, err := openai.ParseAPI(name)
		require.NoError(t, err)
		require.Equal(t, wire.API(name), api)
	}
	_, err := openai.ParseAPI("messages")
	require.EqualError(t, err, `the API must be responses or chat, not "messages"`)
}

// Behind a server that passes requests on to OpenAI, a chat has OpenAI's name of the limit.
func TestLimitOfAChatWithOpenAIBehindAnotherServer(t *testing.T) {
	t.Parallel()
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	for isOpenAI, want := range map[bool]string{true: `"max_completion_tokens":16000,`, false: `"max_tokens":16000,`} {
		client, err := open.Open("openai/gpt-5", open.Options{BaseURL: server.URL, IsOpenAI: isOpenAI})
		require.NoError(t, err)
		_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.Error(t, err)
		require.Contains(t, body, want)
	}
}

func TestErrorsInResponsesReplies(t *testing.T) {
	t.Parallel()
	const started = `{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`
	cases := map[string]struct {
		body, want string
		transient  bool
	}{
		"an error event":    {modeltest.EventStreamBody(started, `{"type":"error","code":"server_error","message":"Oh","param":null}`), "openai: 500 server_error: Oh", true},
		"failed":            {modeltest.EventStreamBody(started, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"},"output":[]}}`), "openai: 429 rate_limit_exceeded: Slow down", true},
		"failed, too long":  {modeltest.EventStreamBody(`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Long"}}}`), "openai: 400 context_length_exceeded: Long", false},
		"failed, no reason": {modeltest.EventStreamBody(`{"type":"response.failed","response":{"status":"failed","output":[]}}`), "openai: the reply broke off before its end", true},
		"whole, an error":   {`{"error":{"message":"No","type":"invalid_request_error"}}`, "openai: 400 invalid_request_error: No", false},
		"whole, failed":     {`{"status":"failed","error":{"code":"server_error","message":"Oh"},"output":[]}`, "openai: 500 server_error: Oh", true},
		"queued":            {`{"status":"queued","output":[]}`, "openai: the reply broke off before its end", true},
		"another reply":     {`{"object":"list"}`, "openai: the reply broke off before its end", true},
		"an end of nothing": {modeltest.EventStreamBody(`{"type":"response.completed"}`), "openai: the reply broke off before its end", true},
		"cut":               {modeltest.EventStreamBody(started), "openai: the reply broke off before its end", true},
		"HTML":              {"<!doctype html>\n<title>Sign in</title>", "openai: the answer is no stream of events, nor JSON: <!doctype html> <title>Sign in</title>", false},
		"empty":             {"", "openai: the reply broke off before its end", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modeltest.Ask(t.Context(), modeltest.ResponsesClientOfHandler(t, newOKHandler("text/plain", c.body)), modeltest.UserTextMessage("go"))
			require.EqualError(t, err, c.want)
			require.Equal(t, c.transient, model.IsTransient(err))
		})
	}
}

// A reply ends with its last event, also if the connection stays open.
func TestResponsesReplyEndsWithItsLastEvent(t *testing.T) {
	t.Parallel()
	client := modeltest.ResponsesClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}]}}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	modeltest.RequireReplyText(t, client, "hi", modeltest.UserTextMessage("go"))
}

// answeringTransport answers each request with status 200 and this body, without a network.
type answeringTransport []byte

func (a answeringTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(a))}, nil
}

// For any stream the client returns an error or a reply that can be encoded and whose deltas
// start and stop each block once; it neither panics nor hangs.
func FuzzReadResponsesStream(f *testing.F) {
	f.Add([]byte(modeltest.EventStreamBody(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`, `{"type":"response.output_text.delta","output_index":0,"content_index":2,"delta":"a"}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"a","name":"f"}}`, `{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[]}}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`)))
	f.Add([]byte(modeltest.EventStreamBody(
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1"}}`, `{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`,
		`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","id":"rs_1","encrypted_content":"x"},{"type":"web_search_call"}]}}`)))
	f.Add([]byte(`{"status":"completed","output":[{"type":"message","content":[{"text":"a"},{"refusal":"b"}]},{"type":"function_call","arguments":[1]}],"usage":{"input_tokens":-1}}`))
	f.Add([]byte("data: {\"type\":\"error\"}\r\n\r\n: x\r\ndata:[DONE]"))
	f.Fuzz(func(t *testing.T, body []byte) {
		client, err := open.Open("openai/gpt-5", open.Options{BaseURL: "http://server", API: wire.Responses, Transport: answeringTransport(body)})
		require.NoError(t, err)
		started, stopped := map[int]int{}, map[int]int{}
		reply, err := client.Complete(t.Context(), model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}, func(d model.Delta) {
			switch d.Kind {
			case model.DeltaStart:
				require.Equal(t, len(started), d.Index)
				started[d.Index]++
			case model.DeltaStop:
				stopped[d.Index]++
			case model.DeltaText:
				require.Equal(t, 1, started[d.Index])
				require.Zero(t, stopped[d.Index])
			}
		})
		if err != nil {
			require.Contains(t, err.Error(), "openai: ")
			return
		}
		require.NotEmpty(t, reply.StopReason)
		require.Equal(t, started, stopped)
		require.GreaterOrEqual(t, len(started), len(reply.Content))
		_, err = json.Marshal(reply)
		require.NoError(t, err)
	})
}
