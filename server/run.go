package server

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/internal/session"
	"assay/router"
)

// errOver says that a session has ended before a console could come to it.
var errOver = errors.New("the session has ended")

// atRun is /run: the console's token first, then what the kernel does.
type atRun struct{ server *Server }

func (atRun) name() string { return "run" }

func (a atRun) check(first hello) error { return a.server.checkToken(first.Token) }

func (a atRun) attend(c *console, sc *scene) error {
	peer, err := sc.live.Router().AttachConsole(c.place(), c.id, func(id int, owner bool) []byte {
		return a.server.ready(sc.live, id, owner)
	})
	return c.stay(peer, err)
}

// stay keeps a console where it is until it has gone or the session has ended.
func (c *console) stay(peer *router.Peer, err error) error {
	if errors.Is(err, router.ErrClosed) {
		return errOver
	}
	if err != nil {
		return err
	}
	<-peer.Done()
	select {
	case <-c.gone:
		return errGone
	case <-c.left:
		return errGone
	default:
		return nil
	}
}

func (a atRun) stand(c *console, sc *scene, seen bool) error {
	if seen {
		return nil // it has been told how the kernel ended
	}
	return c.conn.Write(a.server.ready(sc.live, c.id, true))
}

// refuse answers what is said when the session has ended: only a new kernel
// makes sense then, in a new session with the notebook of the old one.
func (a atRun) refuse(c *console, body []byte) error {
	var message protocol.Envelope
	if env, err := protocol.NewDecoder().Envelope(body); err == nil {
		message = env
	}
	if message.Type == protocol.TypeRestart && a.server.cfg.Open != nil {
		c.slot.want(true)
		return nil
	}
	return c.say(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{
		Message: fmt.Sprintf("%s: the session has ended; %s begins another with this notebook", message.Type, protocol.TypeRestart),
	}})
}

func (atRun) fail(c *console, problem error) error {
	return c.say(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{Message: problem.Error()}})
}

func (c *console) say(message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return err
	}
	return c.conn.Write(body)
}

// ready is what a console is told first: the state so far. Without a session,
// nil, nothing is there.
func (s *Server) ready(live *session.Session, id int, owner bool) []byte {
	message := struct {
		Type         string `json:"type"`
		Connection   int    `json:"connection_idx"`
		KernelStatus string `json:"kernel_status"` // running or dead
		KernelPID    int    `json:"kernel_pid"`
		SessionOwner bool   `json:"session_owner"`
		Language     string `json:"language"`
		notebook.Snapshot
	}{Type: protocol.TypeReady, Connection: id, KernelStatus: "dead", SessionOwner: owner, Snapshot: notebook.NewRuns(notebook.RunsConfig{}).Snapshot()}
	if live != nil {
		message.Snapshot, message.KernelPID, message.Language = live.Runs().Snapshot(), live.KernelPID(), live.KernelReady().Language
		if live.KernelAlive() {
			message.KernelStatus = "running"
		}
	}
	body, err := json.Marshal(message)
	if err != nil {
		s.log.Error("ready cannot be written", "error", err)
		return fmt.Appendf(nil, `{"type":"ready","connection_idx":%d,"session_owner":%t}`, id, owner)
	}
	return body
}
