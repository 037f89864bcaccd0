package blocks_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
)

// expectedSubmission returns the submission of a final reply.
func expectedSubmission(summary string) builtin.Submission {
	return builtin.Submission{Summary: summary, NextStatus: "done"}
}

func TestBL10_FinalReplyIsTheSubmission(t *testing.T) {
	t.Parallel()
	early := "I will say <EVAL_ANSWER>1</EVAL_ANSWER> [EVAL_COMPLETE]\n```\nprint('<EVAL_ANSWER>2</EVAL_ANSWER> [EVAL_COMPLETE]')\n```"
	final := "Nine.\n```json\n{}\n```\n<EVAL_ANSWER>9</EVAL_ANSWER> [EVAL_COMPLETE]"
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine(early), agenttest.TextScriptLine(final+"\n"), agenttest.TextScriptLine("never"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, 2, p.ModelReplyCount())
	require.Len(t, p.Submissions(), 1)
	require.Equal(t, expectedSubmission(final), p.Submissions()[0])
	require.Equal(t, "assistant: "+early, p.MessageTexts()[1])
	require.Equal(t, final+"\n", p.EventsOfType("response")[1].StringField("text"))
}

func TestBL10_OneReminderWithoutTheMarker(t *testing.T) {
	t.Parallel()
	reminder := "user: Nothing has been submitted yet: your reply does not contain [EVAL_COMPLETE]. " +
		"If your work is finished, say your whole answer again with the marker, as the task asks for it; otherwise go on with code blocks."
	for name, tc := range map[string]struct {
		lines []string
		want  string
		index int // index of the reminder in the conversation
	}{
		"and then the marker":  {[]string{agenttest.TextScriptLine("It is 9."), agenttest.TextScriptLine("9 [EVAL_COMPLETE]")}, "9 [EVAL_COMPLETE]", 2},
		"and still none":       {[]string{agenttest.TextScriptLine("It is 9."), agenttest.TextScriptLine("I said 9."), agenttest.TextScriptLine("never")}, "I said 9.", 2},
		"after blocks":         {[]string{agenttest.TextScriptLine("```\n1\n```"), agenttest.TextScriptLine("9"), agenttest.TextScriptLine("9 [EVAL_COMPLETE]")}, "9 [EVAL_COMPLETE]", 4},
		"and then blocks":      {[]string{agenttest.TextScriptLine("9?"), agenttest.TextScriptLine("```\n1\n```"), agenttest.TextScriptLine("9"), agenttest.TextScriptLine("never")}, "9", 2},
		"for an empty reply":   {[]string{agenttest.TextScriptLine(""), agenttest.TextScriptLine(" "), agenttest.TextScriptLine("never")}, "", 2},
		"for a call of a tool": {[]string{agenttest.SubmitScriptLine("9"), agenttest.TextScriptLine("9 [EVAL_COMPLETE]")}, "9 [EVAL_COMPLETE]", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startBlocksAgent(t, blocks.Config{}, tc.lines...)
			p.InitAndAwaitReady(frame{"eval_mode": true})
			require.Equal(t, "done", p.QueryAndWait("go"))
			require.Equal(t, reminder, p.MessageTexts()[tc.index])
			require.Len(t, p.Submissions(), 1)
			require.Equal(t, expectedSubmission(tc.want), p.Submissions()[0])
		})
	}
}

func TestBL10_NothingIsSubmittedOutsideOfAnEvaluation(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("9 [EVAL_COMPLETE]"))
	p.InitAndAwaitReady(nil)
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Empty(t, p.Submissions())
	require.Equal(t, "assistant: 9 [EVAL_COMPLETE]", p.MessageTexts()[1])
}

func TestBL10_NothingIsSubmittedAtTheLimit(t *testing.T) {
	t.Parallel()
	block := agenttest.TextScriptLine("9 [EVAL_COMPLETE]\n```\n1\n```")
	p := startBlocksAgent(t, blocks.Config{MaxRounds: 1}, block, block, block)
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Empty(t, p.Submissions())
	require.Len(t, p.EventsOfType("limit"), 1)
}

// The conversation can go on after a submission: it has no call without a result.
func TestBL10_QueriesAfterTheSubmission(t *testing.T) {
	t.Parallel()
	p := startBlocksAgent(t, blocks.Config{}, agenttest.TextScriptLine("9 [EVAL_COMPLETE]"), agenttest.TextScriptLine("10 [EVAL_COMPLETE]"))
	p.InitAndAwaitReady(frame{"eval_mode": true})
	require.Equal(t, "done", p.QueryAndWait("go"))
	require.Equal(t, "done", p.QueryAndWait("and now?"))
	require.Len(t, p.Submissions(), 2)
	require.Empty(t, p.ToolResults())
}
