package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"assay/internal/model"
	"assay/internal/protocol"
)

// cutReply stands for a reply that was cut before it had a text.
const cutReply = "[The reply was cut off.]"

// maxPauses is how many replies in a row a model may pause in.
const maxPauses = 20

// errDeclined says that the model does not go on, of which the server has been
// told. The work on the query is done.
var errDeclined = errors.New("the model declined to go on")

// asking gets whole replies out of a model, for one query or, in ticks, one tick.
// It has the model say again what was cut off, and makes room in a conversation
// that has become too long.
type asking struct {
	*conversation
	system []model.Block // stays the same, so that the API may cache it
	state  []model.Block // may be another with each call; stands behind system
	tools  []model.Tool
	rounds rounds // that can be dropped to make room

	cut       *model.Response // the last reply, if it reached max_tokens
	pauses    int             // replies in a row that the model paused in
	compacted bool            // room has been made
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
		case model.IsContextExceeded(err):
			err = a.makeRoom()
		case a.cut != nil && refused(err):
			err = a.noLonger(err)
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
	if a.cut != nil {
		params.MaxTokens *= 2
	}
	return params
}

// follow looks at why a reply ended, and commits it unless it is whole.
func (a *asking) follow(reply *model.Response) (whole bool, err error) {
	again := a.cut != nil
	a.cut = nil
	if reply.StopReason != model.StopPauseTurn {
		a.pauses = 0
	}
	switch reply.StopReason {
	case model.StopToolUse, model.StopEndTurn, model.StopSequence:
		return true, nil
	case model.StopMaxTokens:
		return false, a.shorter(reply, again)
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
	a.cut = reply
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

// refused tells whether an API does not take a request as it is: 400 is HTTP's Bad
// Request.
func refused(err error) bool {
	api, ok := errors.AsType[*model.APIError](err)
	return ok && api.Status == 400
}

// noLonger ends the attempt at max_tokens when the API refuses twice as many, with
// why.
func (a *asking) noLonger(why error) error {
	most := a.cfg.Params.MaxTokens
	a.wire.fail(fmt.Sprintf("a reply of up to %d tokens, as the last was cut off at %d, was refused: %v", 2*most, most, why), false)
	return &limitError{limit: "max_tokens", configured: most, measured: a.cut.Usage.OutputTokens}
}

// makeRoom drops the oldest rounds, once. It ends the attempt where there is
// nothing to drop, or that did not help.
func (a *asking) makeRoom() error {
	messages, dropped := a.rounds.compact(a.messages)
	if a.compacted || dropped == 0 {
		return a.tooLong()
	}
	a.compacted = true
	a.messages = messages
	a.event("compacted", fmt.Sprintf("The conversation was too long: its %d oldest rounds were dropped.", dropped), nil)
	return nil
}

// tooLong is the limit of a conversation that the model does not read.
func (a *asking) tooLong() error {
	limit := &limitError{
		limit: "context", configured: "the model's context", measured: "more",
		words: "the conversation is longer than the model reads",
	}
	if card := a.account.card; card != nil {
		limit.configured = card.Context
		limit.words = fmt.Sprintf("the conversation is longer than the %d tokens that the model reads", card.Context)
	}
	return limit
}
