package builtin

import (
	"context"
	"fmt"
	"strings"

	"assay/agent/model"
	"assay/internal/protocol"
)

// maxMalformed is how many rounds in a row may consist of malformed calls only.
const maxMalformed = 3

// What the model is told when something stands in the way. The first two stand
// for a reply that has nothing to keep.
const (
	cutReply   = "[The reply was cut off.]"
	emptyReply = "[The reply was empty.]"
	nudge      = "Nothing has been submitted yet. If your work is finished, call submit_response now; otherwise go on with your tools."
)

// turn is the work on one query.
type turn struct {
	*tools
	cut       bool // the last reply reached max_tokens
	compacted bool
	nudged    bool
	malformed int // rounds in a row
}

// run asks the model until the turn ends, and returns the status it ends with.
func (t *turn) run(ctx context.Context) (string, error) {
	for {
		status := ""
		reply, err := t.ask(ctx)
		switch {
		case model.ContextExceeded(err):
			err = t.makeRoom()
		case err == nil:
			status, err = t.follow(ctx, reply)
		}
		if status != "" || err != nil {
			return status, err
		}
	}
}

func (t *turn) ask(ctx context.Context) (*model.Response, error) {
	settings := t.conversation.cfg.Params
	if t.cut {
		settings.MaxTokens *= 2
	}
	t.conversation.wire.status(protocol.AgentThinking)
	return t.conversation.call(ctx, model.Request{Params: settings, System: t.system, Tools: t.executor.offered})
}

// follow does what a reply asks for. It returns the status that ends the turn,
// or "" when the model is to be asked again.
func (t *turn) follow(ctx context.Context, reply *model.Response) (string, error) {
	wasCut := t.cut
	t.cut = reply.StopReason == model.StopMaxTokens
	switch reply.StopReason {
	case model.StopToolUse, model.StopEndTurn, model.StopSequence:
		if calls := model.ToolUses(reply.Content); len(calls) > 0 {
			return t.useTools(ctx, reply, calls)
		}
		t.keep(reply)
		return t.finish(), nil
	case model.StopMaxTokens:
		return "", t.shorter(reply, wasCut)
	case model.StopPauseTurn:
		t.keep(reply)
		return "", nil
	case model.StopContextExceeded:
		t.keepCut(reply, "Your last reply was cut off because the conversation is too long, and no tool that it called was run. Say it again.")
		return "", t.makeRoom()
	case model.StopRefusal:
		t.keep(reply)
		t.conversation.wire.fail("the model declined to go on (stop reason refusal)", false)
		return protocol.AgentDone, nil
	default:
		t.keep(reply)
		t.conversation.wire.log.Warn("unknown stop reason", "stop_reason", reply.StopReason)
		t.conversation.wire.fail(fmt.Sprintf("the model stopped for the unknown reason %q", reply.StopReason), false)
		return protocol.AgentDone, nil
	}
}

// keep commits a reply.
func (t *turn) keep(reply *model.Response) {
	content := presentable(assistantMessage(reply.Content...), map[string]bool{})
	if len(content) == 0 {
		content = []model.Block{model.Text(emptyReply)}
	}
	t.conversation.commit(assistantMessage(content...), &reply.Usage)
}

// finish ends the turn after a final text. In an evaluation the model is
// reminded once to submit.
func (t *turn) finish() string {
	if !t.conversation.evalMode || t.nudged {
		return protocol.AgentDone
	}
	t.nudged = true
	t.conversation.commit(userMessage(model.Text(nudge)), nil)
	return ""
}

// shorter has the model try once more, with twice the room, after a reply that
// reached max_tokens.
func (t *turn) shorter(reply *model.Response, again bool) error {
	most := t.conversation.cfg.Params.MaxTokens
	if again {
		t.keepCut(reply, "")
		return &limitError{limit: "max_tokens", configured: 2 * most, measured: reply.Usage.OutputTokens}
	}
	t.keepCut(reply, fmt.Sprintf("Your last reply was cut off at %d tokens, and no tool that it called was run. "+
		"Say it again more briefly, in smaller steps.", most))
	return nil
}

// keepCut commits the text of a reply that was cut, runs nothing of it, and
// tells the model so unless note is empty.
func (t *turn) keepCut(reply *model.Response, note string) {
	text := strings.TrimSpace(model.PlainText(reply.Content))
	if text == "" {
		text = cutReply
	}
	t.conversation.commit(assistantMessage(model.Text(text)), &reply.Usage)
	if note != "" {
		t.conversation.commit(userMessage(model.Text(note)), nil)
	}
}

// makeRoom drops old rounds of tools, once in a turn.
func (t *turn) makeRoom() error {
	messages, dropped := compact(t.conversation.messages)
	if t.compacted || dropped == 0 {
		limit := &limitError{limit: "context", configured: "the model's context", measured: "more"}
		if card := t.conversation.card; card != nil {
			limit.configured = card.Context
		}
		return limit
	}
	t.compacted = true
	t.conversation.messages = messages
	t.conversation.wire.event("response", fmt.Sprintf("The conversation was too long: its %d oldest rounds of tools were dropped.", dropped), nil)
	return nil
}

// useTools runs the calls of a reply and commits their results. The submission
// is run last, and a reply that holds one is told of only after its other
// calls: whoever sees it may take the work for finished.
func (t *turn) useTools(ctx context.Context, reply *model.Response, calls []model.Block) (string, error) {
	work, submits := split(calls)
	if len(submits) == 0 {
		t.keep(reply)
	}
	t.conversation.wire.status(protocol.AgentExecuting)
	t.submitted = nil
	results, faults := t.executor.executeAll(ctx, work)
	if len(submits) > 0 {
		t.keep(reply)
		more, moreFaults := t.executor.executeAll(ctx, submits)
		results, faults = append(results, more...), faults+moreFaults
	}
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
