package human_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/human"
	"assay/internal/protocol"
)

type frame = agenttest.Frame

// startWithTask starts the agent and gives it a task.
func startWithTask(t *testing.T) *agenttest.Server {
	t.Helper()
	s := start(t)
	s.SendFrame(frame{"type": "agent_query", "query": "the task", "request_id": "eval-init-s"})
	s.AwaitFrame(0, "waiting for the person", hasStatus(protocol.AgentAwaitingUser))
	return s
}

func start(t *testing.T) *agenttest.Server {
	t.Helper()
	s := agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		return human.Run(ctx, conn, builtin.Config{})
	})
	s.InitAndAwaitReady(frame{"eval_mode": true})
	return s
}

func hasStatus(status string) func(frame) bool {
	return func(f frame) bool {
		return f.StringField("type") == "agent_status" && f.StringField("status") == status
	}
}

func isError(f frame) bool { return f.StringField("type") == "agent_error" }

// answer sends a person's answer.
func answer(s *agenttest.Server, text string) {
	s.SendFrame(frame{"type": "agent_query", "query": text, "request_id": "answer-1"})
}

// The answer is submitted as JSON without tags, with the id of the person's query.
func TestAnswerIsSubmitted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"total": 45} `:    `{"total":45}`,
		`"</EVAL_ANSWER> x"`: `"\u003c/EVAL_ANSWER\u003e x"`,
		"[1,\n 2.50]":        `[1,2.50]`,
		`0`:                  `0`,
	} {
		s := startWithTask(t)
		answer(s, text)
		s.AwaitFrame(0, "done", hasStatus(protocol.AgentDone))
		require.Equal(t, []builtin.Submission{{Summary: "<EVAL_ANSWER>" + want + "</EVAL_ANSWER> [EVAL_COMPLETE]", NextStatus: "done"}}, s.Submissions(), text)
		require.Equal(t, "answer-1", s.FramesOfType("agent_history_updated")[0].StringField("request_id"))
	}
}

// What is no answer is refused, and another one is accepted after it.
func TestInvalidAnswerIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{'total': 45}`:                        "not submitted: the answer is not valid JSON: invalid character '\\''",
		``:                                     "not submitted: the answer is not valid JSON: unexpected end",
		` null `:                               "not submitted: null counts as no answer",
		`"` + strings.Repeat("x", 1<<20) + `"`: "not submitted: the answer has 1048578 bytes, more than 1048576",
	} {
		s := startWithTask(t)
		answer(s, text)
		refusal := s.AwaitFrame(0, "the refusal", isError)
		require.Contains(t, refusal.StringField("error"), want)
		require.Equal(t, false, refusal["fatal"])
		require.Empty(t, s.Submissions())
		answer(s, "1")
		s.AwaitFrame(0, "done", hasStatus(protocol.AgentDone))
		require.Len(t, s.Submissions(), 1)
	}
}

// Before the task there is nothing to answer or to give up.
func TestNothingIsSubmittedBeforeTheTask(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.SendCancel()
	answer(s, "1")
	require.Equal(t, "not submitted: there is no task yet", s.AwaitFrame(0, "the refusal", isError).StringField("error"))
	require.Empty(t, s.Submissions())
	require.Empty(t, s.FramesOfType("agent_status")[1:], "only ready")
}

func TestGivingUpEndsWithoutSubmission(t *testing.T) {
	t.Parallel()
	s := startWithTask(t)
	s.SendFrame(frame{"type": "kernel_message", "message": frame{}})
	s.SendCancel()
	s.AwaitFrame(0, "done", hasStatus(protocol.AgentDone))
	require.Equal(t, "the person gave up", s.FramesOfType("agent_error")[0].StringField("error"))
	require.Empty(t, s.Submissions())
}
