package builtin_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// tooLong is what an API says to a conversation that it does not read.
func tooLong() error {
	return &model.APIError{Provider: "anthropic", Status: http.StatusBadRequest, Message: "prompt is too long: 5 > 4"}
}

func TestCO5_BlocksDropTheirOldestRounds(t *testing.T) {
	t.Parallel()
	code := replies(model.Text("```\n1\n```"))
	p, h := startReplies(t, builtin.Config{Strategy: "blocks", MaxEvalIters: 9}, nil,
		code, code, code, code, code, tooLong(), replies(model.Text("done")))
	p.init(nil)
	require.Equal(t, "done", p.ask("@lab go"))
	require.Len(t, p.events("compacted"), 1)
	event := p.events("compacted")[0]
	require.Equal(t, "The conversation was too long: its 2 oldest rounds were dropped.", event.text("text"))
	require.Equal(t, frame{"type": "compacted", "request_id": "q1", "label": "lab"}, event.object("metadata"))
	require.Len(t, h.requests, 7)
	sent := h.requests[6].Messages
	require.Len(t, sent, 8, "the prompt, the note, three rounds")
	require.Contains(t, model.PlainText(sent[0].Content), "go")
	require.Equal(t, "[Earlier code blocks and their outputs were dropped here to make room. What they defined is still in the kernel.]",
		model.PlainText(sent[1].Content))
	require.Contains(t, model.PlainText(sent[7].Content), "[Block 1 output]\n")
}

// It is dropped once; what is too long then is at its limit.
func TestCO5_BlocksThatStayTooLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rounds int
		fails  []any
	}{
		"nothing to drop": {3, []any{tooLong()}},
		"dropped once":    {4, []any{tooLong(), tooLong()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := []any{replies(model.Text("```\n1\n```"))}
			all := append(slices.Repeat(code, c.rounds), c.fails...)
			p, _ := startReplies(t, builtin.Config{Strategy: "blocks", MaxEvalIters: 9}, nil, all...)
			p.init(frame{"eval_mode": true})
			require.Equal(t, "done", p.ask("go"))
			require.Len(t, p.events("limit"), 1)
			require.Equal(t, "limit reached: context (the conversation is longer than the model reads)", p.events("limit")[0].text("text"))
		})
	}
}

// What a person says is no output, though it may look like one.
func TestCO5_PromptsAreNotDropped(t *testing.T) {
	t.Parallel()
	code, output := assistant(model.Text("```\n1\n```")), user(model.Text("[Block 1 output]\n1"))
	other := []model.Message{
		user(model.Text("go")), assistant(model.Text("Done.")), user(model.Text("[Block 1 output]\nis what?")),
		assistant(model.Text("```text\nnot run\n```")), output, code, user(model.Text("Your last reply was cut off")),
	}
	rounds := []model.Message{code, output, code, output, code, output}
	whole := append(append([]model.Message{}, other...), rounds...)
	same, dropped := builtin.CompactBlocks(whole)
	require.Zero(t, dropped)
	require.Equal(t, whole, same)
	kept, dropped := builtin.CompactBlocks(append(whole, code, output))
	require.Equal(t, 1, dropped)
	require.Equal(t, other, kept[:len(other)])
	require.Equal(t, rounds, kept[len(other)+1:])
}

// The prompt of a tick has nothing that could go.
func TestCO5_TicksHaveNothingToDrop(t *testing.T) {
	t.Parallel()
	p, h := startReplies(t, builtin.Config{Strategy: "ticks", ModelName: "anthropic/claude-opus-4-5"}, nil, tooLong())
	h.last = replies(model.Text("never"))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "limit reached: context (the conversation is longer than the 200000 tokens that the model reads)", p.events("limit")[0].text("text"))
	require.Empty(t, p.events("compacted"))
	require.Empty(t, p.ticks())
}

// A refusal that has nothing to do with the length is none of the context's.
func TestCO5_OtherFailuresDropNothing(t *testing.T) {
	t.Parallel()
	code := replies(model.Text("```\n1\n```"))
	p, _ := startReplies(t, builtin.Config{Strategy: "blocks", MaxEvalIters: 9}, nil, code, code, code, code, errors.New("no idea"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "no idea", p.ask("go"))
	require.Empty(t, p.events("compacted"))
}
