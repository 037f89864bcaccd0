package notebook

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/protocol"
)

// Limits of what the agent is told of a run, in bytes.
const (
	messageLogs   = 16 << 10 // of all stdio, beginning and end kept
	messageText   = 16 << 10 // of each text in an output, likewise
	messageBinary = 4 << 20  // of an image, which is else only sized
	messageLimit  = 32 << 20 // of all outputs; else the middle is left out
)

// KernelMessage returns what the agent is told of a frame: the message of a
// [protocol.KernelMessage]. A start_cell is passed on as it is. To a
// cell_result, whose own fields all stay, are added "logs" (its stdio),
// "display_name" and "cell_outputs". Of other frames the agent is told nothing:
// false.
//
// It must be called after the same frame was applied and before the next one.
// The message of a start_cell shares memory with body.
func (r *Executions) KernelMessage(env protocol.Envelope, body []byte) (json.RawMessage, bool) {
	switch env.Type {
	case protocol.TypeStartCell:
		return body, true
	case protocol.TypeCellResult:
		result, err := readMembers(body)
		return r.withOutputs(env.CellID, result), err == nil
	default:
		return nil, false
	}
}

func (r *Executions) withOutputs(cellID string, result map[string]json.RawMessage) json.RawMessage {
	name := r.cfg.CellTitle(cellID)
	logs, outputs := r.shown(cellID)
	var b builder
	for _, field := range slices.Sorted(maps.Keys(result)) {
		switch field {
		case "logs", "display_name", "cell_outputs":
		default:
			b.raw(field, result[field])
		}
	}
	b.string("logs", logs.cut(messageLogs))
	b.string("display_name", name)
	short := view{text: messageText, binary: messageBinary, fresh: true}
	b.array("cell_outputs", within(messageLimit, short.all(outputs)))
	return b.done()
}

// shown returns the stdio and the outputs of a cell's last run.
func (r *Executions) shown(cellID string) (logs excerpt, outputs []shown) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.known(cellID)
	if c == nil {
		return excerpt{}, nil
	}
	if texts := c.logs.shown(); len(texts) > 0 {
		logs = texts[0].text // they are in one stream
	}
	return logs, c.outputs.shown()
}
