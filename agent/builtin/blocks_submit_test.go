package builtin_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/internal/model"
)

// submissions lists the inputs of the submit_response calls that the server saw.
func (p *peer) submissions() []string {
	p.t.Helper()
	var inputs []string
	for _, m := range p.history() {
		for _, call := range model.ToolUses(m.Content) {
			require.Equal(p.t, "assistant", m.Role)
			require.Equal(p.t, "submit_response", call.Name)
			inputs = append(inputs, string(call.Input))
		}
	}
	return inputs
}

func submitted(summary string) string {
	input, _ := json.Marshal(map[string]string{"summary": summary, "next_status": "done"})
	return string(input)
}

func TestBL10_FinalReplyIsTheSubmission(t *testing.T) {
	t.Parallel()
	early := "I will say <EVAL_ANSWER>1</EVAL_ANSWER> [EVAL_COMPLETE]\n```\nprint('<EVAL_ANSWER>2</EVAL_ANSWER> [EVAL_COMPLETE]')\n```"
	final := "Nine.\n```json\n{}\n```\n<EVAL_ANSWER>9</EVAL_ANSWER> [EVAL_COMPLETE]"
	p := startBlocks(t, builtin.Config{}, saying(early), saying(final+"\n"), saying("never"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, 2, calls(p))
	require.Len(t, p.submissions(), 1)
	require.JSONEq(t, submitted(final), p.submissions()[0])
	require.Equal(t, "assistant: "+early, p.said()[1])
	require.Equal(t, final+"\n", p.events("response")[1].text("text"))
}

func TestBL10_OneNudgeWithoutTheMarker(t *testing.T) {
	t.Parallel()
	nudge := "user: Nothing has been submitted yet: your reply does not contain [EVAL_COMPLETE]. " +
		"If your work is finished, say your whole answer again with the marker, as the task asks for it; otherwise go on with code blocks."
	for name, tc := range map[string]struct {
		lines []string
		want  string
		said  int // the nudge
	}{
		"and then the marker":  {[]string{saying("It is 9."), saying("9 [EVAL_COMPLETE]")}, "9 [EVAL_COMPLETE]", 2},
		"and still none":       {[]string{saying("It is 9."), saying("I said 9."), saying("never")}, "I said 9.", 2},
		"after blocks":         {[]string{saying("```\n1\n```"), saying("9"), saying("9 [EVAL_COMPLETE]")}, "9 [EVAL_COMPLETE]", 4},
		"and then blocks":      {[]string{saying("9?"), saying("```\n1\n```"), saying("9"), saying("never")}, "9", 2},
		"for an empty reply":   {[]string{saying(""), saying(" "), saying("never")}, "", 2},
		"for a call of a tool": {[]string{submits("9"), saying("9 [EVAL_COMPLETE]")}, "9 [EVAL_COMPLETE]", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startBlocks(t, builtin.Config{}, tc.lines...)
			p.init(frame{"eval_mode": true})
			require.Equal(t, "done", p.ask("go"))
			require.Equal(t, nudge, p.said()[tc.said])
			require.Len(t, p.submissions(), 1)
			require.JSONEq(t, submitted(tc.want), p.submissions()[0])
		})
	}
}

func TestBL10_NothingIsSubmittedOutsideOfAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("9 [EVAL_COMPLETE]"))
	p.init(nil)
	require.Equal(t, "done", p.ask("go"))
	require.Empty(t, p.submissions())
	require.Equal(t, "assistant: 9 [EVAL_COMPLETE]", p.said()[1])
}

func TestBL10_NothingIsSubmittedAtTheLimit(t *testing.T) {
	t.Parallel()
	block := saying("9 [EVAL_COMPLETE]\n```\n1\n```")
	p := startBlocks(t, builtin.Config{MaxEvalIters: 1}, block, block, block)
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Empty(t, p.submissions())
	require.Len(t, p.events("limit"), 1)
}

// The conversation can go on behind a submission: no call is left open in it.
func TestBL10_QueriesAfterTheSubmission(t *testing.T) {
	t.Parallel()
	p := startBlocks(t, builtin.Config{}, saying("9 [EVAL_COMPLETE]"), saying("10 [EVAL_COMPLETE]"))
	p.init(frame{"eval_mode": true})
	require.Equal(t, "done", p.ask("go"))
	require.Equal(t, "done", p.ask("and now?"))
	require.Len(t, p.submissions(), 2)
	require.Empty(t, p.results())
}
