package builtin

import (
	"fmt"
	"strconv"
	"strings"

	"assay/internal/protocol"
)

// core is what everything in an agent shares.
type core struct {
	cfg      Config
	wire     *wire
	notebook *notebook
	account  *account
	stage    *stage

	// These are set by init, while no query is worked on.
	sessionID string
	evalMode  bool
	language  string // of the kernel
}

func newCore(conn protocol.Conn, cfg Config) *core {
	cfg = cfg.withDefaults()
	w := &wire{conn: conn, stderr: cfg.Stderr, log: cfg.Log}
	n := newNotebook(w, cfg)
	return &core{
		cfg: cfg, wire: w, notebook: n, account: newAccount(cfg, w, n), stage: &stage{wire: w, clock: cfg.Clock},
		language: "python",
	}
}

// init takes over the settings of a session. Limits count anew.
func (c *core) init(message protocol.AgentInit) error {
	if message.Strategy != "" && message.Strategy != c.cfg.Strategy {
		return fmt.Errorf("the session wants the strategy %q, and this agent was started with %q", message.Strategy, c.cfg.Strategy)
	}
	limits, err := c.cfg.Limits.override(message.Limits)
	if err != nil {
		return err
	}
	c.notebook.limits = limits
	c.sessionID, c.evalMode = strconv.Itoa(message.SessionID), message.EvalMode
	if message.Language != "" {
		c.language = message.Language
	}
	c.account.reset()
	return nil
}

// queryText is what the model is told of a query: its text, and behind it the
// files that came with it.
func queryText(query protocol.AgentQuery) string {
	text := query.Query
	if files := strings.TrimSpace(string(query.ContextualNodeData)); files != "" && files != "null" {
		text += "\n\n<ContextualNodeData>" + files + "</ContextualNodeData>"
	}
	return strings.TrimSpace(text)
}
