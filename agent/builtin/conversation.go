package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/internal/model"
	"assay/internal/protocol"
)

// emptyReply stands for a reply that has nothing to keep.
const emptyReply = "[The reply was empty.]"

// conversation is a transcript, and the model that continues it. It is used by
// one goroutine at a time.
type conversation struct {
	*core
	label string // where a strategy has several, else ""

	requestID string // of the query that is worked on, or was last; "" is none
	messages  []model.Message
	submits   int
	turn      int // of the next request, as model.Request has it
}

func newConversation(c *core) *conversation { return &conversation{core: c} }

// clear forgets the transcript.
func (c *conversation) clear() { c.messages, c.turn = nil, min(c.turn, 1) }

// event shows something of the work on the query; kind is its metadata's type.
func (c *conversation) event(kind, text string, more map[string]any) {
	c.wire.event(kind, text, c.whose(more))
}

// whose adds to the metadata of an event to which query it belongs, and under which
// label.
func (c *conversation) whose(metadata map[string]any) map[string]any {
	all := map[string]any{}
	if c.requestID != "" {
		all["request_id"] = c.requestID
	}
	if c.label != "" {
		all["label"] = c.label
	}
	maps.Copy(all, metadata)
	return all
}

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
	c.commit(assistantMessage(kept(reply.Content)...), &reply.Usage)
}

// submit commits a reply as the submission of an agent that has no tool for it:
// its text is the summary, and the work is done. What else the reply had stands
// beside it. The server is told of a call; the transcript has the text as it was
// said, for there is no tool that could answer the call.
func (c *conversation) submit(summary string, usage *model.Usage, beside ...model.Block) error {
	input, err := protocol.Marshal(submission{Summary: summary, NextStatus: protocol.AgentDone})
	if err != nil {
		return err
	}
	c.submits++
	call := model.ToolUse(fmt.Sprintf("toolu_submit_%d", c.submits), submitTool, input)
	c.messages = append(c.messages, assistantMessage(slices.Concat(beside, []model.Block{model.Text(cmp.Or(summary, emptyReply))})...))
	c.announce(assistantMessage(append(beside, call)...), usage)
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

// call has the model continue the transcript, unless a limit has been reached. A
// call that fails for a while is made again. The reply is not part of the
// transcript until it is committed.
func (c *conversation) call(ctx context.Context, req model.Request) (*model.Response, error) {
	c.repair()
	req.Turn, req.Messages = c.turn, markTurns(c.messages)
	retries := retrying{conversation: c}
	for {
		if err := c.account.check(); err != nil {
			return nil, err
		}
		reply, err := c.try(ctx, req)
		if err == nil {
			c.account.add(reply.Usage)
			if c.turn > 0 { // it is counted
				c.turn++
			}
			reply.Content = c.identify(reply.Content)
			return reply, nil
		}
		if err := retries.after(ctx, err); err != nil {
			return nil, err
		}
	}
}

// try makes one call of the model and shows its reply while it arrives.
func (c *conversation) try(ctx context.Context, req model.Request) (*model.Response, error) {
	leave, err := c.admitted(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	streaming := c.stage.enter()
	reply, err := c.cfg.Model.Complete(ctx, req, streaming.delta)
	streaming.leave(err)
	return reply, err
}

// replyText is the text of a reply, without white space around it.
func replyText(reply *model.Response) string {
	return strings.TrimSpace(model.PlainText(reply.Content))
}
