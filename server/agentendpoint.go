package server

import (
	"errors"
	"strings"

	"github.com/google/uuid"

	"assay/eval/session"
	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/router"
)

// The roles of a console at /agent.
const (
	RoleHolder = "holder" // the console holds the notebook; the default. "owner" means the same
	RoleView   = "view"   // the console shows the notebook that the server holds
)

// consoleAgentEndpoint is /agent: the console sends init, and then gets the agent's actions
// if it is a holder, or the notebook if it is a view.
type consoleAgentEndpoint struct{ server *Server }

func (consoleAgentEndpoint) name() string { return "agent" }

// checkHello requires a token only without Config.EvalSandbox: consoles made for that
// mode send none here.
func (e consoleAgentEndpoint) checkHello(hello HelloMessage) error {
	if !e.server.cfg.EvalSandbox {
		if err := e.server.checkToken(hello.Token); err != nil {
			return err
		}
	}
	if hello.Type != protocol.TypeInit {
		return newConsoleRejectionf("the first message must be init, not %q", hello.Type)
	}
	switch hello.Role {
	case "", RoleHolder, "owner", RoleView:
		return nil
	default:
		return newConsoleRejectionf("unknown role %q: want %s or %s", hello.Role, RoleHolder, RoleView)
	}
}

// serveLive connects a console at /agent to a live session, as holder or as view of the
// notebook, until either ends. It returns a rejection with close code 4009 if the console
// wants to hold a notebook that another console or the server holds, or to view one that a
// console holds.
func (e consoleAgentEndpoint) serveLive(c *console, instance *sessionInstance) error {
	var peer *router.Peer
	var err error
	id := session.ConsoleIdentity{ConnID: c.number, Name: c.consoleName(), RunConnID: c.hello.RunConnID}
	if c.hello.Role == RoleView {
		peer, err = instance.live.AttachView(c.newSessionConn(), id)
	} else {
		peer, err = instance.live.AttachHolder(c.newSessionConn(), id)
	}
	for _, held := range []error{session.ErrHeldByOtherConsole, session.ErrHeldByServer, session.ErrHeldByConsole} {
		if errors.Is(err, held) {
			return &consoleRejectedError{protocol.CloseAlreadyHeld, err.Error()}
		}
	}
	return c.awaitPeer(peer, err)
}

// consoleName returns what the console calls itself, by which a holder is recognised when it
// reconnects. A console without a name gets a random one.
func (c *console) consoleName() string {
	name := strings.Trim(string(c.hello.SessionID), `"`)
	if name == "" || name == "null" {
		return uuid.NewString()
	}
	return name
}

// sendEnded sends a view the last notebook, unless it was connected, and every
// console the result of the attempt, if there is one.
func (e consoleAgentEndpoint) sendEnded(c *console, instance *sessionInstance, wasConnected bool) error {
	if c.hello.Role == RoleView && !wasConnected {
		state := notebook.State{Cells: []notebook.Cell{}, Executions: notebook.NewExecutions(notebook.ExecutionsConfig{}).Snapshot()}
		var seq int64
		if instance.live != nil {
			state = instance.live.NotebookState()
			seq, _ = instance.live.Journal().LastEntry()
		}
		if err := c.write(session.NotebookStateMessage(seq, state)); err != nil {
			return err
		}
	}
	if instance.result == nil {
		return nil
	}
	return c.write(instance.result)
}

// handleMessageAfterEnd answers actions and queries with an error, and ignores answers to
// messages that were sent before the session ended.
func (e consoleAgentEndpoint) handleMessageAfterEnd(c *console, body []byte) error {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	switch {
	case err == nil && env.Type == protocol.TypeNotebookAction:
		answer := protocol.NewActionError(env.TxID, "the session has ended")
		answer.Type = protocol.TypeNotebookActionResponse
		return c.send(answer)
	case err == nil && (env.Type == protocol.TypeActionResponse || env.Type == protocol.TypeKernelMessage):
		return nil
	default:
		return e.sendError(c, errors.New("the session has ended"))
	}
}

func (consoleAgentEndpoint) sendError(c *console, err error) error {
	return c.send(protocol.AgentError{Type: protocol.TypeAgentError, Error: err.Error()})
}
