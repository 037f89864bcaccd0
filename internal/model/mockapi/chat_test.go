package mockapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// postChatRequest posts a body to /v1/chat/completions of a test server. If change is not nil,
// it alters the request before it is sent.
func postChatRequest(t *testing.T, mock *mockapi.Server, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	return postMessageRequest(t, mock, body, func(r *http.Request) {
		r.URL.Path = "/v1/chat/completions"
		r.Header.Del("X-Api-Key")
		if change != nil {
			change(r)
		}
	})
}

func TestChatCompletionFormat(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"usage":{"input_tokens":2,"output_tokens":1,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`
	mock := mockapi.New(modeltest.ParseScript(t, line), nil)
	status, text := postChatRequest(t, mock, `{"model":"m","messages":[{"role":"user","content":"go"}]}`, nil)
	require.Equal(t, http.StatusOK, status)
	const usage = `"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10,"prompt_tokens_details":{"cache_write_tokens":4,"cached_tokens":3}}`
	require.JSONEq(t, `{"id":"chatcmpl-1","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls",
		"message":{"role":"assistant","content":"hi","refusal":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}],`+usage+`}`, text)

	status, text = postChatRequest(t, mock, `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"go"}]}`, nil)
	require.Equal(t, http.StatusOK, status)
	const head = `data: {"id":"chatcmpl-2","object":"chat.completion.chunk","created":0,"model":"m","choices":`
	part := func(delta, finish string) string {
		return head + `[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
	}
	require.Equal(t, part(`{"content":"","role":"assistant"}`, "null")+": a comment, to keep the connection alive\n\n"+
		part(`{"content":"hi"}`, "null")+
		part(`{"tool_calls":[{"function":{"name":"f","arguments":""},"id":"a","index":0,"type":"function"}]}`, "null")+
		part(`{"tool_calls":[{"function":{"arguments":"{\"x\":1}"},"index":0}]}`, "null")+
		part(`{}`, `"tool_calls"`)+head+`[],`+usage+"}\n\ndata: [DONE]\n\n", text)

	_, text = postChatRequest(t, mock, `{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}`, nil)
	require.NotContains(t, text, "usage")
}

func TestChatScriptedAPIErrors(t *testing.T) {
	t.Parallel()
	mock := mockapi.New(modeltest.ParseScript(t, `{"error":{"status":429,"retry_after":2}}
{"error":{"status":503,"body":"try later"}}
{"error":{"status":400,"body":{"error":{"message":"no","type":"t","param":null,"code":"c"}}}}`), nil)
	const body = `{"model":"m","messages":[{"role":"user","content":"go"}]}`
	status, text := postChatRequest(t, mock, body, nil)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.JSONEq(t, `{"error":{"message":"refused by the script","type":"rate_limit_error","param":null,"code":null}}`, text)
	status, text = postChatRequest(t, mock, body, nil)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "try later\n", text)
	_, text = postChatRequest(t, mock, body, nil)
	require.JSONEq(t, `{"error":{"message":"no","type":"t","param":null,"code":"c"}}`, text)

	status, text = postChatRequest(t, mock, body, nil)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "one more was asked for")
	status, text = postChatRequest(t, mock, body, func(r *http.Request) { r.Header.Set("Authorization", "key") })
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, text, `"type":"authentication_error"`)
	status, _ = postChatRequest(t, mock, body, func(r *http.Request) { r.Method = http.MethodGet })
	require.Contains(t, []int{http.StatusMethodNotAllowed, http.StatusNotFound}, status)
}

// The mock server answers 400 to each malformed chat request, and 200 to the same
// request without the fault.
func TestChatRequestValidation(t *testing.T) {
	t.Parallel()
	const hi = `{"role":"user","content":"hi"}`
	with := func(settings string) string { return `{"model":"m",` + settings + `"messages":[` + hi + `]}` }
	chat := func(messages ...string) string {
		return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
	}
	use := func(ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id))
		}
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	answer := func(id string) string {
		return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"r"}`, id)
	}
	tool := func(names ...string) string {
		var list []string
		for _, name := range names {
			list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`, name))
		}
		return with(`"tools":[` + strings.Join(list, ",") + `],`)
	}
	image := func(url string) string {
		return chat(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}}]}`)
	}
	replaced := func(text, old, by string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, by, 1)
	}
	cases := map[string]struct{ body, want string }{
		"fine":                     {chat(hi), ""},
		"fine, with calls":         {chat(`{"role":"system","content":"s"}`, hi, use("a", "b"), answer("b"), answer("a"), hi), ""},
		"fine, ids used again":     {chat(use("a"), answer("a"), use("a"), answer("a")), ""},
		"fine, tools":              {tool("a", "b"), ""},
		"fine, an image":           {image("data:image/png;base64,aGk="), ""},
		"fine, an image elsewhere": {image("https://example.com/a.png"), ""},
		"fine, settings":           {with(`"max_completion_tokens":1,"temperature":2,"reasoning_effort":"low","stream":true,"stream_options":{},`), ""},
		"no JSON":                  {`{"model":`, "cannot be read"},
		"no model":                 {`{"messages":[` + hi + `]}`, "model parameter"},
		"no messages":              {chat(), "at least one"},
		"no tokens":                {with(`"max_tokens":0,`), "max_tokens"},
		"tokens twice":             {with(`"max_tokens":1,"max_completion_tokens":1,`), "only one"},
		"too hot":                  {with(`"temperature":2.1,`), "temperature"},
		"unknown effort":           {with(`"reasoning_effort":"huge",`), "reasoning_effort"},
		"options without a stream": {with(`"stream_options":{},`), "stream_options"},
		"tools of one name":        {tool("a", "a"), "occurs more than once"},
		"tool with a strange name": {tool("a.b"), "not a valid name"},
		"tool with a long name":    {tool(strings.Repeat("a", 65)), "not a valid name"},
		"tool of another type":     {replaced(tool("a"), "function", "custom"), "tools[0].type"},
		"tool without a function":  {with(`"tools":[{"type":"function"}],`), "tools[0].type"},
		"schema of no object":      {replaced(tool("a"), "object", "string"), "parameters"},
		"unknown role":             {chat(replaced(hi, "user", "robot")), `messages[0]: role: \"robot\"`},
		"no content":               {chat(`{"role":"user"}`), "messages[0]: content: required"},
		"content is a number":      {chat(`{"role":"user","content":1}`), "must be a string or a list"},
		"no parts":                 {chat(`{"role":"user","content":[]}`), "must not be empty"},
		"unknown part":             {chat(`{"role":"user","content":[{"type":"tool_result"}]}`), "not one of text and image_url"},
		"image without a URL":      {image(""), "image_url.url: required"},
		"image that is none":       {image("data:image/png;base64,a"), "must be an image"},
		"image that is text":       {image("data:text/plain;base64,aGk="), "must be an image"},
		"image of the model":       {chat(`{"role":"assistant","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}`), "only the user"},
		"image of a tool":          {chat(use("a"), `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}`), "only the user"},
		"empty reply":              {chat(hi, `{"role":"assistant","content":null}`), "required without tool_calls"},
		"no calls":                 {chat(hi, `{"role":"assistant","content":"a","tool_calls":[]}`), "must not be empty"},
		"call without a name":      {chat(replaced(use("a"), `"f"`, `""`), answer("a")), "messages[0]: tool_calls[0].function.name"},
		"call with a strange name": {chat(replaced(use("a"), `"f"`, `"a b"`), answer("a")), "not a valid name"},
		"call without an id":       {chat(use(""), answer("")), "tool_calls[0].id"},
		"two calls of one id":      {chat(use("a", "a"), answer("a"), answer("a")), "tool_calls[1].id"},
		"call of another type":     {chat(replaced(use("a"), `"type":"function"`, `"type":"custom"`), answer("a")), "tool_calls[0].type"},
		"arguments are no string":  {chat(replaced(use("a"), `"{}"`, `{}`), answer("a")), "cannot be read"},
		"call without an answer":   {chat(hi, use("a"), hi), "missing a"},
		"call at the end":          {chat(hi, use("a")), "missing a"},
		"one of two without":       {chat(use("a", "b"), answer("a"), hi), "missing b"},
		"answer without a call":    {chat(hi, answer("a")), "messages[1]: tool_call_id"},
		"answered twice":           {chat(use("a"), answer("a"), answer("a")), "messages[2]: tool_call_id"},
		"late answer":              {chat(use("a"), answer("a"), hi, answer("a")), "messages[3]: tool_call_id"},
		"answer of nothing":        {chat(use("a"), replaced(answer("a"), `"r"`, "null")), "content: required"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many := strings.Repeat(`{"content":"ok"}`+"\n", 9)
			status, text := postChatRequest(t, mockapi.New(modeltest.ParseScript(t, many), nil), c.body, nil)
			if c.want == "" {
				require.Equal(t, http.StatusOK, status, text)
				return
			}
			require.Equal(t, http.StatusBadRequest, status, text)
			require.Contains(t, text, `"type":"invalid_request_error"`)
			require.Contains(t, text, c.want)
		})
	}
}

// The texts that a script expects are also found in messages of Chat Completions.
func TestChatScriptExpectations(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"tool_use","name":"create_cell","input":{}}],"expect":{"last_user_contains":"start"}}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[0]"}}],"expect":{"tool_result_contains":"cell_id"}}
{"content":"done","expect":{"tool_result_contains":"broke","last_user_contains":"more"}}`
	client := modeltest.OpenAIClientOfHandler(t, mockapi.New(modeltest.ParseScript(t, lines), nil))
	chat := []model.Message{modeltest.UserTextMessage("start")}
	reply, err := modeltest.Ask(t.Context(), client, chat...)
	require.NoError(t, err)
	chat = append(chat, modeltest.AssistantMessage(reply.Content...), modeltest.UserMessage(modeltest.ToolResultBlock(reply.Content[0].ID, "cell_id: c7")))
	reply, err = modeltest.Ask(t.Context(), client, chat...)
	require.NoError(t, err)
	require.JSONEq(t, `{"cell_id":"c7"}`, string(reply.Content[0].Input))
	chat = append(chat, modeltest.AssistantMessage(reply.Content...), modeltest.UserMessage(model.ToolResult(reply.Content[0].ID, true, model.Text("it broke")), model.Text("more")))
	reply, err = modeltest.Ask(t.Context(), client, chat...)
	require.NoError(t, err)
	require.Equal(t, "done", model.JoinTextBlocks(reply.Content))
}

func FuzzChatRequest(f *testing.F) {
	f.Add(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"a"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"n","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"r"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		mock := mockapi.New(modeltest.ParseScript(t, `{"content":"ok"}`), nil)
		status, text := postChatRequest(t, mock, body, nil)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, status, text)
	})
}
