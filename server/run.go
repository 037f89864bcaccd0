package server

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/router"
)

// errOver says that a session has ended before a console could come to it.
var errOver = errors.New("the session has ended")

// atRun is /run: the console's token first, then what the kernel does.
type atRun struct{ server *Server }

func (atRun) name() string { return "run" }

func (a atRun) check(first HelloMessage) error { return a.server.checkToken(first.Token) }

func (a atRun) attend(c *console, sc *scene) error {
	peer, err := sc.live.Router().AttachConsole(c.place(), c.id, func(id int, owner bool) (body, recorded []byte) {
		return a.server.ready(sc, id, owner)
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
	body, _ := a.server.ready(sc, c.id, c.server.cfg.EvalSandbox || c.slot.owns(c.id))
	return c.write(body)
}

// refuse answers what is said when the session has ended: only a new kernel
// makes sense then, in a new session with the notebook of the old one.
func (a atRun) refuse(c *console, body []byte) error {
	var message struct{ Type, Name string }
	if err := json.Unmarshal(body, &message); err != nil {
		return a.fail(c, err)
	}
	switch {
	case message.Type != protocol.TypeManagedProcessRestart || a.server.cfg.StartSession == nil:
	case !c.server.cfg.EvalSandbox && !c.slot.owns(c.id):
		return c.say(protocol.Error{Type: protocol.TypeNotSessionOwner, Data: protocol.ErrorData{Message: message.Type + ": another console owns this session"}})
	case message.Name != "kernel" && message.Name != "agent":
		return a.fail(c, fmt.Errorf("%s: name: want kernel or agent, not %q", message.Type, message.Name))
	default:
		c.slot.want(true)
		return nil
	}
	return c.say(protocol.Error{Type: protocol.TypeError, Data: protocol.ErrorData{
		Message: fmt.Sprintf("%s: the session has ended; %s begins another with this notebook", message.Type, protocol.TypeManagedProcessRestart),
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
	return c.write(body)
}

// ReadyMessage is the first message that the server sends at /run, for each session
// that the console is connected to: the session's state so far.
type ReadyMessage struct {
	Type                         string `json:"type"`              // ready
	ConnID                       int    `json:"connection_idx"`    // the console's number, from 1
	KernelStatus                 string `json:"kernel_status"`     // running or dead
	KernelPID                    int    `json:"kernel_pid"`        // 0: no kernel was started
	SessionOwner                 bool   `json:"session_owner"`     // the console may restart the kernel and write to it
	Language                     string `json:"language"`          // of the kernel
	Trace                        string `json:"trace,omitempty"`   // path of the trace, which identifies the session
	CaseID                       string `json:"case_id,omitempty"` // of the attempt that the session belongs to; absent: none
	*notebook.ExecutionsSnapshot        // absent in the trace's record of the message
}

// ready makes it, and what the trace has of it. Without a session, nil, nothing is
// there.
func (s *Server) ready(sc *scene, id int, owner bool) (body, recorded []byte) {
	frame := ReadyMessage{Type: protocol.TypeReady, ConnID: id, KernelStatus: "dead", SessionOwner: owner, CaseID: sc.caseID}
	if sc.recording != nil {
		frame.Trace = sc.recording.Path
	}
	state := notebook.NewExecutions(notebook.ExecutionsConfig{}).Snapshot()
	if live := sc.live; live != nil {
		state, frame.KernelPID, frame.Language = live.Executions().Snapshot(), live.KernelPID(), live.KernelReady().Language
		if live.IsKernelAlive() {
			frame.KernelStatus = "running"
		}
	}
	recorded = s.encode(frame)
	frame.ExecutionsSnapshot = &state
	return s.encode(frame), recorded
}

func (s *Server) encode(frame ReadyMessage) []byte {
	body, err := protocol.Marshal(frame)
	if err != nil { // it is made of strings, numbers and JSON that was read
		s.log.Error("ready cannot be written", "error", err)
		return fmt.Appendf(nil, `{"type":%q,"connection_idx":%d,"session_owner":%t}`, frame.Type, frame.ConnID, frame.SessionOwner)
	}
	return body
}
