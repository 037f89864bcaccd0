package notebook

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"assay/internal/protocol"
)

// Serve answers the agent_actions that come in on conn, one after the other,
// until conn ends, which is no error. Each is answered first; what it causes in
// the kernel (run_cell, stop_cell, dispose_cell, set_widget_value) is sent
// right behind the answer. Only a set_widget is not answered here: what is sent
// to the kernel carries its tx_id as agent_tx_id, and whoever gets the kernel's
// answer makes of it that of the action. An action without tx_id is carried out
// and not answered. Any other message is passed over.
//
// A change is by the agent, unless the action's tx_id is one of the server's
// own: then by a console where the action's "by" is ByConsole, else by the
// server. The caller lets no agent use such an id.
//
// Several Serves on one document may run at the same time. The caller closes
// conn.
func (d *Document) Serve(conn protocol.Conn) error {
	for {
		body, err := conn.Read()
		if err != nil {
			return ended(err)
		}
		message, err := read(body)
		if err != nil || message.loose("type") != protocol.TypeAgentAction {
			continue
		}
		if err := d.serve(conn, message); err != nil {
			return ended(err)
		}
	}
}

func (d *Document) serve(conn protocol.Conn, message *reader) error {
	reply := d.answer(message)
	if reply.TxID != "" && !reply.deferred {
		if err := send(conn, reply); err != nil {
			return err
		}
	}
	for _, message := range reply.kernel {
		if err := send(conn, message); err != nil {
			return err
		}
	}
	return nil
}

func send(conn protocol.Conn, message any) error {
	body, err := encode(message)
	if err != nil {
		return fmt.Errorf("encode a message of the notebook: %w", err)
	}
	return conn.Write(body)
}

// ended returns nil for the errors by which a connection says that it is over.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, protocol.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("serve the notebook: %w", err)
}

// answer carries out the action in message and fills in what all answers share.
func (d *Document) answer(message *reader) reply {
	action, tx := message.loose("action"), message.loose("tx_id")
	out, err := d.perform(message)
	out.ActionResponse = protocol.ActionResponse{
		Type: protocol.TypeActionResponse, TxID: tx, Status: protocol.StatusSuccess,
	}
	if err != nil {
		if action != "" {
			err = fmt.Errorf("%s: %w", action, err)
		}
		out.ActionResponse = protocol.ActionError(tx, err.Error())
	}
	return out
}

func (d *Document) perform(message *reader) (reply, error) {
	action, params := message.id("action"), message.optionalObject("params")
	if err := message.err(); err != nil {
		return reply{}, err
	}
	params.path = "" // complaints name the bare parameter
	params.tx, params.by = message.loose("tx_id"), asker(message)
	return d.act(action, params)
}

// asker tells who has asked for an action. Only the server has ids of its own
// for its requests; those that it makes for a console say so.
func asker(message *reader) string {
	switch {
	case !strings.HasPrefix(message.loose("tx_id"), protocol.ServerTxIDPrefix):
		return ByAgent
	case message.loose("by") == ByConsole:
		return ByConsole
	default:
		return ByServer
	}
}

// isJSON tells whether text is one JSON value.
func isJSON(text string) bool {
	return jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
