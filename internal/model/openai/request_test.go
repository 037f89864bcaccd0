package openai_test

import (
	"encoding/json"
	"io"
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
)

// bodySentForRequest sends a request through the client and returns the JSON body that the server
// received.
func bodySentForRequest(t *testing.T, req model.Request) string {
	t.Helper()
	var body []byte
	client := modeltest.OpenAIClientOfHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	_, err := client.Complete(t.Context(), req, nil)
	require.Error(t, err)
	return string(body)
}

// messagesSentForRequest sends a request through the client and returns the messages in the JSON
// body that the server received.
func messagesSentForRequest(t *testing.T, req model.Request) string {
	t.Helper()
	var in struct{ Messages json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(bodySentForRequest(t, req)), &in))
	return string(in.Messages)
}

func TestRequestBody(t *testing.T) {
	t.Parallel()
	hot := 1.5
	body := bodySentForRequest(t, model.Request{
		Params:   model.Params{MaxTokens: 9, Temperature: &hot, ReasoningEffort: "low", Thinking: &model.ThinkingSetting{Type: "adaptive"}},
		System:   []model.Block{{Type: "text", Text: "You are <b>", Cache: true}, model.Text("State")},
		Messages: []model.Message{modeltest.UserTextMessage("é & ü")},
		Tools:    []model.Tool{{Name: "b", Description: "d", InputSchema: []byte(`{"type":"object"}`), Cache: true}},
	})
	require.Equal(t, `{"model":"some/model","messages":[{"role":"system","content":"You are <b>\n\nState"},{"role":"user","content":"é & ü"}],`+
		`"tools":[{"type":"function","function":{"name":"b","description":"d","parameters":{"type":"object"}}}],`+
		`"max_tokens":9,"temperature":1.5,"reasoning_effort":"low","stream":true,"stream_options":{"include_usage":true}}`, body)
	require.Contains(t, bodySentForRequest(t, model.Request{Messages: []model.Message{modeltest.UserTextMessage("go")}}), `"max_tokens":16000,"stream":true`)
}

func TestRequestMessages(t *testing.T) {
	t.Parallel()
	png := model.Image("image/png", "aGk=")
	const url = `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}`
	use := func(ids ...string) model.Message {
		var blocks []model.Block
		for _, id := range ids {
			blocks = append(blocks, model.ToolUse(id, "run."+id, []byte(`{"z":1,"a":2.50}`)))
		}
		return modeltest.AssistantMessage(blocks...)
	}
	calls := func(ids ...string) string {
		var all []string
		for _, id := range ids {
			all = append(all, `{"id":"`+id+`","type":"function","function":{"name":"run_`+id+`","arguments":"{\"z\":1,\"a\":2.50}"}}`)
		}
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(all, ",") + `]}`
	}
	cases := map[string]struct {
		messages []model.Message
		want     string
	}{
		"texts":            {[]model.Message{modeltest.UserMessage(model.Text("a"), model.Text(" "), model.Text("b")), modeltest.AssistantMessage(model.Text("c"))}, `{"role":"user","content":"a\n\nb"},{"role":"assistant","content":"c"}`},
		"an image":         {[]model.Message{modeltest.UserMessage(model.Text("a"), png)}, `{"role":"user","content":[{"type":"text","text":"a"},` + url + `]}`},
		"a call":           {[]model.Message{use("a"), modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"))}, calls("a") + `,{"role":"tool","content":"r","tool_call_id":"a"}`},
		"a text with it":   {[]model.Message{modeltest.AssistantMessage(model.Text("c"), modeltest.ToolCallBlock("a", "f")), modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"), model.Text("go on"))}, `{"role":"assistant","content":"c","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"a"},{"role":"user","content":"go on"}`},
		"a failed one":     {[]model.Message{use("a"), modeltest.UserMessage(model.ToolResult("a", true, model.Text("no")))}, calls("a") + `,{"role":"tool","content":"[The tool failed.]\nno","tool_call_id":"a"}`},
		"nothing returned": {[]model.Message{use("a"), modeltest.UserMessage(model.ToolResult("a", false))}, calls("a") + `,{"role":"tool","content":"(nothing)","tool_call_id":"a"}`},
		"images returned": {[]model.Message{use("a", "b"), modeltest.UserMessage(model.ToolResult("a", false, png, png), model.ToolResult("b", false, model.Text("plot"), png), model.Text("and?"))}, calls("a", "b") +
			`,{"role":"tool","content":"(images, which follow)","tool_call_id":"a"},{"role":"tool","content":"plot","tool_call_id":"b"}` +
			`,{"role":"user","content":[{"type":"text","text":"What run.a returned (a):"},` + url + `,` + url + `,{"type":"text","text":"What run.b returned (b):"},` + url + `,{"type":"text","text":"and?"}]}`},
		"thinking stays":     {[]model.Message{modeltest.AssistantMessage(model.Block{Type: "thinking", Thinking: "hm"}, model.Text("c"))}, `{"role":"assistant","content":"c"}`},
		"nothing but that":   {[]model.Message{modeltest.UserTextMessage("a"), modeltest.AssistantMessage(model.Block{Type: "thinking", Thinking: "hm"}), modeltest.UserTextMessage("b")}, `{"role":"user","content":"a"},{"role":"user","content":"b"}`},
		"a nameless call":    {[]model.Message{modeltest.AssistantMessage(model.ToolUse("a", "", nil)), modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"))}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"_","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"a"}`},
		"a dotted name":      {[]model.Message{modeltest.AssistantMessage(model.ToolUse("a", "my_tool.v-2/\xff", nil)), modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"))}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"my_tool_v-2__","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"a"}`},
		"a call with a name": {[]model.Message{modeltest.AssistantMessage(modeltest.ToolCallBlock("a", strings.Repeat("é", 70))), modeltest.UserMessage(modeltest.ToolResultBlock("a", "r"))}, `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"` + strings.Repeat("_", 64) + `","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"a"}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := model.Request{Messages: c.messages}
			require.Equal(t, "["+c.want+"]", messagesSentForRequest(t, req))

			mock := mockapi.New(modeltest.ParseScript(t, strings.Repeat(`{"content":"ok"}`+"\n", 3)), nil)
			_, err := modeltest.OpenAIClientOfHandler(t, mock).Complete(t.Context(), req, nil)
			require.NoError(t, err) // the mock server accepts it
		})
	}
}

func TestRequestURLAndAPIKey(t *testing.T) {
	t.Parallel()
	type seen struct{ path, query, key string }
	var got seen
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = seen{r.URL.Path, r.URL.RawQuery, r.Header.Get("Authorization")}
		w.WriteHeader(http.StatusTeapot)
	})
	base := startServerForURL(t, server)
	for url, want := range map[string]seen{
		base:                      {"/v1/chat/completions", "", "Bearer key"},
		base + "/":                {"/v1/chat/completions", "", "Bearer key"},
		base + "/v1":              {"/v1/chat/completions", "", "Bearer key"},
		base + "/v1/":             {"/v1/chat/completions", "", "Bearer key"},
		base + "/api/v3?of=day":   {"/api/v3/chat/completions", "of=day", "Bearer key"},
		base + "/v1beta/openai//": {"/v1beta/openai/chat/completions", "", "Bearer key"},
	} {
		client, err := open.Open("openai/m", open.Options{BaseURL: url, APIKey: "key"})
		require.NoError(t, err)
		_, err = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
		require.Error(t, err)
		require.Equal(t, want, got, url)
	}
	client, err := open.Open("openai/m", open.Options{BaseURL: base})
	require.NoError(t, err)
	_, _ = modeltest.Ask(t.Context(), client, modeltest.UserTextMessage("go"))
	require.Empty(t, got.key)
}

func TestNewRejectsConfig(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                              "the model openai/gpt-5 needs an API key: set OPENAI_API_KEY, or the base URL of a server that needs none",
		"https://api.openai.com/v1":     "the model openai/gpt-5 needs an API key: set OPENAI_API_KEY, or the base URL of a server that needs none",
		"localhost:8080":                "the model openai/gpt-5: its base URL must begin with http:// or https:// and name a host",
		"http://":                       "the model openai/gpt-5: its base URL must begin with http:// or https:// and name a host",
		"http://me:secret@host:port/v1": "the model openai/gpt-5: its base URL must begin with http:// or https:// and name a host",
	} {
		_, err := open.Open("openai/gpt-5", open.Options{BaseURL: base})
		require.EqualError(t, err, want)
	}
	require.NoError(t, model.CheckName("openai/a/b:c"))
	require.Error(t, model.CheckName("openai/"))
	require.Equal(t, "openai/a/b", model.ResolveFileInName("openai/a/b", "/x"))
	for name, want := range map[string]string{"openai/a": "openai", "anthropic/a": "anthropic", "script:a": "", "a": ""} {
		require.Equal(t, want, model.ProviderOf(name))
	}
}

// A model at another base URL has another price than OpenAI's.
func TestIsThirdParty(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "https://api.openai.com", "https://api.openai.com/v1"} {
		require.False(t, openai.IsThirdParty("openai/gpt-5", base), base)
	}
	require.True(t, openai.IsThirdParty("openai/gpt-5", "http://127.0.0.1:8080"))
	require.False(t, openai.IsThirdParty("anthropic/claude-opus-5", "http://127.0.0.1:8080"))
	require.False(t, openai.IsThirdParty("script:x", "http://127.0.0.1:8080"))
}

// startServerForURL starts a test server with this HTTP handler and returns its base URL.
func startServerForURL(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
