package tools

import (
	"context"
	"slices"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

// maxMalformedRounds is how many rounds in a row may consist only of malformed tool calls
// before the query ends with a limit error.
const maxMalformedRounds = 3

// submitReminder is sent once per query of an evaluation, to a model that ended with a
// text and has not submitted.
const submitReminder = "Nothing has been submitted yet. If your work is finished, call submit_response now; otherwise go on with your tools."

// queryAnswerer answers one query: it calls the model, runs the tools that its replies call, and
// returns their results to the model.
type queryAnswerer struct {
	*strategy
	modelCall       *builtin.ModelCall
	reminded        bool
	malformedRounds int // in a row
}

// run calls the model and runs the tools that it calls until the turn ends. It returns the
// agent's status at the end, or a LimitError, the cause of ctx or the error of a model call.
func (t *queryAnswerer) run(ctx context.Context) (string, error) {
	for {
		reply, err := t.modelCall.Reply(ctx)
		if err != nil {
			return "", err
		}
		var status string
		if calls := model.ToolUses(reply.Content); len(calls) > 0 {
			status, err = t.runCalls(ctx, reply, calls)
		} else {
			t.conversation.AddReply(reply)
			status = t.finishTurn()
		}
		if status != "" || err != nil {
			return status, err
		}
	}
}

// finishTurn returns the status after a reply without calls. In an evaluation it first reminds
// the model once to submit, and returns "".
func (t *queryAnswerer) finishTurn() (status string) {
	if !t.conversation.EvalMode || t.reminded {
		return protocol.AgentDone
	}
	t.reminded = true
	t.conversation.AddUserText(submitReminder)
	return ""
}

// runCalls runs the calls of a reply, adds their results and returns the status with which
// the turn ends, or "". A submission runs last, and a reply with a submission is sent to the
// server only after its other calls: a console that sees it may take the work for finished.
func (t *queryAnswerer) runCalls(ctx context.Context, reply *model.Response, calls []model.Block) (status string, err error) {
	work, submissions := splitSubmissions(calls)
	if len(submissions) == 0 {
		t.conversation.AddReply(reply)
	}
	t.conversation.SendStatus(protocol.AgentExecuting)
	t.submitted = nil
	results, malformed := t.executor.runCalls(ctx, work)
	if len(submissions) > 0 {
		t.conversation.AddReply(reply)
		more, moreMalformed := t.executor.runCalls(ctx, submissions)
		results, malformed = append(results, more...), malformed+moreMalformed
	}
	t.conversation.AddToolResults(orderResultsByCalls(calls, results))
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if t.submitted != nil {
		return t.submitted.EndStatus(), nil
	}
	return "", t.countMalformed(malformed == len(calls))
}

// countMalformed returns a limit error after too many rounds in a row of which no call
// could be run.
func (t *queryAnswerer) countMalformed(malformed bool) error {
	if !malformed {
		t.malformedRounds = 0
		return nil
	}
	if t.malformedRounds++; t.malformedRounds < maxMalformedRounds {
		return nil
	}
	return &builtin.LimitError{Limit: "malformed_turns", Configured: maxMalformedRounds, Measured: t.malformedRounds}
}

// splitSubmissions divides the tool calls of a reply into submit_response calls and all
// others.
func splitSubmissions(calls []model.Block) (work, submissions []model.Block) {
	for _, call := range calls {
		if isSubmission(call.Name) {
			submissions = append(submissions, call)
		} else {
			work = append(work, call)
		}
	}
	return work, submissions
}

// orderResultsByCalls returns tool results in the order of the calls that they belong to.
func orderResultsByCalls(calls, results []model.Block) []model.Block {
	ordered := make([]model.Block, 0, len(calls))
	for _, call := range calls {
		for _, r := range results {
			if r.ToolUseID == call.ID {
				ordered = append(ordered, r)
				break
			}
		}
	}
	return ordered
}

// toolCompaction lets tool calls be dropped together with their results.
func toolCompaction() builtin.Compaction {
	return builtin.Compaction{
		Note: "[Earlier tool calls and their results were dropped here to make room. The notebook still shows what they did.]",
		IsRound: func(act, outcome model.Message) bool {
			other := slices.ContainsFunc(outcome.Content, func(b model.Block) bool { return b.Type != model.BlockToolResult })
			return len(model.ToolUses(act.Content)) > 0 && len(outcome.Content) > 0 && !other
		},
	}
}
