package blocks_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
	"assay/internal/model"
)

// contextTooLongError returns the error of an API for a conversation that is longer than the context.
func contextTooLongError() error {
	return &model.APIError{Provider: "anthropic", Status: http.StatusBadRequest, Message: "prompt is too long: 5 > 4"}
}

func TestCO5_OldestRoundsAreDropped(t *testing.T) {
	t.Parallel()
	code := agenttest.NewModelReply(model.Text("```\n1\n```"))
	p, m := startAgentOnReplies(t, blocks.Config{MaxRounds: 9},
		code, code, code, code, code, contextTooLongError(), agenttest.NewModelReply(model.Text("done")))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("@lab go"))
	require.Len(t, p.EventsOfType("compacted"), 1)
	event := p.EventsOfType("compacted")[0]
	require.Equal(t, "The conversation was too long: its 2 oldest rounds were dropped.", event.StringField("text"))
	require.Equal(t, frame{"type": "compacted", "request_id": "q1", "label": "lab"}, event.ObjectField("metadata"))
	require.Len(t, m.Requests(), 7)
	sent := m.Requests()[6].Messages
	require.Len(t, sent, 8, "the prompt, the note, three rounds")
	require.Contains(t, model.JoinTextBlocks(sent[0].Content), "go")
	require.Equal(t, "[Earlier code blocks and their outputs were dropped here to make room. What they defined is still in the kernel.]",
		model.JoinTextBlocks(sent[1].Content))
	require.Contains(t, model.JoinTextBlocks(sent[7].Content), "[Block 1 output]\n")
}

// Rounds are dropped once; a conversation that is still too long reaches the limit.
func TestCO5_ConversationTooLongAfterCompaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rounds int
		errors []any
	}{
		"nothing to drop": {3, []any{contextTooLongError()}},
		"dropped once":    {4, []any{contextTooLongError(), contextTooLongError()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := []any{agenttest.NewModelReply(model.Text("```\n1\n```"))}
			replies := append(slices.Repeat(code, c.rounds), c.errors...)
			p, _ := startAgentOnReplies(t, blocks.Config{MaxRounds: 9}, replies...)
			p.InitAndAwaitReady(frame{"eval_mode": true})
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Len(t, p.EventsOfType("limit"), 1)
			require.Equal(t, "limit reached: context (the conversation is longer than the model reads)", p.EventsOfType("limit")[0].StringField("text"))
		})
	}
}

// A prompt is not dropped even if it looks like the output of a block.
func TestCO5_PromptsAreNotDropped(t *testing.T) {
	t.Parallel()
	code, output := builtin.AssistantMessage(model.Text("```\n1\n```")), builtin.UserMessage(model.Text("[Block 1 output]\n1"))
	other := []model.Message{
		builtin.UserMessage(model.Text("go")), builtin.AssistantMessage(model.Text("Done.")), builtin.UserMessage(model.Text("[Block 1 output]\nis what?")),
		builtin.AssistantMessage(model.Text("```text\nnot run\n```")), output, code, builtin.UserMessage(model.Text("Your last reply was cut off")),
	}
	rounds := []model.Message{code, output, code, output, code, output}
	all := append(append([]model.Message{}, other...), rounds...)
	same, dropped := blocks.CodeCompaction("python").Compact(all)
	require.Zero(t, dropped)
	require.Equal(t, all, same)
	kept, dropped := blocks.CodeCompaction("python").Compact(append(all, code, output))
	require.Equal(t, 1, dropped)
	require.Equal(t, other, kept[:len(other)])
	require.Equal(t, rounds, kept[len(other)+1:])
}

// Other errors of the model drop nothing.
func TestCO5_OtherErrorsDropNothing(t *testing.T) {
	t.Parallel()
	code := agenttest.NewModelReply(model.Text("```\n1\n```"))
	p, _ := startAgentOnReplies(t, blocks.Config{MaxRounds: 9}, code, code, code, code, errors.New("no idea"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "no idea", p.QueryAndWait("go"))
	require.Empty(t, p.EventsOfType("compacted"))
}
