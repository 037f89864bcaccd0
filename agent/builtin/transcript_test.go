package builtin_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/internal/model"
)

// getContextResult returns the tool result of a get_context call with this id.
func getContextResult(id string) model.Block {
	return model.ToolResult(id, false, model.Text("result "+id))
}

// newValidTranscript returns a valid transcript with every kind of message.
func newValidTranscript() []model.Message {
	return []model.Message{
		builtin.UserMessage(model.Text("task")),
		builtin.AssistantMessage(model.Text("let me see"), agenttest.NewGetContextCall("a"), agenttest.NewGetContextCall("b")),
		builtin.UserMessage(getContextResult("a"), getContextResult("b")),
		builtin.AssistantMessage(model.Block{Type: model.BlockThinking, Thinking: "hm", Signature: "s"}, agenttest.NewGetContextCall("c")),
		builtin.UserMessage(getContextResult("c")),
		builtin.AssistantMessage(model.Text("is it so?")),
		builtin.UserMessage(model.Text("yes")),
		builtin.AssistantMessage(agenttest.NewGetContextCall("d"), agenttest.NewGetContextCall("e"), agenttest.NewGetContextCall("f")),
		builtin.UserMessage(getContextResult("d"), model.ToolResult("e", true, model.Text("no")), getContextResult("f")),
		builtin.AssistantMessage(model.Text("done")),
	}
}

func TestCO4_ValidTranscriptsStayUnchanged(t *testing.T) {
	t.Parallel()
	status, text := agenttest.CheckTranscript(newValidTranscript())
	require.Equal(t, http.StatusOK, status, text)
	require.Equal(t, newValidTranscript(), builtin.RepairMessages(newValidTranscript()))
	require.Empty(t, builtin.RepairMessages(nil))
}

// A transcript that was cut off after any block of any message can be continued: the API
// accepts it after the repair.
func TestCO4_TranscriptCutAnywhereIsRepaired(t *testing.T) {
	t.Parallel()
	full := newValidTranscript()
	cuts := 0
	for n := range full {
		for blocks := range len(full[n].Content) + 1 {
			cut := append([]model.Message{}, full[:n]...)
			cut = append(cut, model.Message{Role: full[n].Role, Content: full[n].Content[:blocks]})
			repaired := builtin.RepairMessages(cut)
			require.Equal(t, repaired, builtin.RepairMessages(repaired))
			continued := append(repaired, builtin.UserMessage(model.Text("go on")))
			status, text := agenttest.CheckTranscript(continued)
			require.Equal(t, http.StatusOK, status, "cut at %d.%d: %s", n, blocks, text)

			// The same if the next query was added before the repair.
			status, text = agenttest.CheckTranscript(builtin.RepairMessages(append(cut, builtin.UserMessage(model.Text("go on")))))
			require.Equal(t, http.StatusOK, status, "cut at %d.%d: %s", n, blocks, text)
			cuts++
		}
	}
	require.Equal(t, 28, cuts)
}

// Any sequence of messages is repaired into a valid transcript.
func TestCO4_AnyMessagesAreRepaired(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOf(rapid.Custom(randomMessage)).Draw(t, "messages")
		repaired := builtin.RepairMessages(messages)
		status, text := agenttest.CheckTranscript(append(repaired, builtin.UserMessage(model.Text("go on"))))
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		again, _ := json.Marshal(builtin.RepairMessages(repaired))
		once, _ := json.Marshal(repaired)
		if string(again) != string(once) {
			t.Fatalf("repaired twice: %s, not %s", again, once)
		}
	})
}
