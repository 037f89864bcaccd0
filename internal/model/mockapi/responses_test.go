package mockapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model/mockapi"
	"assay/internal/model/modeltest"
)

// postResponsesRequest posts a body to /v1/responses of a test server.
func postResponsesRequest(t *testing.T, mock *mockapi.Server, body string) (int, string) {
	t.Helper()
	return postMessageRequest(t, mock, body, func(r *http.Request) {
		r.URL.Path = "/v1/responses"
		r.Header.Del("X-Api-Key")
	})
}

func TestResponsesFormat(t *testing.T) {
	t.Parallel()
	line := `{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}],"usage":{"input_tokens":2,"output_tokens":1,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}`
	mock := mockapi.New(modeltest.ParseScript(t, line), nil)
	status, text := postResponsesRequest(t, mock, `{"model":"m","input":"go"}`)
	require.Equal(t, http.StatusOK, status, text)
	const output = `[{"type":"reasoning","id":"rs_1_0","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"thinking:c2ln"},
		{"type":"message","id":"msg_1_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[],"logprobs":[]}]},
		{"type":"function_call","id":"fc_1_2","status":"completed","call_id":"a","name":"f","arguments":"{\"x\":1}"}]`
	require.JSONEq(t, `{"id":"resp_1","object":"response","created_at":0,"model":"m","status":"completed","error":null,"incomplete_details":null,
		"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"output":`+output+`,
		"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":3,"cache_write_tokens":4},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":10}}`, text)

	status, text = postResponsesRequest(t, mock, `{"model":"m","stream":true,"input":"go"}`)
	require.Equal(t, http.StatusOK, status)
	require.True(t, strings.HasPrefix(text, "event: response.created\ndata: {"), text)
	require.Contains(t, text, "event: response.output_text.delta\n")
	number := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "data: ") {
			require.Contains(t, line, fmt.Sprintf(`"sequence_number":%d`, number))
			number++
		}
	}
	require.Contains(t, text[strings.LastIndex(text, "event: "):], `"status":"completed"`)
}

// Faults break a response as they break the replies of the other APIs.
func TestResponsesFaults(t *testing.T) {
	t.Parallel()
	post := func(fault string, isStreamed bool) (int, string) {
		mock := mockapi.New(modeltest.ParseScript(t, `{"content":"some text that takes a few events","fault":`+fault+`}`), nil)
		return postResponsesRequest(t, mock, fmt.Sprintf(`{"model":"m","stream":%t,"input":"go"}`, isStreamed))
	}
	for fault, want := range map[string]string{
		`{"end":4}`:                     "event: response.output_item.added",
		`{"end":400}`:                   "event: response.output_item.done",
		`{"garbage":"json","after":4}`:  "event: content_block_delta\ndata: {\"type\"",
		`{"garbage":"event","after":4}`: "event: surprise",
		`{"garbage":"html"}`:            "<!DOCTYPE html>",
		`{"error":{"type":"rate_limit_exceeded","message":"slow"},"after":5}`: `"error":{"code":"rate_limit_exceeded","message":"slow"}`,
	} {
		status, text := post(fault, true)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, text, want, fault)
		require.Equal(t, strings.Contains(fault, `"event"`), strings.Contains(text, "response.completed"), fault)
	}
	status, text := post(`{"error":{"type":"overloaded_error","message":"busy"}}`, false)
	require.Equal(t, 529, status)
	require.JSONEq(t, `{"error":{"message":"busy","type":"overloaded_error","param":null,"code":null}}`, text)
	for _, fault := range []string{`{"cut":3}`, `{"drop":true}`} {
		for _, isStreamed := range []bool{true, false} {
			require.PanicsWithValue(t, http.ErrAbortHandler, func() { post(fault, isStreamed) }, fault)
		}
	}
	mock := mockapi.New(modeltest.ParseScript(t, `{"error":{"status":429,"retry_after":2}}`), nil)
	status, text = postResponsesRequest(t, mock, `{"model":"m","input":"go"}`)
	require.Equal(t, http.StatusTooManyRequests, status)
	require.JSONEq(t, `{"error":{"message":"refused by the script","type":"rate_limit_error","param":null,"code":null}}`, text)
}

// The mock server answers 400 to each malformed request, and 200 to the same request without
// the fault.
func TestResponsesRequestValidation(t *testing.T) {
	t.Parallel()
	const hi = `{"role":"user","content":"hi"}`
	with := func(settings string) string { return `{"model":"m",` + settings + `"input":"hi"}` }
	input := func(items ...string) string { return `{"model":"m","input":[` + strings.Join(items, ",") + `]}` }
	call := func(id string) string {
		return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`, id)
	}
	output := func(id string) string {
		return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"r"}`, id)
	}
	image := func(url string) string {
		return `{"role":"user","content":[{"type":"input_image","image_url":"` + url + `"}]}`
	}
	const reasoning = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"x"}`
	tool := func(names ...string) string {
		var list []string
		for _, name := range names {
			list = append(list, fmt.Sprintf(`{"type":"function","name":%q,"parameters":{"type":"object"}}`, name))
		}
		return `"tools":[` + strings.Join(list, ",") + `],`
	}
	replaced := func(text, old, by string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, by, 1)
	}
	cases := map[string]struct{ body, want string }{
		"fine":                        {input(hi), ""},
		"fine, text":                  {with(""), ""},
		"fine, with calls":            {input(`{"role":"developer","content":"s"}`, hi, reasoning, call("a"), call("b"), output("b"), output("a"), hi), ""},
		"fine, ids used again":        {input(call("a"), output("a"), call("a"), output("a")), ""},
		"fine, an output later":       {input(call("a"), hi, output("a")), ""},
		"fine, tools":                 {with(tool("a", "b") + `"tool_choice":{"type":"function","name":"b"},`), ""},
		"fine, a tool of the API":     {with(`"tools":[{"type":"web_search"},{"type":"custom","name":"p"}],"tool_choice":"required",`), ""},
		"fine, images":                {input(image("data:image/png;base64,aGk="), image("https://example.com/a.png"), `{"role":"user","content":[{"type":"input_image","file_id":"f"}]}`), ""},
		"fine, settings":              {with(`"instructions":"s","max_output_tokens":16,"temperature":2,"reasoning":{"effort":"low","summary":"auto"},"stream":true,"stream_options":{},"store":true,`), ""},
		"fine, its own items":         {input(hi, `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"a","annotations":[]},{"type":"refusal","refusal":"b"}]}`, hi), ""},
		"fine, an item of a tool":     {input(reasoning, `{"type":"web_search_call","id":"ws_1"}`), ""},
		"no JSON":                     {`{"model":`, "cannot be read"},
		"no model":                    {`{"input":"hi"}`, "model: required"},
		"no input":                    {`{"model":"m"}`, "input: required"},
		"no items":                    {input(), "input: must not be empty"},
		"input is a number":           {`{"model":"m","input":1}`, "input: must be a string or a list of items"},
		"few tokens":                  {with(`"max_output_tokens":15,`), "max_output_tokens: must be at least 16"},
		"too hot":                     {with(`"temperature":2.1,`), "temperature"},
		"instructions are a list":     {with(`"instructions":[],`), "cannot be read"},
		"unknown effort":              {with(`"reasoning":{"effort":"huge"},`), "reasoning.effort"},
		"unknown summary":             {with(`"reasoning":{"summary":"huge"},`), "reasoning.summary"},
		"options without a stream":    {with(`"stream_options":{},`), "stream_options"},
		"a response that is gone":     {with(`"previous_response_id":"resp_7",`), `previous_response_id: the response \"resp_7\" is not found`},
		"tools of one name":           {with(tool("a", "a")), "tools[1].name: the name"},
		"tool with a strange name":    {with(tool("a.b")), "not a valid name"},
		"tool of an unknown type":     {with(replaced(tool("a"), `"function"`, `"novel"`)), `tools[0].type: \"novel\" is not known`},
		"tool in the form of a chat":  {with(`"tools":[{"type":"function","function":{"name":"a"}}],`), "tools[0].name"},
		"schema of no object":         {with(replaced(tool("a"), "object", "string")), "tools[0].parameters.type: must be object"},
		"choice of no kind":           {with(`"tool_choice":"some",`), `tool_choice: \"some\" is not`},
		"choice without tools":        {with(`"tool_choice":"required",`), "there are no tools"},
		"choice of no tool":           {with(tool("a") + `"tool_choice":{"type":"function","name":"b"},`), `there is no function \"b\"`},
		"choice of no type":           {with(`"tool_choice":{},`), "tool_choice: must be"},
		"unknown item":                {input(hi, `{"type":"novel"}`), `input[1].type: \"novel\" is not known`},
		"item in the form of a chat":  {input(`{"role":"tool","tool_call_id":"a","content":"r"}`), `input[0].role: \"tool\"`},
		"item that is not stored":     {input(`{"type":"item_reference","id":"msg_1"}`), "input[0].id: nothing is stored"},
		"no content":                  {input(`{"role":"user"}`), "input[0].content: required"},
		"content is a number":         {input(`{"role":"user","content":1}`), "input[0].content: must be a string or a list"},
		"no parts":                    {input(`{"role":"user","content":[]}`), "input[0].content: must not be empty"},
		"part in the form of a chat":  {input(`{"role":"user","content":[{"type":"text","text":"x"}]}`), `input[0].content[0].type: \"text\"`},
		"the model's part":            {input(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`), `content[0].type: \"output_text\"`},
		"the user's part":             {input(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), `content[0].type: \"input_text\"`},
		"image without a URL":         {input(image("")), "content[0].image_url: required"},
		"image that is none":          {input(image("data:image/png;base64,a")), "must be an image in base64"},
		"id of another kind":          {input(`{"type":"message","id":"x","role":"assistant","content":"a"}`), "input[0].id: must begin with msg_"},
		"call with another id":        {input(replaced(call("a"), `"type"`, `"id":"call_1","type"`), output("a")), "input[0].id: must begin with fc_"},
		"call without an id":          {input(call(""), output("")), "input[0].call_id: required"},
		"call with a strange name":    {input(replaced(call("a"), `"f"`, `"a b"`), output("a")), "input[0].name"},
		"call without arguments":      {input(replaced(call("a"), `,"arguments":"{}"`, ``), output("a")), "input[0].arguments: required"},
		"arguments are no string":     {input(replaced(call("a"), `"{}"`, `{}`), output("a")), "must be a string or a list of items"},
		"two calls of one id":         {input(call("a"), call("a"), output("a"), output("a")), "input[1].call_id"},
		"call without an output":      {input(hi, call("a"), hi), "no output for the function calls a"},
		"one of two without":          {input(call("a"), call("b"), output("a")), "no output for the function calls b"},
		"output without a call":       {input(hi, output("a")), "input[1].call_id"},
		"output before its call":      {input(output("a"), call("a")), "input[0].call_id"},
		"two outputs":                 {input(call("a"), output("a"), output("a")), "input[2].call_id"},
		"output of nothing":           {input(call("a"), replaced(output("a"), `"r"`, "null")), "input[1].output: required"},
		"output of a part of a reply": {input(call("a"), replaced(output("a"), `"r"`, `[{"type":"output_text","text":"x"}]`)), "input[1].output[0].type"},
		"reasoning at the end":        {input(hi, reasoning), "the reasoning rs_1 comes without the item that followed it"},
		"reasoning before the user":   {input(reasoning, hi), "input[1]: the reasoning rs_1"},
		"reasoning without a summary": {input(replaced(reasoning, `"summary"`, `"s"`), call("a"), output("a")), "input[0].summary: required"},
		"reasoning in a strange part": {input(replaced(reasoning, `summary_text`, `text`), call("a"), output("a")), "input[0].summary[0].type"},
		"reasoning with another id":   {input(replaced(reasoning, `rs_1`, `r`), call("a"), output("a")), "input[0].id: must begin with rs_"},
		"reasoning without an id":     {input(replaced(replaced(reasoning, `"id":"rs_1",`, ``), `,"encrypted_content":"x"`, ``), call("a"), output("a")), "input[0].id: required"},
		"reasoning that is nowhere":   {replaced(input(replaced(reasoning, `,"encrypted_content":"x"`, ``), call("a"), output("a")), `"model"`, `"store":false,"model"`), "input[0].encrypted_content: required"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many := strings.Repeat(`{"content":"ok"}`+"\n", 9)
			status, text := postResponsesRequest(t, mockapi.New(modeltest.ParseScript(t, many), nil), c.body)
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

// The texts that a script expects are also found in items of a request, and altered
// thinking is refused.
func TestResponsesScriptExpectations(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"a","name":"create_cell","input":{}}],"expect":{"last_user_contains":"start"}}
{"content":[{"type":"tool_use","id":"b","name":"run_cell","input":{"cell_id":"$cell[0]"}}],"expect":{"tool_result_contains":"cell_id"}}
{"content":"done","expect":{"tool_result_contains":"broke","last_user_contains":"more"}}`
	mock := mockapi.New(modeltest.ParseScript(t, lines), nil)
	input := `{"role":"user","content":"start"}`
	post := func(items string) (int, string) {
		input += items
		return postResponsesRequest(t, mock, `{"model":"m","input":[`+input+`]}`)
	}
	status, text := post("")
	require.Equal(t, http.StatusOK, status, text)
	status, text = post(`,{"type":"reasoning","id":"rs_1_0","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"thinking:c2ln"},{"type":"function_call","call_id":"a","name":"create_cell","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"cell_id: c7"}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, `{\"cell_id\":\"c7\"}`)
	status, text = post(`,{"type":"function_call","call_id":"b","name":"run_cell","arguments":"{}"},{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"it broke"}]},{"role":"user","content":[{"type":"input_text","text":"more"}]}`)
	require.Equal(t, http.StatusOK, status, text)
	require.Contains(t, text, "done")
	status, text = postResponsesRequest(t, mock, `{"model":"m","input":[`+strings.Replace(input, `"hm"`, `"hum"`, 1)+`]}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "thinking must come back as it was")
}

func FuzzResponsesRequest(f *testing.F) {
	f.Add(`{"model":"m","input":"hi"}`)
	f.Add(`{"model":"m","stream":true,"tools":[{"type":"function","name":"a"}],"tool_choice":{"type":"function","name":"a"},"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"function_call","call_id":"a","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"r"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		mock := mockapi.New(modeltest.ParseScript(t, `{"content":"ok"}`), nil)
		status, text := postResponsesRequest(t, mock, body)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, status, text)
	})
}
