package notebook

import (
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/protocol"
)

// Limits of what the agent is sent about a run.
const (
	maxMessageLogBytes    = 16 << 10 // of all stdio; the middle of a longer one is left out
	maxMessageTextBytes   = 16 << 10 // of each text in an output, likewise
	maxMessageBinaryBytes = 4 << 20  // of an image; for a larger one only type and size are sent
	maxMessageOutputBytes = 32 << 20 // of all outputs; beyond it those in the middle are left out
)

// KernelMessage returns the content of the [protocol.KernelMessage] that tells the agent about
// a kernel frame: for a start_cell the frame itself; for a cell_result its fields and "logs"
// (what the run printed), "display_name" and "cell_outputs". It returns false for other frames,
// which the agent is not told about.
//
// Call it after the frame was applied and before the next one is. The content for a start_cell
// shares memory with body.
func (e *Executions) KernelMessage(env protocol.Envelope, body []byte) (json.RawMessage, bool) {
	switch env.Type {
	case protocol.TypeStartCell:
		return body, true
	case protocol.TypeCellResult:
		result, err := readMembers(body)
		return e.resultWithOutputs(env.CellID, result), err == nil
	default:
		return nil, false
	}
}

// resultWithOutputs returns the cell_result of a cell, whose fields are in result, as JSON with
// the fields "logs", "display_name" and "cell_outputs" added.
func (e *Executions) resultWithOutputs(cellID string, result map[string]json.RawMessage) json.RawMessage {
	name := e.cfg.CellTitle(cellID)
	logs, outputs := e.logsAndOutputs(cellID)
	var b objectBuilder
	for _, field := range slices.Sorted(maps.Keys(result)) {
		switch field {
		case "logs", "display_name", "cell_outputs":
		default:
			b.addRawField(field, result[field])
		}
	}
	b.addStringField("logs", logs.truncate(maxMessageLogBytes))
	b.addStringField("display_name", name)
	shortener := outputShortener{maxTextBytes: maxMessageTextBytes, maxBinaryBytes: maxMessageBinaryBytes, showRetained: true}
	b.addArrayField("cell_outputs", limitOutputs(maxMessageOutputBytes, shortener.encodeOutputs(outputs)))
	return b.finishObject()
}

// logsAndOutputs returns what the last run of a cell has printed, and its outputs; both are
// empty if the cell is unknown.
func (e *Executions) logsAndOutputs(cellID string) (logs excerpt, outputs []renderedOutput) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.lookUpCell(cellID)
	if c == nil {
		return excerpt{}, nil
	}
	if texts := c.logs.renderOutputs(); len(texts) > 0 {
		logs = texts[0].text // all of them are in one stream
	}
	return logs, c.outputs.renderOutputs()
}
