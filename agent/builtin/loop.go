package builtin

import (
	"context"

	"assay/internal/model"
	"assay/internal/protocol"
)

// maxMalformed is how many rounds in a row may consist of malformed calls only.
const maxMalformed = 3

// nudge reminds a model that has said something and submitted nothing.
const nudge = "Nothing has been submitted yet. If your work is finished, call submit_response now; otherwise go on with your tools."

// turn is the work on one query.
type turn struct {
	*tools
	asking    *asking
	nudged    bool
	malformed int // rounds in a row
}

// run asks the model until the turn ends, and returns the status it ends with.
func (t *turn) run(ctx context.Context) (string, error) {
	for {
		reply, err := t.asking.reply(ctx)
		if err != nil {
			return "", err
		}
		var status string
		if calls := model.ToolUses(reply.Content); len(calls) > 0 {
			status, err = t.useTools(ctx, reply, calls)
		} else {
			t.conversation.keep(reply)
			status = t.finish()
		}
		if status != "" || err != nil {
			return status, err
		}
	}
}

// finish ends the turn after a final text. In an evaluation the model is
// reminded once to submit.
func (t *turn) finish() string {
	if !t.conversation.evalMode || t.nudged {
		return protocol.AgentDone
	}
	t.nudged = true
	t.conversation.say(nudge)
	return ""
}

// useTools runs the calls of a reply and commits their results. The submission
// is run last, and a reply that holds one is told of only after its other
// calls: whoever sees it may take the work for finished.
func (t *turn) useTools(ctx context.Context, reply *model.Response, calls []model.Block) (string, error) {
	work, submits := split(calls)
	if len(submits) == 0 {
		t.conversation.keep(reply)
	}
	t.conversation.wire.status(protocol.AgentExecuting)
	t.submitted = nil
	results, faults := t.executor.executeAll(ctx, work)
	if len(submits) > 0 {
		t.conversation.keep(reply)
		more, moreFaults := t.executor.executeAll(ctx, submits)
		results, faults = append(results, more...), faults+moreFaults
	}
	t.conversation.fitImages(results)
	t.conversation.commit(userMessage(inOrder(calls, results)...), nil)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if t.submitted != nil {
		return t.submitted.endsAs(), nil
	}
	return "", t.countMalformed(faults == len(calls))
}

// countMalformed ends the attempt after too many rounds of which nothing could
// be run.
func (t *turn) countMalformed(malformed bool) error {
	if !malformed {
		t.malformed = 0
		return nil
	}
	if t.malformed++; t.malformed < maxMalformed {
		return nil
	}
	return &limitError{limit: "malformed_turns", configured: maxMalformed, measured: t.malformed}
}

// split parts the submissions from the other calls.
func split(calls []model.Block) (work, submits []model.Block) {
	for _, call := range calls {
		if isSubmit(call.Name) {
			submits = append(submits, call)
		} else {
			work = append(work, call)
		}
	}
	return work, submits
}

// inOrder puts results in the order of their calls.
func inOrder(calls, results []model.Block) []model.Block {
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
