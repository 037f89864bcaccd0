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
	RoleHolder = "holder" // holds the document; the default, and "owner" is another name for it
	RoleView   = "view"   // shows the server's document
)

// atAgent is /agent: the console's init first, then the agent's actions for a
// holder, and the notebook for a view.
type atAgent struct{ server *Server }

func (atAgent) name() string { return "agent" }

// check lets consoles in without a token in the mode for one's own machine:
// those made for that send none.
func (a atAgent) check(first HelloMessage) error {
	if !a.server.cfg.EvalSandbox {
		if err := a.server.checkToken(first.Token); err != nil {
			return err
		}
	}
	if first.Type != protocol.TypeInit {
		return refuse("the first message must be init, not %q", first.Type)
	}
	switch first.Role {
	case "", RoleHolder, "owner", RoleView:
		return nil
	default:
		return refuse("unknown role %q: want %s or %s", first.Role, RoleHolder, RoleView)
	}
}

func (a atAgent) attend(c *console, sc *scene) error {
	var peer *router.Peer
	var err error
	who := session.Console{ConnID: c.id, Name: c.name(), RunConnID: c.first.RunConnID}
	if c.first.Role == RoleView {
		peer, err = sc.live.AttachView(c.place(), who)
	} else {
		peer, err = sc.live.AttachHolder(c.place(), who)
	}
	for _, refused := range []error{session.ErrHeldByOtherConsole, session.ErrHeldByServer, session.ErrHeldByConsole} {
		if errors.Is(err, refused) {
			return &refusal{protocol.CloseAlreadyHeld, err.Error()}
		}
	}
	return c.stay(peer, err)
}

// name is what a console calls itself. One that does not say who it is, is nobody
// that was here before.
func (c *console) name() string {
	name := strings.Trim(string(c.first.SessionID), `"`)
	if name == "" || name == "null" {
		return uuid.NewString()
	}
	return name
}

// stand shows a view the notebook as it was, and tells of the verdict.
func (a atAgent) stand(c *console, sc *scene, seen bool) error {
	if c.first.Role == RoleView && !seen {
		state := notebook.State{Cells: []notebook.Cell{}, Executions: notebook.NewExecutions(notebook.ExecutionsConfig{}).Snapshot()}
		var seq int64
		if sc.live != nil {
			state = sc.live.NotebookState()
			seq, _ = sc.live.Journal().LastEntry()
		}
		if err := c.write(session.NotebookStateMessage(seq, state)); err != nil {
			return err
		}
	}
	if sc.result == nil {
		return nil
	}
	return c.write(sc.result)
}

func (a atAgent) refuse(c *console, body []byte) error {
	env, err := protocol.NewEnvelopeDecoder().Decode(body)
	switch {
	case err == nil && env.Type == protocol.TypeNotebookAction:
		answer := protocol.ActionError(env.TxID, "the session has ended")
		answer.Type = protocol.TypeNotebookActionResponse
		return c.say(answer)
	case err == nil && (env.Type == protocol.TypeActionResponse || env.Type == protocol.TypeKernelMessage):
		return nil // to something that was asked before
	default:
		return c.say(protocol.AgentError{Type: protocol.TypeAgentError, Error: "the session has ended"})
	}
}

func (atAgent) fail(c *console, problem error) error {
	return c.say(protocol.AgentError{Type: protocol.TypeAgentError, Error: problem.Error()})
}
