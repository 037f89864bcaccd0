package builtin

import (
	"strconv"
	"strings"

	"assay/internal/model"
	"assay/internal/protocol"
)

// AgentCore is what all parts of one agent share: its configuration, its connection,
// its notebook and the settings of the session.
type AgentCore struct {
	Config   Config // with defaults filled in
	Notebook *NotebookClient

	// EvalMode (the session is an evaluation) and Language (of the kernel, such as
	// python or elisp) come from the init message. They change only while no query
	// is being worked on.
	EvalMode bool
	Language string

	sessionID string // from init, as decimal digits; protected like EvalMode
	server    *serverConn
	usage     *usageTracker
	streamer  *replyStreamer
}

// NewAgentCore returns the parts of an agent that sends its frames to conn. It
// neither reads nor closes conn; [NewAgent] returns an agent that does.
func NewAgentCore(conn protocol.Conn, cfg Config) *AgentCore {
	cfg = cfg.withDefaults()
	server := &serverConn{conn: conn, stderr: cfg.Stderr, log: cfg.Log}
	notebook := newNotebookClient(server, cfg)
	return &AgentCore{
		Config: cfg, Notebook: notebook, Language: "python", server: server,
		usage: newUsageTracker(cfg, server, notebook), streamer: &replyStreamer{server: server, clock: cfg.Clock},
	}
}

// applySessionSettings applies the settings in an init message (limits, session id, evaluation mode,
// language) and makes the limits count from 0 again. It returns an error, and changes
// nothing, if the limits in the message cannot be read.
func (c *AgentCore) applySessionSettings(message protocol.AgentInit) error {
	limits, err := c.Config.Limits.withOverrides(message.Limits)
	if err != nil {
		return err
	}
	if c.Config.IsBehindGateway {
		limits.WallTimeout = 0 // the server does not count waits for the model
	}
	c.Notebook.limits = limits
	c.sessionID, c.EvalMode = strconv.Itoa(message.SessionID), message.EvalMode
	if message.Language != "" {
		c.Language = message.Language
	}
	c.usage.resetLimits()
	return nil
}

// SendStatus sends an agent_status frame with one of the protocol.Agent… status values, such
// as thinking. A write error is only logged.
func (c *AgentCore) SendStatus(status string) { c.server.sendStatus(status) }

// SendError sends text as an agent_error that does not end the query. A write error is only
// logged.
func (c *AgentCore) SendError(text string) { c.server.sendError(text, false) }

// SendMessage sends a transcript message to the server. requestID is the id of the query
// that the message belongs to, or ""; usage is nil for messages that no model call returned.
// A write error is only logged.
func (c *AgentCore) SendMessage(requestID string, m model.Message, usage *model.Usage) {
	c.server.sendMessage(c.sessionID, requestID, c.Config.Clock(), m, usage)
}

// SendUsage sends the tokens and the cost that an external program has used so far. A write error is
// only logged.
func (c *AgentCore) SendUsage(update protocol.UsageUpdate) {
	update.Type = protocol.TypeAgentUsageUpdate
	c.server.sendOrLog(update)
}

// StartReplyStream returns a stream for the reply of an external program's model, or nil if another
// reply is being streamed. The caller must call Finish on it.
func (c *AgentCore) StartReplyStream() *ReplyStream { return c.streamer.tryStart() }

// QueryText returns the text of a query as the model gets it: the query, followed by its
// contextual_node_data (the files that came with it) if there are any. Surrounding white
// space is removed. It returns "" for an empty query.
func QueryText(query protocol.AgentQuery) string {
	text := query.Query
	if files := strings.TrimSpace(string(query.ContextualNodeData)); files != "" && files != "null" {
		text += "\n\n<ContextualNodeData>" + files + "</ContextualNodeData>"
	}
	return strings.TrimSpace(text)
}
