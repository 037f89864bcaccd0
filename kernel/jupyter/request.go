package jupyter

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"assay/internal/protocol"
)

// serverRequest is a message from the server. Which fields are used depends on its
// type.
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

// answerFields are the fields of an answer, without its type and the id of its request.
type answerFields map[string]any

// parseServerRequest decodes a message from the server. The error is sent to the
// server.
func parseServerRequest(body []byte) (serverRequest, error) {
	var r serverRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("malformed message: %w", err)
	}
	return r, nil
}

// newAnswer returns an answer of a type with the request's agent_tx_id.
func (r serverRequest) newAnswer(kind string, with answerFields) answerFields {
	answer := answerFields{"type": kind}
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

// requireCellID returns the cell_id, or an error if it is missing or empty.
func (r serverRequest) requireCellID() (string, error) {
	if r.CellID == nil || *r.CellID == "" {
		return "", fmt.Errorf("%s: cell_id is missing or empty", r.Type)
	}
	return *r.CellID, nil
}

// requireCode returns the code, which may be empty, or an error if it is missing.
func (r serverRequest) requireCode() (string, error) {
	if r.Code == nil {
		return "", fmt.Errorf("%s: code is missing", r.Type)
	}
	return *r.Code, nil
}

// handleRequest handles a message from the server. A malformed or unknown one is
// answered with an error and changes nothing.
func (a *adapter) handleRequest(body []byte) {
	request, err := parseServerRequest(body)
	if err == nil {
		err = a.dispatchRequest(request)
	}
	if err != nil {
		a.server.send(protocol.ErrorResponse{Type: protocol.TypeError, Data: protocol.ErrorResponseData{Message: err.Error()}})
	}
}

func (a *adapter) dispatchRequest(request serverRequest) error {
	switch request.Type {
	case protocol.TypeInit:
		return nil // only widgets use it
	case protocol.TypeRunCell:
		return a.queueCell(request)
	case protocol.TypeStopCell, protocol.TypeDisposeCell:
		return a.stopRequested(request)
	case protocol.TypeExecuteCode:
		return a.queueCode(request)
	case protocol.TypeResetGlobals:
		a.queueTask(&resetTask{server: a.server, request: request})
	case protocol.TypeGlobalsSummary:
		a.sendSummary(request, request.newAnswer)
	case protocol.TypeGetGlobalInfo:
		return a.sendGlobalInfo(request)
	case protocol.TypeReactivitySummary:
		a.server.send(request.newAnswer(request.Type, emptyReactivity()))
	case protocol.TypeSetWidgetValue:
		a.server.send(widgetValueAnswer(request))
	case protocol.TypeAgentAction:
		return a.handleAction(request)
	case protocol.TypeDebugState:
		a.server.send(request.newAnswer(request.Type, answerFields{"data": a.debugState()}))
	case "ping":
		a.server.send(request.newAnswer("pong", nil))
	default:
		return fmt.Errorf("unknown message type %q", request.Type)
	}
	return nil
}

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

func (a *adapter) queueCode(request serverRequest) error {
	code, err := request.requireCode()
	if err != nil {
		return err
	}
	a.queueTask(&codeTask{server: a.server, request: request, code: code})
	return nil
}

// queueTask adds a task to the queue. If nothing runs, the task starts at once and is
// not announced as waiting.
func (a *adapter) queueTask(t task) { a.tasks.add(t, a.current.task == nil) }

// stopRequested stops a cell or, by its agent_tx_id, an execute_code. It rejects those
// that are queued and interrupts the one that runs.
func (a *adapter) stopRequested(request serverRequest) error {
	matches := func(t task) bool {
		c, ok := t.(*codeTask)
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
	a.tasks.rejectMatching(matches)
	if matches(a.current.task) {
		a.stopRun()
	}
	return nil
}

// debugState returns the data of a debug_state answer.
func (a *adapter) debugState() answerFields {
	state := answerFields{
		"kernelspec": a.spec.Name, "queue": a.tasks.queuedCells(), "waiting": len(a.tasks.waiting),
		"run_sequencer": a.tasks.runSequencer, "running": []string{},
	}
	if a.kernel != nil {
		state["pid"] = a.kernel.process.pid()
	}
	switch t := a.current.task.(type) {
	case *cellTask:
		state["running"] = []string{t.cellID}
	case *codeTask:
		state["running"] = []string{t.request.agentTxID()}
	}
	return state
}

// widgetValueAnswer returns the answer to set_widget_value: an error for each key,
// since there are no widgets.
func widgetValueAnswer(request serverRequest) answerFields {
	status, errors := protocol.StatusSuccess, map[string]string{}
	for key := range request.Data {
		status, errors[key] = protocol.StatusError, "there is no such widget"
	}
	return request.newAnswer("set_widget_value_response", answerFields{"status": status, "errors": errors})
}

// serverWriter writes messages to the server. onFailure is called if the server cannot
// be reached, and ends the adapter.
type serverWriter struct {
	conn      protocol.Conn
	onFailure func(error)
}

// send writes a message. It returns false if the message is too large for a frame or is
// no JSON; a connection that has failed counts as sent.
func (s *serverWriter) send(message any) bool {
	body, err := protocol.Marshal(message)
	if err != nil {
		s.onFailure(fmt.Errorf("write to the server: %w", err)) // never happens: all our messages are valid
		return false
	}
	return s.write(body)
}

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

// sendText writes text of a cell, or of no cell if cellID is empty, in frames of at
// most maxChunkBytes that do not split characters.
func (s *serverWriter) sendText(stream, cellID string, text []byte) {
	for len(text) > 0 {
		piece := text[:min(len(text), maxChunkBytes)]
		if len(piece) < len(text) {
			piece = piece[:completePrefixLen(piece)]
		}
		s.write(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: cellID, Text: piece}))
		text = text[len(piece):]
	}
}
