package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"assay/agent/model"
	"assay/internal/protocol"
)

// conversation is the transcript of the agent, the model that continues it, and
// what that has cost. It is used by one goroutine at a time.
type conversation struct {
	cfg      Config
	wire     *wire
	notebook *notebook
	card     *model.Card // nil: price and context of the model are not known

	sessionID string
	requestID string
	evalMode  bool

	messages []model.Message
	all      ledger // since the agent started
	counted  counted
}

func newConversation(w *wire, n *notebook, cfg Config) *conversation {
	return &conversation{cfg: cfg, wire: w, notebook: n, card: model.FindCard(cfg.ModelName)}
}

// init takes over the settings of a session. Limits count anew.
func (c *conversation) init(message protocol.AgentInit) error {
	limits, err := c.cfg.Limits.override(message.Limits)
	if err != nil {
		return err
	}
	c.notebook.limits = limits
	c.sessionID, c.evalMode = strconv.Itoa(message.SessionID), message.EvalMode
	c.counted = counted{}
	c.repair()
	if limits.CostUSD > 0 && c.cfg.Model != nil && c.card == nil {
		c.wire.fail(fmt.Sprintf("the cost limit of %g USD is not enforced: the price of %q is not known", limits.CostUSD, c.cfg.ModelName), false)
	}
	return nil
}

// begin opens a query.
func (c *conversation) begin(requestID string) {
	c.requestID = requestID
	if c.counted.since.IsZero() || !c.evalMode {
		c.counted = counted{since: c.cfg.Clock(), actions: c.notebook.operations.count()}
	}
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
	if err := c.notebook.limits.check(c.meter()); err != nil {
		return nil, err
	}
	c.repair()
	req.Messages = c.messages
	streaming := &streaming{wire: c.wire, clock: c.cfg.Clock}
	reply, err := c.cfg.Model.Complete(ctx, req, streaming.delta)
	streaming.end(err)
	if err != nil {
		return nil, err
	}
	c.count(reply.Usage)
	return reply, nil
}
