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

// truncatedReplyText is the text that a transcript has in place of a reply that was cut off
// before it had any text.
const truncatedReplyText = "[The reply was cut off.]"

// maxPausedReplies is how many replies in a row may end with the stop reason pause_turn
// before the query ends with a DeclinedError.
const maxPausedReplies = 20

// DeclinedError is the error that ends the work on a query because the model does not
// continue: it refused, paused too often in a row or gave an unknown stop reason. It has
// already been reported to the server.
type DeclinedError struct{ Reason string }

func (e *DeclinedError) Error() string { return e.Reason }

// ModelCall calls the model until it has a complete reply, for one query (in the strategy
// ticks: for one tick). It calls again after a reply that was cut off, and drops old rounds
// from a conversation that is too long. It is used by one goroutine at a time.
type ModelCall struct {
	*Conversation
	System         []model.Block // does not change between calls, so that the API can cache it
	VolatileSystem []model.Block // may change with every call; follows System and Config.SystemText
	Tools          []model.Tool
	Compaction     Compaction // what may be dropped from a conversation that is too long

	truncated     *model.Response // the last reply, if it reached max_tokens
	pausedReplies int             // in a row
	compacted     bool            // rounds have been dropped
}

// Reply calls the model until a reply is complete, and returns that reply, which the caller
// must add to the conversation; incomplete replies before it have been added already. The
// error is a [LimitError], a [DeclinedError], the cause of ctx, or that of the model call.
func (m *ModelCall) Reply(ctx context.Context) (*model.Response, error) {
	for {
		m.SendStatus(protocol.AgentThinking)
		reply, err := m.callModel(ctx, m.request())
		complete := false
		switch {
		case model.IsContextExceeded(err):
			err = m.compactTranscript()
		case m.truncated != nil && isBadRequest(err):
			err = m.maxTokensLimitError(err)
		case err == nil:
			complete, err = m.handleStopReason(reply)
		}
		if complete || err != nil {
			return reply, err
		}
	}
}

// request returns a model request with settings, system prompt and tools, but no messages.
func (m *ModelCall) request() model.Request {
	return model.Request{
		Params: m.requestParams(),
		System: slices.Concat(addCacheMarkerToLastBlock(m.stableSystem()), m.VolatileSystem),
		Tools:  addCacheMarkerToLastTool(m.Tools),
	}
}

// stableSystem returns the part of the system prompt that does not change between calls.
func (m *ModelCall) stableSystem() []model.Block {
	if m.Config.SystemText == "" {
		return m.System
	}
	return slices.Concat(m.System, []model.Block{model.Text(m.Config.SystemText)})
}

// requestParams returns the model settings of the next call. After a reply that was cut off,
// max_tokens is doubled.
func (m *ModelCall) requestParams() model.Params {
	params := m.Config.Params
	if m.truncated != nil {
		params.MaxTokens *= 2
	}
	return params
}

// handleStopReason reports whether a reply of the model is complete, which its stop reason
// says. A reply that is incomplete or refused is added to the conversation. It returns a
// [LimitError] or [DeclinedError] if the query must end.
func (m *ModelCall) handleStopReason(reply *model.Response) (complete bool, err error) {
	again := m.truncated != nil
	m.truncated = nil
	if reply.StopReason != model.StopPauseTurn {
		m.pausedReplies = 0
	}
	switch reply.StopReason {
	case model.StopToolUse, model.StopEndTurn, model.StopSequence:
		return true, nil
	case model.StopMaxTokens:
		return false, m.addTruncatedReply(reply, again)
	case model.StopPauseTurn:
		return false, m.addPausedReply(reply)
	case model.StopContextExceeded:
		m.addTruncatedText(reply, "Your last reply was cut off because the conversation is too long, and no tool that it called was run. Say it again.")
		return false, m.compactTranscript()
	case model.StopRefusal:
		m.AddReply(reply)
		return false, m.reportModelDeclined("the model declined to go on (stop reason refusal)")
	default:
		m.AddReply(reply)
		m.server.log.Warn("unknown stop reason", "stop_reason", reply.StopReason)
		return false, m.reportModelDeclined(fmt.Sprintf("the model stopped for the unknown reason %q", reply.StopReason))
	}
}

// reportModelDeclined sends the server an agent_error that says why the model does not continue, and
// returns a DeclinedError with that reason.
func (m *ModelCall) reportModelDeclined(reason string) error {
	m.SendError(reason)
	return &DeclinedError{reason}
}

// addPausedReply adds a reply with the stop reason pause_turn to the conversation, so that
// the next call continues it. White space at its end is removed, because the API rejects it.
// It returns a [DeclinedError] after too many such replies in a row.
func (m *ModelCall) addPausedReply(reply *model.Response) error {
	content := sanitizeReply(reply.Content)
	if last := &content[len(content)-1]; last.Type == model.BlockText {
		last.Text = strings.TrimRightFunc(last.Text, unicode.IsSpace)
	}
	m.addMessageWithUsage(AssistantMessage(content...), &reply.Usage)
	if m.pausedReplies++; m.pausedReplies < maxPausedReplies {
		return nil
	}
	return m.reportModelDeclined(fmt.Sprintf("the model paused %d times in a row", maxPausedReplies))
}

// addTruncatedReply adds the text of a reply that was cut off at max_tokens to the
// conversation, and a note that asks the model to say it again. If again is true, the call
// had twice the tokens already: addTruncatedReply then adds no note and returns a
// [LimitError].
func (m *ModelCall) addTruncatedReply(reply *model.Response, again bool) error {
	maxTokens := m.Config.Params.MaxTokens
	m.truncated = reply
	if again {
		m.addTruncatedText(reply, "")
		return &LimitError{Limit: "max_tokens", Configured: 2 * maxTokens, Measured: reply.Usage.OutputTokens}
	}
	m.addTruncatedText(reply, fmt.Sprintf("Your last reply was cut off at %d tokens, and no tool that it called was run. "+
		"Say it again more briefly, in smaller steps.", maxTokens))
	return nil
}

// addTruncatedText adds the text of a reply that was cut off to the conversation, without its tool
// calls. Unless note is "", it adds note as a user message after it.
func (m *ModelCall) addTruncatedText(reply *model.Response, note string) {
	text := ReplyText(reply)
	if text == "" {
		text = truncatedReplyText
	}
	m.addMessageWithUsage(AssistantMessage(model.Text(text)), &reply.Usage)
	if note != "" {
		m.AddUserText(note)
	}
}

// isBadRequest reports whether an API rejected a request as invalid (HTTP 400).
func isBadRequest(err error) bool {
	api, ok := errors.AsType[*model.APIError](err)
	return ok && api.Status == 400
}

// maxTokensLimitError reports to the server that the API has rejected a call with twice the
// max_tokens, and returns a [LimitError] for the original max_tokens, at which the reply was
// cut off.
func (m *ModelCall) maxTokensLimitError(rejection error) error {
	maxTokens := m.Config.Params.MaxTokens
	m.SendError(fmt.Sprintf("a reply of up to %d tokens, as the last was cut off at %d, was refused: %v", 2*maxTokens, maxTokens, rejection))
	return &LimitError{Limit: "max_tokens", Configured: maxTokens, Measured: m.truncated.Usage.OutputTokens}
}

// compactTranscript drops the oldest rounds from the conversation and sends an event of type
// compacted. It returns a [LimitError] if there is nothing to drop or if this ModelCall has
// dropped rounds before.
func (m *ModelCall) compactTranscript() error {
	messages, dropped := m.Compaction.Compact(m.messages)
	if m.compacted || dropped == 0 {
		return m.contextLimitError()
	}
	m.compacted = true
	m.messages = messages
	m.sendEvent("compacted", fmt.Sprintf("The conversation was too long: its %d oldest rounds were dropped.", dropped), nil)
	return nil
}

// contextLimitError returns a [LimitError] that says that the conversation is longer than the
// model's context, whose size in tokens it names if it is known.
func (m *ModelCall) contextLimitError() error {
	limit := &LimitError{
		Limit: "context", Configured: "the model's context", Measured: "more",
		Text: "the conversation is longer than the model reads",
	}
	if card := m.usage.modelCard; card != nil {
		limit.Configured = card.Context
		limit.Text = fmt.Sprintf("the conversation is longer than the %d tokens that the model reads", card.Context)
	}
	return limit
}
