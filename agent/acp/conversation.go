package acp

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"assay/agent/builtin/tools"
	"assay/internal/model"
	"assay/internal/protocol"
)

// conversation turns the session/update notifications of a program into the agent's conversation. It is
// safe for concurrent use.
type conversation struct {
	agent *tools.ExternalAgent
	log   *slog.Logger

	mu        sync.Mutex
	sessionID string // of which updates are recorded
	messageID string // of the last piece of a text or thought; "" if the program does not number its messages
	plan      string // the last one
	usage     protocol.UsageUpdate
	calls     toolCalls
}

func newConversation(agent *tools.ExternalAgent, log *slog.Logger) *conversation {
	return &conversation{agent: agent, log: log, calls: newToolCalls(agent)}
}

// beginTurn makes the updates of this session, and no other, part of the conversation.
func (c *conversation) beginTurn(sessionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessionID, c.messageID, c.plan = sessionID, "", ""
	c.calls = newToolCalls(c.agent)
}

// endTurn records the calls that have not ended. Later updates are ignored.
func (c *conversation) endTurn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessionID = ""
	c.calls.endAll()
}

// addUpdate adds a session/update to the conversation. Updates outside of a turn, of an unknown kind or
// that cannot be decoded are only logged.
func (c *conversation) addUpdate(params json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var notification sessionNotification
	var update struct {
		Kind string `json:"sessionUpdate"`
	}
	err := decode(params, &notification)
	if err == nil {
		err = decode(notification.Update, &update)
	}
	switch {
	case err != nil:
	case notification.SessionID != c.sessionID:
		c.log.Debug("an update outside of its turn was ignored", "kind", update.Kind)
	default:
		err = c.addUpdateOfKind(update.Kind, notification.Update)
	}
	if err != nil {
		c.log.Warn("an update of the program cannot be read", "kind", update.Kind, "error", err)
	}
}

// addUpdateOfKind adds an update of this kind to the conversation. It returns an error if the update
// cannot be decoded.
func (c *conversation) addUpdateOfKind(kind string, update json.RawMessage) error {
	switch kind {
	case "agent_message_chunk":
		return c.addChunk(model.BlockText, update)
	case "agent_thought_chunk":
		return c.addChunk(model.BlockThinking, update)
	case "tool_call", "tool_call_update":
		var call toolCallUpdate
		if err := decode(update, &call); err != nil {
			return err
		}
		c.messageID = ""
		if !c.calls.update(&call) {
			c.log.Warn("a tool call of the program was ignored: there are too many in this turn", "id", call.ToolCallID)
		}
	case "plan":
		return c.addPlan(update)
	case "usage_update":
		return c.addUsage(update)
	default: // such as available_commands_update: nothing that the model writes or does
		c.log.Debug("an update was ignored", "kind", kind)
	}
	return nil
}

// addChunk adds a piece of a text or thought. A new message begins a new paragraph.
func (c *conversation) addChunk(blockType string, update json.RawMessage) error {
	var chunk messageChunk
	if err := decode(update, &chunk); err != nil {
		return err
	}
	text := blockText(&chunk.Content)
	if c.messageID != "" && chunk.MessageID != c.messageID {
		text = "\n\n" + text
	}
	c.messageID = chunk.MessageID
	c.agent.AddReplyText(blockType, text)
	return nil
}

// addPlan adds a plan, if it has changed, as a thought.
func (c *conversation) addPlan(update json.RawMessage) error {
	var plan planUpdate
	if err := decode(update, &plan); err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("\nPlan:\n")
	for _, entry := range plan.Entries {
		mark := map[string]string{"completed": "x", "in_progress": ">"}[entry.Status]
		if mark == "" {
			mark = " "
		}
		text.WriteString("[" + mark + "] " + entry.Content + "\n")
	}
	if text.String() != c.plan {
		c.plan = text.String()
		c.agent.AddReplyText(model.BlockThinking, c.plan)
	}
	return nil
}

// addUsage reports the size of the model's context, and the cost if it is in US dollars.
func (c *conversation) addUsage(update json.RawMessage) error {
	var usage usageUpdate
	if err := decode(update, &usage); err != nil {
		return err
	}
	c.usage.ContextLimit = usage.Size
	if usage.Cost != nil && usage.Cost.Currency == "USD" {
		c.usage.CostUSD = &usage.Cost.Amount
	}
	c.agent.ReportUsage(c.usage)
	return nil
}

// addTokens reports the tokens that a session has used so far.
func (c *conversation) addTokens(tokens *tokenUsage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage.InputTokens, c.usage.OutputTokens = tokens.InputTokens, tokens.OutputTokens+tokens.ThoughtTokens
	c.usage.CacheReadInputTokens, c.usage.CacheCreationInputTokens = tokens.CachedReadTokens, tokens.CachedWriteTokens
	c.agent.ReportUsage(c.usage)
}

// decode decodes JSON. A field of a wrong type keeps its zero value, as the protocol's schema wants.
func decode(raw json.RawMessage, into any) error {
	err := json.Unmarshal(raw, into)
	if _, isWrongType := errors.AsType[*json.UnmarshalTypeError](err); isWrongType {
		return nil
	}
	return err
}

// blockText returns the text of a content block, or a few words about one that is no text.
func blockText(b *contentBlock) string {
	switch {
	case b.Type == "text":
		return b.Text
	case b.Resource != nil && b.Resource.Text != "":
		return b.Resource.Text
	case b.Resource != nil:
		return "[" + b.Resource.URI + "]"
	case b.Type == "":
		return ""
	default:
		return "[" + strings.Join(strings.Fields(b.Type+" "+b.MIMEType+" "+b.URI), " ") + "]"
	}
}
