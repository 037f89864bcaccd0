package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"assay/internal/protocol"
)

// serverRequest is a message from the server. Which fields are set depends on its type.
type serverRequest struct {
	Type      string                     `json:"type"`
	Action    string                     `json:"action"` // of agent_action
	TxID      string                     `json:"tx_id"`  // of agent_action
	AgentTxID *string                    `json:"agent_tx_id"`
	CellID    *string                    `json:"cell_id"`
	Code      *string                    `json:"code"`
	Key       string                     `json:"key"`
	Data      map[string]json.RawMessage `json:"data"`
}

// messageFields are the JSON fields of a message to the server, by name.
type messageFields map[string]any

// parseServerRequest decodes a message from the server. It fails if body is not a JSON object
// or a field has a wrong type.
func parseServerRequest(body []byte) (serverRequest, error) {
	var r serverRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("malformed message: %w", err)
	}
	return r, nil
}

// newAnswer returns an answer to the request: a message of type kind with the given fields and
// the request's agent_tx_id, if it has one.
func (r serverRequest) newAnswer(kind string, with messageFields) messageFields {
	answer := messageFields{"type": kind}
	maps.Copy(answer, with)
	if r.AgentTxID != nil {
		answer["agent_tx_id"] = *r.AgentTxID
	}
	return answer
}

// agentTxID returns the request's agent_tx_id, or "" if it has none.
func (r serverRequest) agentTxID() string {
	if r.AgentTxID == nil {
		return ""
	}
	return *r.AgentTxID
}

// requireCellID returns the request's cell_id, or an error if it is missing or empty.
func (r serverRequest) requireCellID() (string, error) {
	if r.CellID == nil || *r.CellID == "" {
		return "", fmt.Errorf("%s: cell_id is missing or empty", r.Type)
	}
	return *r.CellID, nil
}

// requireCode returns the request's code, which may be empty, or an error if it is missing.
func (r serverRequest) requireCode() (string, error) {
	if r.Code == nil {
		return "", fmt.Errorf("%s: code is missing", r.Type)
	}
	return *r.Code, nil
}

// handleRequest handles one message from the server. A malformed or unknown message is
// answered with an error message and changes nothing.
func (a *adapter) handleRequest(body []byte) {
	request, err := parseServerRequest(body)
	if err == nil {
		err = a.dispatchRequest(request)
	}
	if err != nil {
		a.server.send(protocol.ErrorResponse{Type: protocol.TypeError, Data: protocol.ErrorResponseData{Message: err.Error()}})
	}
}

// dispatchRequest handles a decoded message from the server according to its type. It returns
// an error, to be sent to the server, if the type is unknown or a field is missing.
func (a *adapter) dispatchRequest(request serverRequest) error {
	switch request.Type {
	case protocol.TypeInit:
		return nil // only widgets use it
	case protocol.TypeRunCell:
		return a.queueCell(request)
	case protocol.TypeStopCell, protocol.TypeDisposeCell:
		return a.handleStopRequest(request)
	case protocol.TypeExecuteCode:
		return a.queueExecuteCode(request)
	case protocol.TypeResetGlobals:
		a.queueTask(&resetTask{server: a.server, request: request})
	case protocol.TypeGlobalsSummary:
		a.answerGlobalsSummary(request, request.newAnswer)
	case protocol.TypeGetGlobalInfo:
		return a.answerGlobalInfo(request)
	case protocol.TypeReactivitySummary:
		a.server.send(request.newAnswer(request.Type, emptyReactivitySummary()))
	case protocol.TypeSetWidgetValue:
		a.server.send(refuseWidgetValues(request))
	case protocol.TypeAgentAction:
		return a.answerAgentAction(request)
	case protocol.TypeDebugState:
		a.server.send(request.newAnswer(request.Type, messageFields{"data": a.debugStateFields()}))
	case "ping":
		a.server.send(request.newAnswer("pong", nil))
	default:
		return fmt.Errorf("unknown message type %q", request.Type)
	}
	return nil
}

// queueCell queues a run of a cell. It fails if the request's cell_id or code is missing.
func (a *adapter) queueCell(request serverRequest) error {
	id, err := request.requireCellID()
	if err != nil {
		return err
	}
	code, err := request.requireCode()
	if err != nil {
		return err
	}
	a.queueTask(&cellTask{server: a.server, cellID: id, code: code})
	return nil
}

// queueExecuteCode queues the code of an execute_code request. It fails if the code is
// missing.
func (a *adapter) queueExecuteCode(request serverRequest) error {
	code, err := request.requireCode()
	if err != nil {
		return err
	}
	a.queueTask(&executeCodeTask{server: a.server, request: request, code: code})
	return nil
}

// queueTask adds a task to the queue. If nothing runs, the server is not told about a queue,
// because the task starts at once.
func (a *adapter) queueTask(t task) { a.tasks.add(t, a.current.task == nil) }

// handleStopRequest handles a stop_cell or dispose_cell message: it stops the cell with its
// cell_id or, if that is missing, the execute_code with its agent_tx_id. Queued runs are
// answered as stopped, and a current run is interrupted. It fails if both ids are missing.
func (a *adapter) handleStopRequest(request serverRequest) error {
	matches := func(t task) bool {
		c, ok := t.(*executeCodeTask)
		return ok && c.request.agentTxID() == request.agentTxID()
	}
	if request.CellID != nil || request.agentTxID() == "" {
		id, err := request.requireCellID()
		if err != nil {
			return err
		}
		matches = func(t task) bool {
			c, ok := t.(*cellTask)
			return ok && c.cellID == id
		}
	}
	a.tasks.removeMatching(matches)
	if matches(a.current.task) {
		a.stopRun()
	}
	return nil
}

// debugStateFields returns the data of a debug_state answer: the kernelspec, the queue, what
// runs, and the kernel's process id.
func (a *adapter) debugStateFields() messageFields {
	state := messageFields{
		"kernelspec": a.spec.Name, "queue": a.tasks.queuedCellIDs(), "waiting": len(a.tasks.waiting),
		"run_sequencer": a.tasks.runSequencer, "running": []string{},
	}
	if a.kernel != nil {
		state["pid"] = a.kernel.process.pid()
	}
	switch t := a.current.task.(type) {
	case *cellTask:
		state["running"] = []string{t.cellID}
	case *executeCodeTask:
		state["running"] = []string{t.request.agentTxID()}
	}
	return state
}

// refuseWidgetValues returns the answer to a set_widget_value request: an error for each key,
// since Jupyter kernels have no widgets here.
func refuseWidgetValues(request serverRequest) messageFields {
	status, errors := protocol.StatusSuccess, map[string]string{}
	for key := range request.Data {
		status, errors[key] = protocol.StatusError, "there is no such widget"
	}
	return request.newAnswer("set_widget_value_response", messageFields{"status": status, "errors": errors})
}

// serverWriter sends messages to the server. It calls onFailure, which ends the adapter, if
// the connection to the server fails.
type serverWriter struct {
	conn      protocol.Conn
	onFailure func(error)
}

// send sends a message as JSON. It returns false if the message is too large for a frame or
// cannot be encoded. If the connection has failed, it returns true and onFailure was called.
func (s *serverWriter) send(message any) bool {
	body, err := protocol.Marshal(message)
	if err != nil {
		s.onFailure(fmt.Errorf("write to the server: %w", err)) // never happens: all our messages are valid
		return false
	}
	return s.write(body)
}

// write sends one frame. It returns false if the frame is too large. If the connection has
// failed, it calls onFailure and returns true.
func (s *serverWriter) write(body []byte) bool {
	err := s.conn.Write(body)
	if err == nil {
		return true
	}
	if _, large := errors.AsType[*protocol.FrameLengthError](err); large {
		return false
	}
	s.onFailure(errServerClosed)
	return true
}

// sendText sends text that a cell printed, or text of no cell if cellID is empty, in frames of
// at most maxChunkBytes. Characters are not split between frames.
func (s *serverWriter) sendText(stream, cellID string, text []byte) {
	for len(text) > 0 {
		piece := text[:min(len(text), maxChunkBytes)]
		if len(piece) < len(text) {
			piece = piece[:completeUTF8PrefixLen(piece)]
		}
		s.write(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: cellID, Text: piece}))
		text = text[len(piece):]
	}
}
