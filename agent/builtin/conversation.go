package builtin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/protocol"
)

// EmptyReplyText is the text that a transcript has in place of a model reply without any
// content that can be kept.
const EmptyReplyText = "[The reply was empty.]"

const (
	// SubmitTool is the name of the tool with which an agent submits its answer.
	SubmitTool = "submit_response"

	// CompleteMarker marks the summary of a submission as final: an evaluation ends
	// when it has seen it.
	CompleteMarker = "[EVAL_COMPLETE]"
)

// Submission is the decoded input of a submit_response call: the answer, and the status with
// which the agent goes on.
type Submission struct {
	Summary    string `json:"summary"`            // the answer, or what the agent has to say
	NextStatus string `json:"next_status"`        // a protocol.AgentStatus value, or fixing
	Continue   bool   `json:"continue,omitempty"` // go on at once if NextStatus names an activity
}

// IsMarked reports whether the submission completes an evaluation.
func (s *Submission) IsMarked() bool { return strings.Contains(s.Summary, CompleteMarker) }

// EndStatus returns the agent's status after the submission, such as done or
// awaiting_user_response, or "" if the submission does not end the turn because it asks to
// continue.
func (s *Submission) EndStatus() string {
	switch s.NextStatus {
	case protocol.AgentAwaitingUser, protocol.AgentAwaitingCell, protocol.AgentAwaitingWidget:
		return s.NextStatus
	case protocol.AgentDone:
		return protocol.AgentDone
	}
	if s.Continue {
		return ""
	}
	return protocol.AgentDone
}

// Conversation is a transcript and the model that continues it. Unless a method says
// otherwise, every message that is added is also sent to the server. It is used by one
// goroutine at a time.
type Conversation struct {
	*AgentCore
	Label string // tells conversations of one agent apart; "" if there is only one

	// RequestNumber is the number of the next request, from 1, for a strategy that does
	// not send earlier replies again; scripted models need it to find their place. 0
	// means that the transcript holds all replies.
	RequestNumber int

	requestID   string // of the current or latest query; "" if it has none
	messages    []model.Message
	submissions int
}

// NewConversation returns a conversation without messages for the agent of core.
func NewConversation(core *AgentCore) *Conversation { return &Conversation{AgentCore: core} }

// NewSibling returns a conversation without messages for the same query of the same agent, with
// another label.
func (c *Conversation) NewSibling(label string) *Conversation {
	return &Conversation{AgentCore: c.AgentCore, Label: label, requestID: c.requestID}
}

// UserMessage returns a transcript message with the role user and this content.
func UserMessage(content ...model.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: content}
}

// AssistantMessage returns a transcript message with the role assistant and this content.
func AssistantMessage(content ...model.Block) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: content}
}

// Messages returns the messages of the conversation. The caller must not change them.
func (c *Conversation) Messages() []model.Message { return c.messages }

// Clear removes all messages from the conversation and, if its requests are numbered, starts
// their numbers at 1 again.
func (c *Conversation) Clear() { c.messages, c.RequestNumber = nil, min(c.RequestNumber, 1) }

// DropMessages removes all messages from the conversation. If its requests are numbered, the
// numbers go on.
func (c *Conversation) DropMessages() { c.messages = nil }

// SendEvent sends an agent_event about the current query. It adds the query's request id and
// the conversation's label to the metadata. Channel and mode default to "ai" and "NL". A
// write error is only logged.
func (c *Conversation) SendEvent(event protocol.AgentEvent) {
	metadata := map[string]any{}
	if c.requestID != "" {
		metadata["request_id"] = c.requestID
	}
	if c.Label != "" {
		metadata["label"] = c.Label
	}
	maps.Copy(metadata, event.Metadata)
	event.Metadata = metadata
	c.server.sendEvent(event)
}

// sendEvent sends an agent_event with text whose metadata has kind as its type, and the
// members of fields.
func (c *Conversation) sendEvent(kind, text string, fields map[string]any) {
	metadata := map[string]any{"type": kind}
	maps.Copy(metadata, fields)
	c.SendEvent(protocol.AgentEvent{Text: text, Metadata: metadata})
}

// repairTranscript makes the messages of a conversation a transcript that the Messages API
// accepts; see repairMessages. It sends the server the messages that the repair adds at the
// end.
func (c *Conversation) repairTranscript() {
	before := len(c.messages)
	c.messages = repairMessages(c.messages)
	for _, m := range c.messages[min(before, len(c.messages)):] {
		c.SendMessage(c.requestID, m, nil)
	}
}

// AddMessage adds a message that no model call returned to the conversation, and sends it to
// the server.
func (c *Conversation) AddMessage(m model.Message) { c.addMessageWithUsage(m, nil) }

// AddUnsentMessages adds messages to the conversation without sending them to the server.
func (c *Conversation) AddUnsentMessages(messages ...model.Message) {
	c.messages = append(c.messages, messages...)
}

// AddUserText adds a text to the conversation as a message of the user, and sends it to the
// server.
func (c *Conversation) AddUserText(text string) {
	c.addMessageWithUsage(UserMessage(model.Text(text)), nil)
}

// AddToolResults adds the results of tool calls to the conversation as one user message and
// sends it to the server. An image for which a request has no more room is replaced, in
// results itself, by a text.
func (c *Conversation) AddToolResults(results []model.Block) {
	c.limitImages(results)
	c.addMessageWithUsage(UserMessage(results...), nil)
}

// AddReply adds a reply of the model to the conversation and sends it to the server. Content
// that the API would reject later is removed or replaced.
func (c *Conversation) AddReply(reply *model.Response) {
	c.addMessageWithUsage(AssistantMessage(sanitizeReply(reply.Content)...), &reply.Usage)
}

// addMessageWithUsage adds a message to the conversation and sends it to the server. usage is nil
// unless a model call returned the message.
func (c *Conversation) addMessageWithUsage(m model.Message, usage *model.Usage) {
	c.messages = append(c.messages, m)
	c.SendMessage(c.requestID, m, usage)
}

// Submit submits summary as the final answer, for a strategy whose model has no tool for
// that. The server gets a message with otherBlocks and a submit_response call that has the
// summary and the status done. The transcript gets the summary as text instead of the call,
// because nothing would answer the call.
func (c *Conversation) Submit(summary string, usage *model.Usage, otherBlocks ...model.Block) error {
	input, err := protocol.Marshal(Submission{Summary: summary, NextStatus: protocol.AgentDone})
	if err != nil {
		return err
	}
	c.submissions++
	call := model.ToolUse(fmt.Sprintf("toolu_submit_%d", c.submissions), SubmitTool, input)
	c.AddUnsentMessages(AssistantMessage(slices.Concat(otherBlocks, []model.Block{model.Text(cmp.Or(summary, EmptyReplyText))})...))
	c.SendMessage(c.requestID, AssistantMessage(append(otherBlocks, call)...), usage)
	return nil
}

// callModel sends the transcript to the model and returns its reply, which is not added to
// the transcript. It retries calls that fail temporarily. It returns a [LimitError] if a
// limit has been reached before a try, the cause of ctx, or the error of the last try.
func (c *Conversation) callModel(ctx context.Context, req model.Request) (*model.Response, error) {
	c.repairTranscript()
	req.Turn, req.Messages = c.RequestNumber, addCacheMarkersToUserTurns(c.messages)
	retries := retryState{Conversation: c}
	for {
		if err := c.usage.checkLimits(); err != nil {
			return nil, err
		}
		reply, err := c.callModelOnce(ctx, req)
		if err == nil {
			c.usage.recordModelCall(reply.Usage)
			if c.RequestNumber > 0 {
				c.RequestNumber++
			}
			reply.Content = c.assignCallIDs(reply.Content)
			return reply, nil
		}
		if err := retries.waitBeforeRetry(ctx, err); err != nil {
			return nil, err
		}
	}
}

// callModelOnce calls the model once, and streams the reply to the server while it arrives. It does
// not retry.
func (c *Conversation) callModelOnce(ctx context.Context, req model.Request) (*model.Response, error) {
	stream := c.streamer.tryStart()
	reply, err := c.Config.Model.Complete(ctx, req, stream.SendDelta)
	stream.Finish(err)
	return reply, err
}

// ReplyText returns the text blocks of a model reply as one text without surrounding white
// space, "" if it has none.
func ReplyText(reply *model.Response) string {
	return strings.TrimSpace(model.ReplyText(reply.Content))
}

// WithoutBlockType returns a copy of blocks without those of type blockType.
func WithoutBlockType(blockType string, blocks []model.Block) []model.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b model.Block) bool { return b.Type == blockType })
}

// SystemPromptIntro returns the first sentence of a system prompt, which tells the model its
// name and that it works in a live notebook.
func SystemPromptIntro(name string) string {
	return "You are " + name + ", an agent that works in a live notebook to solve the task that the user gives you."
}
