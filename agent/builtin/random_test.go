package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin"
	"assay/internal/model"
)

func thinking(signature string) model.Block {
	return model.Block{Type: model.BlockThinking, Thinking: "hm", Signature: signature}
}

// odd is a block of a type that the agent does not know.
func odd() model.Block {
	var b model.Block
	if err := json.Unmarshal([]byte(`{"type":"server_tool_use","id":"srvtoolu_1","name":"n","input":{}}`), &b); err != nil {
		panic(err)
	}
	return b
}

// A reply may be anything: it is kept such that the next request is taken.
func TestCO4_OddReplies(t *testing.T) {
	t.Parallel()
	redacted := model.Block{Type: model.BlockRedactedThinking, Data: "d"}
	marked := model.Text("marked")
	marked.Cache = true
	called := func(id, name, input string) *model.Response {
		return replies(model.ToolUse(id, name, json.RawMessage(input)))
	}
	empty := model.Text("[The reply was empty.]")
	for name, c := range map[string]struct {
		reply *model.Response
		kept  []model.Block
	}{
		"nothing":                  {replies(), []model.Block{empty}},
		"empty text":               {replies(model.Text("")), []model.Block{empty}},
		"blank text":               {replies(model.Text(" \n\t")), []model.Block{empty}},
		"thinking only":            {replies(thinking("s")), []model.Block{thinking("s"), empty}},
		"unsigned thinking only":   {replies(thinking("")), []model.Block{empty}},
		"redacted thinking only":   {replies(redacted), []model.Block{redacted, empty}},
		"thinking at the end":      {replies(thinking("s"), model.Text("a"), thinking("t")), []model.Block{thinking("s"), model.Text("a")}},
		"an image":                 {replies(model.Image("image/png", "eA=="), model.Text("a")), []model.Block{model.Text("a")}},
		"a result":                 {replies(model.ToolResult("x", false), model.Text("a")), []model.Block{model.Text("a")}},
		"a marker":                 {replies(marked), []model.Block{model.Text("marked")}},
		"a call at the end":        {&model.Response{Content: []model.Block{call("x")}, StopReason: model.StopEndTurn}, []model.Block{call("x")}},
		"a call without id":        {called("", "get_context", `{}`), []model.Block{call("toolu")}},
		"a call with an odd id":    {called("fn.a:0 é", "get_context", `{}`), []model.Block{call("fn_a_0__")}},
		"a call with a long id":    {called(strings.Repeat("x", 999), "get_context", `{}`), []model.Block{call(strings.Repeat("x", 64))}},
		"the same id twice":        {replies(call("x"), call("x"), call("x_2")), []model.Block{call("x"), call("x_2"), call("x_2_2")}},
		"an id of an earlier turn": {replies(call("first")), []model.Block{call("first_2")}},
		"a call without name":      {called("x", "", `{}`), []model.Block{model.ToolUse("x", "unnamed", []byte(`{}`))}},
		"a call with an odd name":  {called("x", "get context()", `{}`), []model.Block{model.ToolUse("x", "get_context__", []byte(`{}`))}},
		"no input":                 {called("x", "get_context", ``), []model.Block{call("x")}},
		"an input that is null":    {called("x", "get_context", `null`), []model.Block{call("x")}},
		"an input that is a list":  {called("x", "get_context", `[1]`), []model.Block{call("x")}},
		"an input that is no JSON": {called("x", "get_context", `{"a`), []model.Block{call("x")}},
		"an input too deep":        {called("x", "get_context", strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000)), []model.Block{call("x")}},
		"an input just too deep":   {called("x", "get_context", `{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`), []model.Block{call("x")}},
		"an input just fit": {
			called("x", "get_context", `{"a":"[","b":`+strings.Repeat("[", 199)+strings.Repeat("]", 199)+`}`),
			[]model.Block{model.ToolUse("x", "get_context", []byte(`{"a":"[","b":`+strings.Repeat("[", 199)+strings.Repeat("]", 199)+`}`))},
		},
		"half a character": {
			called("x", "get_context", `{"b":1.50,"a":"\ud83d"}`),
			[]model.Block{model.ToolUse("x", "get_context", []byte("{\"a\":\"\ufffd\",\"b\":1.50}"))},
		},
		"bytes that are no text": {
			called("x", "get_context", "{\"b\":1.50,\"a\":\"\xff\"}"),
			[]model.Block{model.ToolUse("x", "get_context", []byte("{\"a\":\"\ufffd\",\"b\":1.50}"))},
		},
		"an unknown block": {replies(odd(), model.Text("a")), []model.Block{odd(), model.Text("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, h := startReplies(t, builtin.Config{}, nil, replies(call("first")), replies(model.Text("ready")), c.reply)
			h.last = replies(model.Text("done"))
			p.init(nil)
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, "done", p.ask("and"))
			require.Equal(t, "done", p.ask("again"))
			want, _ := json.Marshal(c.kept)
			have, _ := json.Marshal(p.history()[5].Content)
			require.JSONEq(t, string(want), string(have))
			if id := model.ToolUses(c.kept); len(id) > 0 {
				require.Equal(t, id[0].ID, p.history()[6].Content[0].ToolUseID)
			}
		})
	}
}

// A model that pauses for ever is asked no more.
func TestCO5_PausesWithoutEnd(t *testing.T) {
	t.Parallel()
	p, h := startReplies(t, builtin.Config{}, nil)
	h.last = &model.Response{Content: []model.Block{model.Text("wait \n")}, StopReason: model.StopPauseTurn}
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 20, calls(p))
	require.Equal(t, "the model paused 20 times in a row", p.of("agent_error")[0].text("error"))
	require.Equal(t, "wait", p.history()[1].Content[0].Text, "what is continued ends in no white space")
}

// Conversations of all sorts of replies, interrupted anywhere by a cancel, an
// init, or the loss of their history, go on; and what was committed by then is
// what a new process could go on with.
func TestCO4_ConversationsCutAnywhere(t *testing.T) {
	t.Parallel()
	data := pngOf(t, 3, 2)
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Custom(anyReply), 0, 12).Draw(rt, "replies")
		script := make([]any, len(all))
		for i := range all {
			script[i] = all[i]
		}
		h := &hostile{replies: script, last: replies(model.Text("done"))}
		p := start(t, builtin.Run, builtin.Config{Model: h})
		p.onAction(func(action string, params frame, tx string) bool {
			if action == "run_cell" {
				p.answer(tx, nil)
				p.result(params.text("cell_id"), 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{"image/png": data}}}})
			}
			return action == "run_cell"
		})
		p.init(nil)
		for n := range rapid.IntRange(1, 4).Draw(rt, "queries") {
			after := rapid.IntRange(1, 25).Draw(rt, "frames")
			message := rapid.SampledFrom([]string{"", "agent_cancel", "init", "agent_clear_history"}).Draw(rt, "interruption")
			if message != "" {
				p.interruptAfter(after, frame{"type": message, "session_id": 7})
			}
			id := fmt.Sprint("q", n)
			p.send(frame{"type": "agent_query", "query": "go on", "request_id": id})
			p.await(0, "the end of "+id, func(f frame) bool {
				return f.object("metadata").text("type") == "ended" && f.object("metadata").text("request_id") == id
			})
		}
		if faults := h.faults(); len(faults) > 0 {
			rt.Fatalf("the strict server refuses: %s", faults[0])
		}
		history := p.history()
		cut := rapid.IntRange(0, len(history)).Draw(rt, "kill")
		status, text := judge(append(builtin.Repair(history[:cut]), user(model.Text("go on"))))
		if status != http.StatusOK {
			rt.Fatalf("killed after %d messages: %s", cut, text)
		}
	})
}

// interruptAfter sends a frame as soon as the agent has sent that many more.
func (p *peer) interruptAfter(count int, message frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onFrame = func(frame) {
		if count--; count == 0 {
			p.send(message)
		}
	}
}

// anyReply draws a reply.
func anyReply(t *rapid.T) *model.Response {
	id := rapid.SampledFrom([]string{"", "a", "a", "b", "c d"})
	call := rapid.SampledFrom([][2]string{
		{"get_context", `{}`},
		{"run_cell", `{"cell_id":"c1"}`},
		{"create_cell", `{"position":0,"source":"print 1","auto_run":true}`},
		{"create_cell", `{"position":0,"source":"x"}`},
		{"execute_code", `{"code":"1"}`},
		{"fly", `{}`},
		{"", `[]`},
		{"get_context", `{"a":"\ud83d"}`},
		{"submit_response", `{"summary":"s","next_status":"done"}`},
		{"submit_response", `{"summary":"s","next_status":"thinking","continue":true}`},
	})
	block := rapid.Custom(func(t *rapid.T) model.Block {
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			return model.Text(rapid.SampledFrom([]string{"", " ", "a", "b \n", "\xff"}).Draw(t, "text"))
		case 1:
			return thinking(rapid.SampledFrom([]string{"", "s"}).Draw(t, "signature"))
		case 2:
			return model.Block{Type: model.BlockRedactedThinking, Data: "d"}
		case 3:
			return odd()
		case 4:
			return model.ToolResult("a", false, model.Text("x"))
		default:
			c := call.Draw(t, "call")
			return model.ToolUse(id.Draw(t, "id"), c[0], json.RawMessage(c[1]))
		}
	})
	reply := replies(rapid.SliceOfN(block, 0, 4).Draw(t, "content")...)
	stops := []model.StopReason{reply.StopReason, reply.StopReason, reply.StopReason, "", "bored"}
	stops = append(stops, model.StopToolUse, model.StopEndTurn, model.StopMaxTokens, model.StopPauseTurn, model.StopRefusal, model.StopContextExceeded)
	reply.StopReason = rapid.SampledFrom(stops).Draw(t, "stop")
	return reply
}
