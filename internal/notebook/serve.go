package notebook

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/protocol"
)

// Serve answers the agent_actions that come in on conn, one after the other, until conn
// ends. It returns nil if conn was closed, and otherwise why it failed. Other messages
// are ignored.
//
// An action is carried out and answered, without a tx_id only carried out. The messages
// that it causes for the kernel (run_cell, stop_cell, dispose_cell, set_widget_value)
// are written to conn right after the answer. A set_widget is not answered: its
// set_widget_value has the action's tx_id as agent_tx_id, and a peer that gets the kernel's
// answer to it must answer the action.
//
// A change is caused by the agent, unless the action's tx_id is one of the server's: then
// by a console if the action's "by" is ByConsole, and otherwise by the server. The caller
// must not let an agent use such an id.
//
// Serve may run several times at once on one document. The caller closes conn.
func (d *Document) Serve(conn protocol.Conn) error {
	for {
		body, err := conn.Read()
		if err != nil {
			return ignoreErrClosed(err)
		}
		message, err := newObjectReader(body)
		if err != nil || message.textOrEmpty("type") != protocol.TypeAgentAction {
			continue
		}
		if err := d.serveMessage(conn, message); err != nil {
			return ignoreErrClosed(err)
		}
	}
}

// serveMessage carries out the action in message, and writes the answer and then the messages
// for the kernel to conn. It fails if conn does.
func (d *Document) serveMessage(conn protocol.Conn, message *objectReader) error {
	reply := d.answerAction(message)
	if reply.TxID != "" && !reply.answeredByKernel {
		if err := sendMessage(conn, reply); err != nil {
			return err
		}
	}
	for _, message := range reply.kernelMessages {
		if err := sendMessage(conn, message); err != nil {
			return err
		}
	}
	return nil
}

// sendMessage writes a message as JSON to conn. It fails if the message has no JSON or conn
// fails.
func sendMessage(conn protocol.Conn, message any) error {
	body, err := protocol.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode a message of the notebook: %w", err)
	}
	return conn.Write(body)
}

// ignoreErrClosed returns nil if err says that the connection was closed, and otherwise err
// with a prefix.
func ignoreErrClosed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, protocol.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("serve the notebook: %w", err)
}

// answerAction carries out the action in message and returns its answer, which reports success
// or an error.
func (d *Document) answerAction(message *objectReader) actionReply {
	action, tx := message.textOrEmpty("action"), message.textOrEmpty("tx_id")
	out, err := d.performActionMessage(message)
	out.ActionResponse = protocol.ActionResponse{
		Type: protocol.TypeActionResponse, TxID: tx, Status: protocol.StatusSuccess,
	}
	if err != nil {
		if action != "" {
			err = fmt.Errorf("%s: %w", action, err)
		}
		out.ActionResponse = protocol.NewActionError(tx, err.Error())
	}
	return out
}

// performActionMessage parses an agent_action and carries it out. It fails if the message or a
// parameter is wrong.
func (d *Document) performActionMessage(message *objectReader) (actionReply, error) {
	action, params := message.nonEmptyText("action"), message.optionalObject("params")
	if err := message.err(); err != nil {
		return actionReply{}, err
	}
	params.path = "" // errors name the parameter without "params."
	return d.performAction(action, actionParams{
		objectReader: params, txID: message.textOrEmpty("tx_id"), causedBy: causeOfAction(message),
	})
}

// causeOfAction returns who caused an action: ByAgent, ByConsole or ByServer. The server's own
// requests have tx_ids of a form that an agent cannot use; those that it makes for a person at
// a console have "by".
func causeOfAction(message *objectReader) string {
	switch {
	case !strings.HasPrefix(message.textOrEmpty("tx_id"), protocol.ServerTxIDPrefix):
		return ByAgent
	case message.textOrEmpty("by") == ByConsole:
		return ByConsole
	default:
		return ByServer
	}
}

// isValidJSON reports whether text is exactly one JSON value.
func isValidJSON(text string) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
