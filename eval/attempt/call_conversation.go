package attempt

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"assay/internal/model/calllog"
	"assay/internal/model/conversation"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// callConversation is the conversation of an agent that has sent no history but submissions, from its calls of models.
type callConversation struct {
	builder conversation.Builder
	log     *slog.Logger
}

// read reads a record of the trace. A request of which a part cannot be read is only logged.
func (c *callConversation) read(r trace.Record) {
	var err error
	switch {
	case r.Hop == trace.AgentToModel && r.Type == calllog.TypeCall:
		var call calllog.Call
		if err = json.Unmarshal(r.Message, &call); err == nil {
			err = c.builder.AddCall(call, r.WallTime)
		}
	case r.Hop == trace.ModelToAgent && r.Type == calllog.TypeReply:
		var reply calllog.Reply
		if err = json.Unmarshal(r.Message, &reply); err == nil {
			c.builder.AddReply(reply, r.WallTime)
		}
	}
	if err != nil {
		c.log.Warn("a part of the conversation is left out: it cannot be read", "seq", r.Seq, "error", err)
	}
}

// callMessage is a message of conversation.jsonl that was made from the calls.
type callMessage struct {
	protocol.HistoryEntry
	Label string `json:"label,omitempty"` // number of its thread, from 2; empty for the longest one
	Call  int64  `json:"call,omitempty"`  // number of the call whose reply it is; absent: it is no reply
}

// write writes the messages, one per line.
func (c *callConversation) write(out io.Writer) error {
	for _, m := range c.builder.Messages() {
		content, err := protocol.Marshal(m.Content)
		if err != nil {
			return fmt.Errorf("write the conversation: %w", err)
		}
		line := callMessage{HistoryEntry: protocol.HistoryEntry{
			Type: protocol.HistoryEntryTypeAnthropicMessage, Role: m.Role, Content: content, Timestamp: m.At.UTC().Format(time.RFC3339Nano),
		}, Call: m.Call}
		if m.Usage != nil {
			line.Usage = marshalMessage(m.Usage)
		}
		if m.Thread > 0 {
			line.Label = strconv.Itoa(m.Thread)
		}
		if _, err := out.Write(append(marshalMessage(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}
