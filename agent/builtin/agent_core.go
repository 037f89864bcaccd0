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
	Notebook *Notebook

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
	notebook := newNotebook(server, cfg)
	return &AgentCore{
		Config: cfg, Notebook: notebook, Language: "python", server: server,
		usage: newUsageTracker(cfg, server, notebook), streamer: &replyStreamer{server: server, clock: cfg.Clock},
	}
}

// applySession takes over the settings of a session and resets what counts towards
// the limits. It returns an error, and changes nothing, if the limits in the message
// cannot be read.
func (c *AgentCore) applySession(message protocol.AgentInit) error {
	limits, err := c.Config.Limits.withOverrides(message.Limits)
	if err != nil {
		return err
	}
	c.Notebook.limits = limits
	c.sessionID, c.EvalMode = strconv.Itoa(message.SessionID), message.EvalMode
	if message.Language != "" {
		c.Language = message.Language
	}
	c.usage.resetLimits()
	return nil
}

// SendStatus tells the server what the agent is doing; see protocol.AgentStatus.
func (c *AgentCore) SendStatus(status string) { c.server.sendStatus(status) }

// SendError reports an error that does not end the work on the query.
func (c *AgentCore) SendError(text string) { c.server.sendError(text, false) }

// SendMessage sends a message of a transcript to the server. requestID is that of the
// query that the message belongs to, "" for none; usage is nil for messages that no
// model call returned.
func (c *AgentCore) SendMessage(requestID string, m model.Message, usage *model.Usage) {
	c.server.sendMessage(c.sessionID, requestID, c.Config.Clock(), m, usage)
}

// QueryText returns what the model is given of a query: its text, followed by its
// contextual_node_data (the files that came with it) if there are any. Surrounding
// white space is removed; "" means that the query is empty.
func QueryText(query protocol.AgentQuery) string {
	text := query.Query
	if files := strings.TrimSpace(string(query.ContextualNodeData)); files != "" && files != "null" {
		text += "\n\n<ContextualNodeData>" + files + "</ContextualNodeData>"
	}
	return strings.TrimSpace(text)
}
