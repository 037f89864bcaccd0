package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/agent/model"
	"assay/internal/protocol"
)

// emptyReply stands for a reply that has nothing to keep.
const emptyReply = "[The reply was empty.]"

// conversation is a transcript, and the model that continues it. It is used by
// one goroutine at a time.
type conversation struct {
	*core

	requestID string
	messages  []model.Message
	submits   int
}

func newConversation(c *core) *conversation { return &conversation{core: c} }

// begin opens a query.
func (c *conversation) begin(requestID string) {
	c.requestID = requestID
	c.repair()
}

// clear forgets the transcript.
func (c *conversation) clear() { c.messages = nil }

// repair makes the transcript whole. What it adds at the end is committed like
// any other message.
func (c *conversation) repair() {
	before := len(c.messages)
	c.messages = repair(c.messages)
	for _, m := range c.messages[min(before, len(c.messages)):] {
		c.announce(m, nil)
	}
}

// commit adds a message for good and tells the server of it. Usage is that of
// the call that it came from, if it came from one.
func (c *conversation) commit(m model.Message, usage *model.Usage) {
	c.messages = append(c.messages, m)
	c.announce(m, usage)
}

// say commits a text to the model.
func (c *conversation) say(text string) { c.commit(userMessage(model.Text(text)), nil) }

// keep commits a reply.
func (c *conversation) keep(reply *model.Response) {
	content := presentable(assistantMessage(reply.Content...), map[string]bool{})
	if len(content) == 0 {
		content = []model.Block{model.Text(emptyReply)}
	}
	c.commit(assistantMessage(content...), &reply.Usage)
}

// submit commits a reply as the submission of an agent that has no tool for it:
// its text is the summary, and the work is done.
func (c *conversation) submit(summary string, usage *model.Usage) error {
	input, err := protocol.Marshal(submission{Summary: summary, NextStatus: protocol.AgentDone})
	if err != nil {
		return err
	}
	c.submits++
	c.commit(assistantMessage(model.ToolUse(fmt.Sprintf("toolu_submit_%d", c.submits), submitTool, input)), usage)
	return nil
}

// announce tells the server of a message.
func (c *conversation) announce(m model.Message, usage *model.Usage) {
	entry := protocol.HistoryEntry{
		Type: protocol.EntryAnthropicMessage, Role: m.Role, RequestID: c.requestID,
		Timestamp: stamp(c.cfg.Clock()),
	}
	var err error
	if entry.Content, err = protocol.Marshal(m.Content); err != nil {
		c.wire.log.Error("message not told", "error", err)
		return
	}
	if usage != nil {
		entry.Usage, _ = json.Marshal(usage) //nolint:errchkjson // four numbers
	}
	raw, _ := protocol.Marshal(entry) // strings and JSON can be written
	c.wire.tell(protocol.HistoryUpdated{
		Type: protocol.TypeAgentHistoryUpdated, SessionID: c.sessionID, RequestID: c.requestID, Entry: raw,
	})
}

// stamp writes a time with milliseconds.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// call has the model continue the transcript, unless a limit has been reached.
// The reply is not part of the transcript until it is committed.
func (c *conversation) call(ctx context.Context, req model.Request) (*model.Response, error) {
	if err := c.account.check(); err != nil {
		return nil, err
	}
	c.repair()
	req.Messages = c.messages
	streaming := c.stage.enter()
	reply, err := c.cfg.Model.Complete(ctx, req, streaming.delta)
	streaming.leave(err)
	if err != nil {
		return nil, err
	}
	c.account.add(reply.Usage)
	return reply, nil
}

// replyText is the text of a reply, without white space around it.
func replyText(reply *model.Response) string {
	return strings.TrimSpace(model.PlainText(reply.Content))
}
