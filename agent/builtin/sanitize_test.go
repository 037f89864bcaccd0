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
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
)

// thinkingBlock returns a thinking block; a signature of "" makes it one that was cut off.
func thinkingBlock(signature string) model.Block {
	return model.Block{Type: model.BlockThinking, Thinking: "hm", Signature: signature}
}

// blockOfUnknownType returns a block of a type that the agent does not know.
func blockOfUnknownType() model.Block {
	var b model.Block
	if err := json.Unmarshal([]byte(`{"type":"server_tool_use","id":"srvtoolu_1","name":"n","input":{}}`), &b); err != nil {
		panic(err)
	}
	return b
}

// Whatever a reply is, it is kept in a form that the API accepts in the next request.
func TestCO4_OddRepliesAreSanitized(t *testing.T) {
	t.Parallel()
	redacted := model.Block{Type: model.BlockRedactedThinking, Data: "d"}
	marked := model.Text("marked")
	marked.Cache = true
	called := func(id, name, input string) *model.Response {
		return agenttest.NewModelReply(model.ToolUse(id, name, json.RawMessage(input)))
	}
	empty := model.Text("[The reply was empty.]")
	for name, c := range map[string]struct {
		reply *model.Response
		kept  []model.Block
	}{
		"nothing":                  {agenttest.NewModelReply(), []model.Block{empty}},
		"empty text":               {agenttest.NewModelReply(model.Text("")), []model.Block{empty}},
		"blank text":               {agenttest.NewModelReply(model.Text(" \n\t")), []model.Block{empty}},
		"thinking only":            {agenttest.NewModelReply(thinkingBlock("s")), []model.Block{thinkingBlock("s"), empty}},
		"unsigned thinking only":   {agenttest.NewModelReply(thinkingBlock("")), []model.Block{empty}},
		"redacted thinking only":   {agenttest.NewModelReply(redacted), []model.Block{redacted, empty}},
		"thinking at the end":      {agenttest.NewModelReply(thinkingBlock("s"), model.Text("a"), thinkingBlock("t")), []model.Block{thinkingBlock("s"), model.Text("a")}},
		"an image":                 {agenttest.NewModelReply(model.Image("image/png", "eA=="), model.Text("a")), []model.Block{model.Text("a")}},
		"a result":                 {agenttest.NewModelReply(model.ToolResult("x", false), model.Text("a")), []model.Block{model.Text("a")}},
		"a marker":                 {agenttest.NewModelReply(marked), []model.Block{model.Text("marked")}},
		"a call at the end":        {&model.Response{Content: []model.Block{agenttest.NewGetContextCall("x")}, StopReason: model.StopEndTurn}, []model.Block{agenttest.NewGetContextCall("x")}},
		"a call without id":        {called("", "get_context", `{}`), []model.Block{agenttest.NewGetContextCall("toolu")}},
		"a call with an odd id":    {called("fn.a:0 é", "get_context", `{}`), []model.Block{agenttest.NewGetContextCall("fn_a_0__")}},
		"a call with a long id":    {called(strings.Repeat("x", 999), "get_context", `{}`), []model.Block{agenttest.NewGetContextCall(strings.Repeat("x", 64))}},
		"the same id twice":        {agenttest.NewModelReply(agenttest.NewGetContextCall("x"), agenttest.NewGetContextCall("x"), agenttest.NewGetContextCall("x_2")), []model.Block{agenttest.NewGetContextCall("x"), agenttest.NewGetContextCall("x_2"), agenttest.NewGetContextCall("x_2_2")}},
		"an id of an earlier turn": {agenttest.NewModelReply(agenttest.NewGetContextCall("first")), []model.Block{agenttest.NewGetContextCall("first_2")}},
		"a call without name":      {called("x", "", `{}`), []model.Block{model.ToolUse("x", "unnamed", []byte(`{}`))}},
		"a call with an odd name":  {called("x", "get context()", `{}`), []model.Block{model.ToolUse("x", "get_context__", []byte(`{}`))}},
		"no input":                 {called("x", "get_context", ``), []model.Block{agenttest.NewGetContextCall("x")}},
		"an input that is null":    {called("x", "get_context", `null`), []model.Block{agenttest.NewGetContextCall("x")}},
		"an input that is a list":  {called("x", "get_context", `[1]`), []model.Block{agenttest.NewGetContextCall("x")}},
		"an input that is no JSON": {called("x", "get_context", `{"a`), []model.Block{agenttest.NewGetContextCall("x")}},
		"an input too deep":        {called("x", "get_context", strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000)), []model.Block{agenttest.NewGetContextCall("x")}},
		"an input just too deep":   {called("x", "get_context", `{"a":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`), []model.Block{agenttest.NewGetContextCall("x")}},
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
		"an unknown block": {agenttest.NewModelReply(blockOfUnknownType(), model.Text("a")), []model.Block{blockOfUnknownType(), model.Text("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, m := startAgentOnReplies(t, builtin.Config{}, nil, agenttest.NewModelReply(agenttest.NewGetContextCall("first")), agenttest.NewModelReply(model.Text("ready")), c.reply)
			m.LastReply = agenttest.NewModelReply(model.Text("done"))
			p.InitAndAwaitReady(nil)
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, "done", p.QueryAndWait("and"))
			require.Equal(t, "done", p.QueryAndWait("again"))
			want, _ := json.Marshal(c.kept)
			have, _ := json.Marshal(p.Transcript()[5].Content)
			require.JSONEq(t, string(want), string(have))
			if id := model.ToolUses(c.kept); len(id) > 0 {
				require.Equal(t, id[0].ID, p.Transcript()[6].Content[0].ToolUseID)
			}
		})
	}
}

// A model that pauses again and again is called at most twenty times.
func TestCO5_EndlessPausesEndTheQuery(t *testing.T) {
	t.Parallel()
	p, m := startAgentOnReplies(t, builtin.Config{}, nil)
	m.LastReply = &model.Response{Content: []model.Block{model.Text("wait \n")}, StopReason: model.StopPauseTurn}
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 20, p.ModelReplyCount())
	require.Equal(t, "the model paused 20 times in a row", p.FramesOfType("agent_error")[0].StringField("error"))
	require.Equal(t, "wait", p.Transcript()[1].Content[0].Text, "trailing white space is removed")
}

// A conversation with any replies, interrupted anywhere by a cancel, an init or a clearing of
// the history, goes on; and a new process could continue the messages that were sent.
func TestCO4_ConversationInterruptedAnywhere(t *testing.T) {
	t.Parallel()
	data := agenttest.BlankPNG(t, 3, 2)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := rapid.SliceOfN(rapid.Custom(randomReply), 0, 12).Draw(rt, "replies")
		replies := make([]any, len(drawn))
		for i := range drawn {
			replies[i] = drawn[i]
		}
		m := agenttest.NewReplyModel(t, replies...)
		m.LastReply = agenttest.NewModelReply(model.Text("done"))
		p := startAgent(t, builtin.Config{Model: m})
		p.SetActionHook(func(action string, params frame, tx string) bool {
			if action == "run_cell" {
				p.RespondToAction(tx, nil)
				p.FinishRun(params.StringField("cell_id"), 1, frame{"cell_outputs": []any{frame{"output_type": "display_data", "data": frame{"image/png": data}}}})
			}
			return action == "run_cell"
		})
		p.InitAndAwaitReady(nil)
		for n := range rapid.IntRange(1, 4).Draw(rt, "queries") {
			after := rapid.IntRange(1, 25).Draw(rt, "frames")
			message := rapid.SampledFrom([]string{"", "agent_cancel", "init", "agent_clear_history"}).Draw(rt, "interruption")
			if message != "" {
				p.CallAfterFrames(after, nil, func() { p.SendFrame(frame{"type": message, "session_id": 7}) })
			}
			id := fmt.Sprint("q", n)
			p.SendFrame(frame{"type": "agent_query", "query": "go on", "request_id": id})
			p.AwaitFrame(0, "the end of "+id, func(f frame) bool {
				return f.ObjectField("metadata").StringField("type") == "ended" && f.ObjectField("metadata").StringField("request_id") == id
			})
		}
		if rejections := m.RejectionReasons(); len(rejections) > 0 {
			rt.Fatalf("the API rejects a request: %s", rejections[0])
		}
		history := p.Transcript()
		cut := rapid.IntRange(0, len(history)).Draw(rt, "kill")
		status, text := agenttest.CheckTranscript(append(builtin.RepairMessages(history[:cut]), builtin.UserMessage(model.Text("go on"))))
		if status != http.StatusOK {
			rt.Fatalf("killed after %d messages: %s", cut, text)
		}
	})
}

// randomReply draws a reply of any kind.
func randomReply(t *rapid.T) *model.Response {
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
			return thinkingBlock(rapid.SampledFrom([]string{"", "s"}).Draw(t, "signature"))
		case 2:
			return model.Block{Type: model.BlockRedactedThinking, Data: "d"}
		case 3:
			return blockOfUnknownType()
		case 4:
			return model.ToolResult("a", false, model.Text("x"))
		default:
			c := call.Draw(t, "call")
			return model.ToolUse(id.Draw(t, "id"), c[0], json.RawMessage(c[1]))
		}
	})
	reply := agenttest.NewModelReply(rapid.SliceOfN(block, 0, 4).Draw(t, "content")...)
	stops := []model.StopReason{reply.StopReason, reply.StopReason, reply.StopReason, "", "bored"}
	stops = append(stops, model.StopToolUse, model.StopEndTurn, model.StopMaxTokens, model.StopPauseTurn, model.StopRefusal, model.StopContextExceeded)
	reply.StopReason = rapid.SampledFrom(stops).Draw(t, "stop")
	return reply
}
