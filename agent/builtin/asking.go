package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/agent/model"
	"assay/internal/protocol"
)

// cutReply stands for a reply that was cut before it had a text.
const cutReply = "[The reply was cut off.]"

// maxPauses is how many replies in a row a model may pause in.
const maxPauses = 20

// errDeclined says that the model does not go on, of which the server has been
// told. The work on the query is done.
var errDeclined = errors.New("the model declined to go on")

// asking gets replies out of a model during the work on one query. It has the
// model say again what was cut off, and makes room in a conversation that has
// become too long.
type asking struct {
	*conversation
	system []model.Block // stays the same, so that the API may cache it
	state  []model.Block // may be another with each call; stands behind system
	tools  []model.Tool

	cut       bool // the last reply reached max_tokens
	pauses    int  // replies in a row that the model paused in
	compacted bool
}

// reply asks until there is a reply that ended by itself, which the caller
// commits. What came before it is committed already. The error may be a
// [limitError] or errDeclined.
func (a *asking) reply(ctx context.Context) (*model.Response, error) {
	for {
		a.wire.status(protocol.AgentThinking)
		reply, err := a.call(ctx, a.request())
		whole := false
		switch {
		case model.ContextExceeded(err):
			err = a.makeRoom()
		case err == nil:
			whole, err = a.follow(reply)
		}
		if whole || err != nil {
			return reply, err
		}
	}
}

// request is all of a request but the conversation.
func (a *asking) request() model.Request {
	return model.Request{
		Params: a.params(),
		System: slices.Concat(markLast(a.system), a.state),
		Tools:  markLastTool(a.tools),
	}
}

func (a *asking) params() model.Params {
	params := a.cfg.Params
	if a.cut {
		params.MaxTokens *= 2
	}
	return params
}

// follow looks at why a reply ended, and commits it unless it is whole.
func (a *asking) follow(reply *model.Response) (whole bool, err error) {
	wasCut := a.cut
	a.cut = reply.StopReason == model.StopMaxTokens
	if reply.StopReason != model.StopPauseTurn {
		a.pauses = 0
	}
	switch reply.StopReason {
	case model.StopToolUse, model.StopEndTurn, model.StopSequence:
		return true, nil
	case model.StopMaxTokens:
		return false, a.shorter(reply, wasCut)
	case model.StopPauseTurn:
		return false, a.goOn(reply)
	case model.StopContextExceeded:
		a.keepCut(reply, "Your last reply was cut off because the conversation is too long, and no tool that it called was run. Say it again.")
		return false, a.makeRoom()
	case model.StopRefusal:
		a.keep(reply)
		a.wire.fail("the model declined to go on (stop reason refusal)", false)
		return false, errDeclined
	default:
		a.keep(reply)
		a.wire.log.Warn("unknown stop reason", "stop_reason", reply.StopReason)
		a.wire.fail(fmt.Sprintf("the model stopped for the unknown reason %q", reply.StopReason), false)
		return false, errDeclined
	}
}

// goOn commits a reply in which the model paused, to be sent again as it is. The
// API does not take white space at the end of what it is to continue.
func (a *asking) goOn(reply *model.Response) error {
	content := kept(reply.Content)
	if last := &content[len(content)-1]; last.Type == model.BlockText {
		last.Text = strings.TrimRightFunc(last.Text, unicode.IsSpace)
	}
	a.commit(assistantMessage(content...), &reply.Usage)
	if a.pauses++; a.pauses < maxPauses {
		return nil
	}
	a.wire.fail(fmt.Sprintf("the model paused %d times in a row", maxPauses), false)
	return errDeclined
}

// shorter has the model try once more, with twice the room, after a reply that
// reached max_tokens.
func (a *asking) shorter(reply *model.Response, again bool) error {
	most := a.cfg.Params.MaxTokens
	if again {
		a.keepCut(reply, "")
		return &limitError{limit: "max_tokens", configured: 2 * most, measured: reply.Usage.OutputTokens}
	}
	a.keepCut(reply, fmt.Sprintf("Your last reply was cut off at %d tokens, and no tool that it called was run. "+
		"Say it again more briefly, in smaller steps.", most))
	return nil
}

// keepCut commits the text of a reply that was cut, runs nothing of it, and
// tells the model so unless note is empty.
func (a *asking) keepCut(reply *model.Response, note string) {
	text := replyText(reply)
	if text == "" {
		text = cutReply
	}
	a.commit(assistantMessage(model.Text(text)), &reply.Usage)
	if note != "" {
		a.say(note)
	}
}

// makeRoom drops old rounds of tools, once in a query.
func (a *asking) makeRoom() error {
	messages, dropped := compact(a.messages)
	if a.compacted || dropped == 0 {
		limit := &limitError{limit: "context", configured: "the model's context", measured: "more"}
		if card := a.account.card; card != nil {
			limit.configured = card.Context
		}
		return limit
	}
	a.compacted = true
	a.messages = messages
	a.wire.event("response", fmt.Sprintf("The conversation was too long: its %d oldest rounds of tools were dropped.", dropped), nil)
	return nil
}
