package server

import (
	"encoding/json"
	"errors"
	"fmt"

	"assay/internal/notebook"
	"assay/internal/protocol"
	"assay/router"
)

// errInstanceEnded means that a session ended before a console could connect to it.
var errInstanceEnded = errors.New("the session has ended")

// consoleRunEndpoint is /run: the console sends its token and gets the frames of the
// kernel, to which it may write.
type consoleRunEndpoint struct{ server *Server }

func (consoleRunEndpoint) name() string { return "run" }

func (e consoleRunEndpoint) checkHello(hello HelloMessage) error {
	return e.server.checkToken(hello.Token)
}

func (e consoleRunEndpoint) serveLive(c *console, instance *sessionInstance) error {
	peer, err := instance.live.Router().AttachConsole(c.newSessionConn(), c.number, func(number int, owner bool) (body, recorded []byte) {
		return e.server.readyMessage(instance, number, owner)
	})
	return c.awaitPeer(peer, err)
}

// awaitPeer waits until a console's peer of the router has ended. It returns nil if
// the session has ended, errConsoleDisconnected if the console has disconnected or been
// closed, and err, that of attaching the peer, if it is not nil.
func (c *console) awaitPeer(peer *router.Peer, err error) error {
	if errors.Is(err, router.ErrClosed) {
		return errInstanceEnded
	}
	if err != nil {
		return err
	}
	<-peer.Done()
	select {
	case <-c.disconnected:
		return errConsoleDisconnected
	case <-c.closing:
		return errConsoleDisconnected
	default:
		return nil
	}
}

// sendEnded sends a ReadyMessage, unless the console was connected: then it knows the
// session's state.
func (e consoleRunEndpoint) sendEnded(c *console, instance *sessionInstance, wasConnected bool) error {
	if wasConnected {
		return nil
	}
	body, _ := e.server.readyMessage(instance, c.number, c.server.cfg.EvalSandbox || c.host.isOwner(c.number))
	return c.write(body)
}

// RestartRequest is the message managed_process_restart of a console at /run. While
// the session is live, it restarts its kernel or agent; afterwards it starts a new
// session with the same notebook.
type RestartRequest struct {
	Type string `json:"type"` // managed_process_restart
	Name string `json:"name"` // kernel or agent
}

// handleMessageAfterEnd starts a new session if the message is a RestartRequest of the owner.
// Any other message is answered with an error.
func (e consoleRunEndpoint) handleMessageAfterEnd(c *console, body []byte) error {
	var request RestartRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return e.sendError(c, err)
	}
	switch {
	case request.Type != protocol.TypeManagedProcessRestart || e.server.cfg.StartSession == nil:
	case !c.server.cfg.EvalSandbox && !c.host.isOwner(c.number):
		return c.send(protocol.ErrorResponse{Type: protocol.TypeNotSessionOwner, Data: protocol.ErrorResponseData{Message: request.Type + ": another console owns this session"}})
	case request.Name != "kernel" && request.Name != "agent":
		return e.sendError(c, fmt.Errorf("%s: name: want kernel or agent, not %q", request.Type, request.Name))
	default:
		c.host.requestSession(true)
		return nil
	}
	return e.sendError(c, fmt.Errorf("%s: the session has ended; %s starts another with this notebook", request.Type, protocol.TypeManagedProcessRestart))
}

func (consoleRunEndpoint) sendError(c *console, err error) error {
	return c.send(protocol.ErrorResponse{Type: protocol.TypeError, Data: protocol.ErrorResponseData{Message: err.Error()}})
}

// ReadyMessage is the first message that the server sends at /run for each session
// that the console is connected to: the session's state so far.
type ReadyMessage struct {
	Type                         string `json:"type"`              // ready
	ConnID                       int    `json:"connection_idx"`    // the console's number, from 1
	KernelStatus                 string `json:"kernel_status"`     // running or dead
	KernelPID                    int    `json:"kernel_pid"`        // 0: no kernel was started
	SessionOwner                 bool   `json:"session_owner"`     // the console may restart the kernel and write to it
	Language                     string `json:"language"`          // of the kernel
	TracePath                    string `json:"trace,omitempty"`   // path of the trace, which identifies the session
	CaseID                       string `json:"case_id,omitempty"` // of the attempt that the session belongs to; absent: none
	*notebook.ExecutionsSnapshot        // absent in the trace's record of the message
}

// readyMessage returns the ReadyMessage of an instance, and the shorter form of it
// that is recorded in the trace.
func (s *Server) readyMessage(instance *sessionInstance, number int, owner bool) (body, recorded []byte) {
	ready := ReadyMessage{Type: protocol.TypeReady, ConnID: number, KernelStatus: "dead", SessionOwner: owner, CaseID: instance.caseID}
	if instance.recording != nil {
		ready.TracePath = instance.recording.Path
	}
	state := notebook.NewExecutions(notebook.ExecutionsConfig{}).Snapshot()
	if live := instance.live; live != nil {
		state, ready.KernelPID, ready.Language = live.Executions().Snapshot(), live.KernelPID(), live.KernelReady().Language
		if live.IsKernelAlive() {
			ready.KernelStatus = "running"
		}
	}
	recorded = s.marshalReady(ready)
	ready.ExecutionsSnapshot = &state
	return s.marshalReady(ready), recorded
}

func (s *Server) marshalReady(ready ReadyMessage) []byte {
	body, err := protocol.Marshal(ready)
	if err != nil { // cannot happen: it has only strings, numbers and JSON that was parsed before
		s.log.Error("cannot marshal the ready message", "error", err)
		return fmt.Appendf(nil, `{"type":%q,"connection_idx":%d,"session_owner":%t}`, ready.Type, ready.ConnID, ready.SessionOwner)
	}
	return body
}
