package model_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/model"
)

// post sends a body to a mock server without any help of a client.
func post(t *testing.T, mock *model.Mock, body string, change func(*http.Request)) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
	r.Header.Set("X-Api-Key", "k")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	mock.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, string(text)
}

func TestMock_AnswersWithTheShapeOfTheAPI(t *testing.T) {
	t.Parallel()
	mock := model.NewMock(script(t, `{"content":"hi","usage":{"input_tokens":2,"output_tokens":1}}`), nil)
	status, text := post(t, mock, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"go"}]}`, nil)
	require.Equal(t, http.StatusOK, status)
	require.JSONEq(t, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}],
		"stop_reason":"end_turn","stop_sequence":null,
		"usage":{"input_tokens":2,"output_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}}`, text)

	status, text = post(t, mock, `{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"go"}]}`, nil)
	require.Equal(t, http.StatusOK, status)
	var names []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	require.Equal(t, []string{"message_start", "ping", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}, names)
}

func TestMock_RefusesWhoIsNotLetIn(t *testing.T) {
	t.Parallel()
	mock := model.NewMock(script(t, `{"content":"hi"}`), nil)
	status, text := post(t, mock, `{}`, func(r *http.Request) { r.Header.Del("X-Api-Key") })
	require.Equal(t, http.StatusUnauthorized, status)
	require.JSONEq(t, `{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"}}`, text)
	status, _ = post(t, mock, `{}`, func(r *http.Request) { r.URL.Path = "/v1/complete" })
	require.Equal(t, http.StatusNotFound, status)
	status, _ = post(t, mock, `{}`, func(r *http.Request) { r.Method = http.MethodGet })
	require.Equal(t, http.StatusMethodNotAllowed, status)
}

// The server says 400 where the real one does.
func TestMock_IsStrict(t *testing.T) {
	t.Parallel()
	const head = `{"model":"m","max_tokens":9,`
	use := func(ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"n","input":{}}`, id))
		}
		return `{"role":"assistant","content":[` + strings.Join(calls, ",") + `]}`
	}
	answer := func(ids ...string) string {
		var results []string
		for _, id := range ids {
			results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"r"}`, id))
		}
		return `{"role":"user","content":[` + strings.Join(results, ",") + `]}`
	}
	const hi = `{"role":"user","content":"hi"}`
	chat := func(messages ...string) string { return head + `"messages":[` + strings.Join(messages, ",") + `]}` }
	tools := func(names ...string) string {
		var list []string
		for _, name := range names {
			list = append(list, fmt.Sprintf(`{"name":%q,"input_schema":{"type":"object"}}`, name))
		}
		return head + `"tools":[` + strings.Join(list, ",") + `],"messages":[` + hi + `]}`
	}
	marked := func(n int) string {
		part := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
		return head + `"system":[` + part + `],"messages":[{"role":"user","content":[` + part + strings.Repeat(","+part, n-2) + `]}]}`
	}
	cases := map[string]struct{ body, want string }{
		"fine":                      {chat(hi), ""},
		"fine, with a tool":         {chat(hi, use("a", "b"), answer("b", "a")), ""},
		"fine, roles merged":        {chat(hi, hi, use("a"), use("b"), answer("a"), answer("b"), hi), ""},
		"fine, goes on itself":      {chat(hi, `{"role":"assistant","content":"And"}`), ""},
		"fine, four markers":        {marked(4), ""},
		"fine, tools":               {tools("a", "b"), ""},
		"no JSON":                   {`{"model":`, "cannot be read"},
		"no model":                  {`{"max_tokens":9,"messages":[` + hi + `]}`, "model: required"},
		"no max_tokens":             {`{"model":"m","messages":[` + hi + `]}`, "max_tokens: required"},
		"no tokens":                 {`{"model":"m","max_tokens":0,"messages":[` + hi + `]}`, "max_tokens: must be"},
		"too hot":                   {head + `"temperature":1.5,"messages":[` + hi + `]}`, "temperature"},
		"thinks too much":           {head + `"thinking":{"type":"enabled","budget_tokens":9},"messages":[` + hi + `]}`, "budget_tokens"},
		"no messages":               {chat(), "at least one"},
		"assistant first":           {chat(`{"role":"assistant","content":"hi"}`, hi), "messages.0.role"},
		"unknown role":              {chat(hi, `{"role":"tool","content":"hi"}`), "messages.1.role"},
		"empty message":             {chat(`{"role":"user","content":[]}`), "must not be empty"},
		"empty text":                {chat(`{"role":"user","content":""}`), "text must not be empty"},
		"blank text":                {chat(`{"role":"user","content":[{"type":"text","text":" \n"}]}`), "text must not be empty"},
		"empty text in a result":    {chat(hi, use("a"), `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]}]}`), "text must not be empty"},
		"empty system":              {head + `"system":[{"type":"text","text":""}],"messages":[` + hi + `]}`, "system.0"},
		"call without result":       {chat(hi, use("a"), hi), "tool_use a has no tool_result"},
		"call at the end":           {chat(hi, use("a")), "tool_use a has no tool_result"},
		"one of two without":        {chat(hi, use("a", "b"), answer("a")), "tool_use b has no tool_result"},
		"text before the result":    {chat(hi, use("a"), `{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`), "tool_use a has no tool_result"},
		"stray result":              {chat(hi, use("a"), answer("a", "b")), "tool_result for b has no tool_use"},
		"late result":               {chat(hi, use("a"), answer("a"), `{"role":"assistant","content":"x"}`, answer("a")), "tool_result for a has no tool_use"},
		"result first":              {chat(answer("a")), "tool_result for a has no tool_use"},
		"two results":               {chat(hi, use("a"), answer("a", "a")), "more than one tool_result for a"},
		"id used twice":             {chat(hi, use("a"), answer("a"), use("a"), answer("a")), "occurs more than once"},
		"strange id":                {chat(hi, use("a b"), answer("a b")), "not a valid id"},
		"call of the user":          {chat(strings.Replace(use("a"), "assistant", "user", 1)), "belongs to the assistant"},
		"result of the assistant":   {chat(hi, strings.Replace(answer("a"), "user", "assistant", 1)), "belongs to the user"},
		"input is no object":        {chat(hi, strings.Replace(use("a"), "{}", "[]", 1), answer("a")), "input: must be an object"},
		"unsigned thinking":         {chat(hi, `{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":""}]}`, hi), "signature"},
		"strange image":             {chat(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"aGk="}}]}`), "media_type"},
		"empty image":               {chat(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}`), "data: must not be empty"},
		"tools of one name":         {tools("a", "a"), "occurs more than once"},
		"tool with a strange name":  {tools("a.b"), "not a valid name"},
		"tool without a schema":     {head + `"tools":[{"name":"a"}],"messages":[` + hi + `]}`, "input_schema"},
		"five markers":              {marked(5), "at most 4"},
		"markers count in a result": {strings.Replace(marked(4), `]}]}`, `,{"type":"tool_result","content":[{"type":"text","text":"x","cache_control":{}}]}]}]}`, 1), "has no tool_use"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			many := strings.Repeat(`{"content":"ok"}`+"\n", 9)
			status, text := post(t, model.NewMock(script(t, many), nil), c.body, nil)
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

// Attempts of a run share one server and do not disturb each other, even when
// they say the same.
func TestMock_ManyConversationsAtOnce(t *testing.T) {
	t.Parallel()
	lines := `{"content":[{"type":"tool_use","name":"create_cell","input":{}}]}
{"content":[{"type":"tool_use","name":"run_cell","input":{"cell_id":"$cell[0]"}}],"expect":{"tool_result_contains":"cell_id"}}
{"content":"done"}`
	client := serve(t, model.NewMock(script(t, lines), nil))
	var group sync.WaitGroup
	failures := make(chan error, 40)
	for n := range cap(failures) {
		group.Go(func() {
			cell := fmt.Sprintf("c%d", n)
			chat := []model.Message{says("the same")}
			for turn := range 3 {
				reply, err := ask(t.Context(), client, chat...)
				if err != nil {
					failures <- err
					return
				}
				if turn == 1 && !strings.Contains(string(reply.Content[0].Input), `"`+cell+`"`) {
					failures <- fmt.Errorf("cell %s: got %s", cell, reply.Content[0].Input)
				}
				chat = append(chat, assistant(reply.Content...))
				for _, c := range model.ToolUses(reply.Content) {
					chat = append(chat, user(result(c.ID, "cell_id: "+cell)))
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
}

func FuzzMock(f *testing.F) {
	f.Add(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"model":"m","max_tokens":9,"stream":true,"system":"x","tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		mock := model.NewMock(script(t, `{"content":"ok"}`), nil)
		status, text := post(t, mock, body, nil)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, status, text)
	})
}
