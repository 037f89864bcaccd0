package conversation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
	"assay/internal/model/calllog"
	"assay/internal/model/conversation"
)

// agent makes calls whose requests are stored as in a trace.
type agent struct {
	t       *testing.T
	api     string
	encoder calllog.Encoder
	builder conversation.Builder
	calls   int64
}

func newAgent(t *testing.T, api string) *agent {
	t.Helper()
	return &agent{t: t, api: api}
}

// ask adds a request and returns the number of its call.
func (a *agent) ask(body string) int64 {
	a.t.Helper()
	a.calls++
	call := calllog.Call{Call: a.calls, API: a.api, Stored: a.encoder.Encode(a.calls, []byte(body))}
	require.NoError(a.t, a.builder.AddCall(call, time.Unix(a.calls, 0)))
	return a.calls
}

// answer adds the reply of a call.
func (a *agent) answer(call int64, isComplete bool, content string) {
	a.t.Helper()
	reply := calllog.Reply{Call: call, IsComplete: isComplete, Response: &model.Response{Usage: model.Usage{InputTokens: call}}}
	require.NoError(a.t, json.Unmarshal([]byte(content), &reply.Response.Content))
	a.builder.AddReply(reply, time.Unix(call, 0))
}

// call adds a request and its reply.
func (a *agent) call(body, content string) {
	a.t.Helper()
	a.answer(a.ask(body), true, content)
}

// lines returns each message in one line: the number of its thread, its role and its content.
func (a *agent) lines() (lines []string) {
	for _, m := range a.builder.Messages() {
		content := ""
		for _, b := range m.Content {
			content += " " + b.Text + b.Thinking + b.Name + model.JoinTextBlocks(b.Content)
		}
		lines = append(lines, fmt.Sprintf("%d %s%s", m.Thread, m.Role, content))
	}
	return lines
}

// The conversation of two rounds in each API, in which the agent sends back what the model replied in the
// form of the API, without thinking and with other cache markers.
func TestConversationOfEachAPI(t *testing.T) {
	t.Parallel()
	reply := `[{"type":"thinking","thinking":"hmm","signature":"s"},{"type":"text","text":"I run it.\n"},{"type":"tool_use","id":"c1","name":"run","input":{"b": 1, "a": [2.50]}}]`
	for api, bodies := range map[string][2]string{
		"messages": {
			`{"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"task","cache_control":{"type":"ephemeral"}}]}]}`,
			`{"system":"t","messages":[{"role":"user","content":"task"},{"role":"assistant","content":[{"type":"text","text":"I run it."},{"type":"tool_use","id":"c1","name":"run","input":{"a":[2.50],"b":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"out"},{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}]}`,
		},
		"chat": {
			`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"task"}]}`,
			`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"task"},{"role":"assistant","content":"I run it.","tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"a\": [2.50], \"b\": 1}"}}]},{"role":"tool","tool_call_id":"c1","content":"out"},{"role":"user","content":"go on"}]}`,
		},
		"responses": {
			`{"instructions":"s","input":"task"}`,
			`{"instructions":"s","input":[{"role":"user","content":"task"},{"type":"reasoning","id":"r","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I run it."}]},{"type":"function_call","call_id":"c1","name":"run","arguments":"{\"a\":[2.50],\"b\":1}"},{"type":"function_call_output","call_id":"c1","output":"out"},{"role":"user","content":"go on"}]}`,
		},
		"responses stored": {
			`{"input":"task"}`,
			`{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"c1","output":"out"},{"role":"user","content":"go on"}]}`,
		},
	} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, strings.Fields(api)[0])
			a.call(bodies[0], reply)
			a.call(bodies[1], `[{"type":"text","text":"done"}]`)
			require.Equal(t, []string{"0 user task", "0 assistant hmm I run it.\n run", "0 user out go on", "0 assistant done"}, a.lines())
			messages := a.builder.Messages()
			require.Equal(t, int64(2), messages[3].Usage.InputTokens)
			require.Nil(t, messages[2].Usage)
			require.Equal(t, time.Unix(2, 0), messages[2].At)
			require.Equal(t, "c1", messages[2].Content[0].ToolUseID)
		})
	}
}

// body returns a request of the Messages API. A message is "u text" or "a text".
func body(messages ...string) string {
	var list []string
	for _, m := range messages {
		role, text, _ := strings.Cut(m, " ")
		list = append(list, fmt.Sprintf(`{"role":%q,"content":%q}`, map[string]string{"u": "user", "a": "assistant"}[role], text))
	}
	return `{"model":"m","messages":[` + strings.Join(list, ",") + `]}`
}

func text(text string) string { return fmt.Sprintf(`[{"type":"text","text":%q}]`, text) }

func TestThreads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		run  func(a *agent)
		want []string
	}{
		"interleaved": {
			func(a *agent) {
				first, second := a.ask(body("u one")), a.ask(body("u two"))
				a.answer(second, true, text("2"))
				a.answer(first, true, text("1"))
				a.call(body("u two", "a 2", "u more two"), text("22"))
				a.call(body("u one", "a 1", "u more one"), text("11"))
				a.call(body("u one", "a 1", "u more one", "a 11", "u end"), text("111"))
			},
			[]string{"0 user one", "2 user two", "2 assistant 2", "0 assistant 1", "2 user more two", "2 assistant 22", "0 user more one", "0 assistant 11", "0 user end", "0 assistant 111"},
		},
		"a title in between": {
			func(a *agent) {
				a.call(body("u task"), text("1"))
				a.call(body("u task", "a 1", "u a title?"), text("Title"))
				a.call(body("u task", "a 1", "u go on"), text("2"))
				a.call(body("u task", "a 1", "u go on", "a 2", "u again"), text("3"))
			},
			[]string{"0 user task", "0 assistant 1", "2 user a title?", "2 assistant Title", "0 user go on", "0 assistant 2", "0 user again", "0 assistant 3"},
		},
		"a reply that is noticed after the next request": {
			func(a *agent) {
				first := a.ask(body("u task"))
				second := a.ask(body("u task", "a 1", "u on"))
				a.answer(first, true, `[{"type":"thinking","thinking":"h"},{"type":"text","text":"1"}]`)
				a.answer(second, true, text("2"))
			},
			[]string{"0 user task", "0 assistant h 1", "0 user on", "0 assistant 2"},
		},
		"called again after a broken reply": {
			func(a *agent) {
				a.answer(a.ask(body("u task")), false, text("1"))
				a.answer(a.ask(body("u task")), false, `[{"type":"thinking","thinking":"h"}]`)
				a.ask(body("u task"))
				a.call(body("u task"), text("12"))
				a.answer(a.ask(body("u task", "a 12", "u on")), false, text("and th"))
			},
			[]string{"0 user task", "0 assistant 12", "0 user on", "0 assistant and th"},
		},
		"a broken reply that the agent uses": {
			func(a *agent) {
				a.answer(a.ask(body("u task")), false, text("1"))
				a.call(body("u task", "a 1", "u on"), text("2"))
			},
			[]string{"0 user task", "0 assistant 1", "0 user on", "0 assistant 2"},
		},
		"old results were cleared": {
			func(a *agent) {
				a.call(body("u task"), text("1"))
				a.call(body("u task", "a 1", "u long"), text("2"))
				a.call(body("u task", "a 1", "u [cleared]", "a 2", "u long too"), text("3"))
				a.call(body("u task", "a 1", "u [cleared]", "a 2", "u [cleared]", "a 3", "u end"), text("4"))
			},
			[]string{"0 user task", "0 assistant 1", "0 user long", "0 assistant 2", "0 user long too", "0 assistant 3", "0 user end", "0 assistant 4"},
		},
		"the oldest rounds were dropped": {
			func(a *agent) {
				a.call(body("u task"), text("1"))
				a.call(body("u task", "a 1", "u x"), text("2"))
				a.call(body("u summary", "a 2", "u y"), text("3"))
			},
			[]string{"0 user task", "0 assistant 1", "0 user x", "0 assistant 2", "0 user y", "0 assistant 3"},
		},
		"the agent keeps no history": {
			func(a *agent) {
				a.call(body("u state 1"), text("1"))
				a.call(body("u state 2"), text("2"))
			},
			[]string{"0 user state 1", "0 assistant 1", "2 user state 2", "2 assistant 2"},
		},
		"examples": {
			func(a *agent) { a.call(body("u q", "a example", "u task"), text("1")) },
			[]string{"0 user q", "0 assistant example", "0 user task", "0 assistant 1"},
		},
		"no reply": {func(a *agent) { a.ask(body("u q")) }, []string{"0 user q"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAgent(t, "messages")
			test.run(a)
			require.Equal(t, test.want, a.lines())
		})
	}
}

// What cannot be read of a request is an error, and the rest is there.
func TestUnreadableRequests(t *testing.T) {
	t.Parallel()
	var b conversation.Builder
	err := b.AddCall(calllog.Call{Call: 1, API: "messages", Stored: calllog.Stored{Request: json.RawMessage(`{"messages":[{"role":"user","content":5},{"role":"user","content":"a"}]}`)}}, time.Time{})
	require.ErrorContains(t, err, "request of call 1: messages.0")
	err = b.AddCall(calllog.Call{Call: 9, API: "messages", Stored: calllog.Stored{Request: json.RawMessage(`{"messages":[]}`), Same: &calllog.Same{Call: 7, Count: 1}}}, time.Time{})
	require.EqualError(t, err, "request of call 9: that of call 7, to which it refers, is missing")
	require.Error(t, b.AddCall(calllog.Call{Call: 10, API: "messages", Stored: calllog.Stored{Request: json.RawMessage(`[]`)}}, time.Time{}))
	b.AddReply(calllog.Reply{Call: 77, IsComplete: true, Response: &model.Response{Content: []model.Block{model.Text("late")}}}, time.Time{})
	require.Len(t, b.Messages(), 2)
}

// A call takes no longer at the end of a long conversation: only what is new in it is read.
func TestLongConversationIsReadOnce(t *testing.T) { //nolint:paralleltest // it counts allocations
	const turns = 50
	allocations := func(turns int) float64 {
		var stored []calllog.Call
		var encoder calllog.Encoder
		messages := []string{"u task"}
		for i := range turns {
			call := int64(i + 1)
			stored = append(stored, calllog.Call{Call: call, API: "messages", Stored: encoder.Encode(call, []byte(body(messages...)))})
			messages = append(messages, fmt.Sprintf("a %d", i), fmt.Sprintf("u result %d %s", i, strings.Repeat("x", 500)))
		}
		return testing.AllocsPerRun(3, func() {
			var b conversation.Builder
			for i, call := range stored {
				require.NoError(t, b.AddCall(call, time.Time{}))
				b.AddReply(calllog.Reply{Call: call.Call, IsComplete: true, Response: &model.Response{Content: []model.Block{model.Text(fmt.Sprint(i))}}}, time.Time{})
			}
			require.Len(t, b.Messages(), 2*turns)
		})
	}
	require.Less(t, allocations(4*turns), 5*allocations(turns))
}

func FuzzAnyRequestIsRead(f *testing.F) {
	f.Add("messages", []byte(`{"messages":[{"role":"user","content":"a"}]}`), []byte(`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]}`))
	f.Add("responses", []byte(`{"input":"a"}`), []byte(`{"input":[{"type":"x_output"}],"previous_response_id":"r"}`))
	f.Add("chat", []byte(`{"messages":null}`), []byte(`{"messages":[{"role":"tool"}]}`))
	f.Fuzz(func(_ *testing.T, api string, first, second []byte) {
		var encoder calllog.Encoder
		var b conversation.Builder
		for i, text := range [][]byte{first, second, first} {
			call := int64(i + 1)
			_ = b.AddCall(calllog.Call{Call: call, API: api, Stored: encoder.Encode(call, text)}, time.Time{})
			b.AddReply(calllog.Reply{Call: call, IsComplete: i%2 == 0, Response: &model.Response{Content: []model.Block{model.Text("b")}}}, time.Time{})
		}
		b.Messages()
	})
}
