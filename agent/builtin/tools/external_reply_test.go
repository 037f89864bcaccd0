package tools_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin/agenttest"
	"assay/internal/model"
)

// streamedTexts returns the texts and thoughts of all streamed replies, by block, and how many replies
// have ended.
func streamedTexts(s *agenttest.Server) (texts []string, ended int) {
	for _, f := range s.Frames() {
		switch f.StringField("type") {
		case "agent_stream_block_start":
			texts = append(texts, f.StringField("block_type")+":")
		case "agent_stream_delta":
			texts[len(texts)-1] += f.StringField("delta")
		case "agent_stream_complete":
			ended++
		}
	}
	return texts, ended
}

// What the program's model writes is streamed, and is in the message of the call that follows; what
// follows the last call is a message at the end.
func TestTL5_ExternalReplies(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	h.agent.AddReplyText(model.BlockText, "before any query")
	h.agent.RecordCall("read", nil, false)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	h.agent.AddReplyText(model.BlockThinking, "Hm, ")
	h.agent.AddReplyText(model.BlockThinking, "how?")
	h.agent.AddReplyText(model.BlockText, "I look.")
	h.agent.AddReplyText(model.BlockText, "")
	h.callTool("create_cell", `{"position":0,"source":"x"}`)
	h.agent.AddReplyText(model.BlockText, " \n")
	h.agent.RecordCall("read", json.RawMessage(`{"title":"Read a.csv"}`), true, model.Text("no such file"))
	h.agent.AddReplyText(model.BlockText, "Done.")
	h.callTool("get_context", `{}`)
	h.agent.AddReplyText(model.BlockText, "Bye.")
	h.results <- nil
	require.Equal(t, "done", h.AwaitQueryEnd(from))

	messages := h.Transcript()
	require.Len(t, messages, 8)
	require.Equal(t, []model.Block{
		{Type: model.BlockThinking, Thinking: "Hm, how?"}, model.Text("I look."), messages[1].Content[2],
	}, messages[1].Content)
	require.Equal(t, "create_cell", messages[1].Content[2].Name)
	require.Equal(t, []model.Block{model.ToolUse("toolu_hands_2", "read", json.RawMessage(`{"title":"Read a.csv"}`))}, messages[3].Content)
	require.Equal(t, []model.Block{model.ToolResult("toolu_hands_2", true, model.Text("no such file"))}, messages[4].Content)
	require.Equal(t, "Done.", messages[5].Content[0].Text)
	require.Equal(t, "get_context", messages[5].Content[1].Name)
	require.Equal(t, []model.Block{model.Text("Bye.")}, messages[7].Content)
	texts, ended := streamedTexts(h.Server)
	require.Equal(t, []string{"thinking:Hm, how?", "text:I look.", "text: \n", "text:Done.", "text:Bye."}, texts)
	require.Equal(t, 4, ended)
}

// A reply keeps its first MiB, and its first 100 blocks.
func TestTL5_LongExternalReplyIsCut(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	from := len(h.Frames())
	h.SendQuery("count")
	<-h.tasks
	h.agent.AddReplyText(model.BlockText, strings.Repeat("x", 1<<20-1)+"ü")
	h.agent.AddReplyText(model.BlockText, "more")
	h.agent.RecordCall("read", nil, false)
	for range 60 {
		h.agent.AddReplyText(model.BlockThinking, "a")
		h.agent.AddReplyText(model.BlockText, "b")
	}
	h.results <- nil
	require.Equal(t, "done", h.AwaitQueryEnd(from))
	messages := h.Transcript()
	long := messages[1].Content
	require.Equal(t, strings.Repeat("x", 1<<20-1), long[0].Text)
	require.Equal(t, "[... 5 bytes left out ...]", long[1].Text)
	require.Len(t, messages[3].Content, 101)
	require.Equal(t, "[... 20 bytes left out ...]", messages[3].Content[100].Text)
}

// A call of the notebook is claimed once: by the name of its tool, or by its input.
func TestTL5_ExternalCallsAreClaimed(t *testing.T) {
	t.Parallel()
	h := startExternalAgent(t)
	named := func(names ...string) func(string) bool {
		return func(tool string) bool { return slices.Contains(names, tool) }
	}
	h.callTool("get_context", `{}`)
	require.False(t, h.agent.ClaimCall(named("get_context"), nil), "no query is open")
	h.SendQuery("count")
	<-h.tasks
	h.callTool("get_context", `{}`)
	h.callTool("create_cell", `{"position":0,"source":"x"}`)
	h.callTool("create_cell", `{"position":0,"source":"y"}`)
	h.callTool("no_such_tool", `{"a":1}`)
	require.False(t, h.agent.ClaimCall(named("run_cell"), nil))
	require.False(t, h.agent.ClaimCall(named(), []byte(`{"a":1}`)))
	require.False(t, h.agent.ClaimCall(named(), []byte(`{ }`)), "many calls have no input")
	require.True(t, h.agent.ClaimCall(named(), []byte(`{"source": "y", "position": 0}`)))
	require.False(t, h.agent.ClaimCall(named(), []byte(`{"source": "y", "position": 0}`)))
	require.True(t, h.agent.ClaimCall(named("create_cell"), []byte(`{}`)))
	require.True(t, h.agent.ClaimCall(named("get_context"), []byte(`not JSON`)))
	require.False(t, h.agent.ClaimCall(named("get_context"), nil))
	h.results <- nil
}
