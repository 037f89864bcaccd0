package notebook

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

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
		return withRunSequencer(body), true
	case protocol.TypeCellResult:
		result, err := readMembers(body)
		if err != nil {
			return nil, false
		}
		return e.resultWithOutputs(env.CellID, result), true
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
	makeResultConform(result)
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

// withRunSequencer returns a start_cell with a run_sequencer, 0 if it has none.
func withRunSequencer(body []byte) json.RawMessage {
	members, err := readMembers(body)
	if value, ok := members["run_sequencer"]; err != nil || ok && string(value) != "null" {
		return body
	}
	completed, err := protocol.ReplaceFields(body, protocol.Field{Name: "type", Value: protocol.TypeStartCell}, protocol.Field{Name: "run_sequencer", Value: 0})
	if err != nil {
		return body
	}
	return completed
}

// makeResultConform replaces those fields of a cell_result that are not what the protocol says, so that
// agents can rely on them: code in a cell can send frames too.
func makeResultConform(result map[string]json.RawMessage) {
	exception := exceptionText(result["exception"])
	status, _ := unquoteString(result["status"])
	hasFailed := string(result["has_exception"]) == "true" || exception != "" || status != "" && status != protocol.StatusOK
	if _, err := strconv.ParseInt(string(result["run_sequencer"]), 10, 64); err != nil {
		result["run_sequencer"] = json.RawMessage("0")
	}
	if !slices.Contains([]string{protocol.StatusOK, protocol.StatusError, protocol.StatusInterrupted}, status) {
		result["status"] = quoted(map[bool]string{false: protocol.StatusOK, true: protocol.StatusError}[hasFailed])
	}
	if text := string(result["has_exception"]); text != "true" && text != "false" {
		result["has_exception"] = json.RawMessage(strconv.FormatBool(hasFailed))
	}
	if value, ok := result["exception"]; ok && value[0] != '"' && string(value) != "null" {
		result["exception"] = json.RawMessage("null")
		if exception != "" {
			result["exception"] = quoted(exception)
		}
	}
	for _, name := range []string{"outputs", "dataframe_outputs", "figure_outputs", "static_figure_outputs"} {
		if value, ok := result[name]; ok && !bytes.HasPrefix(value, []byte("[")) {
			result[name] = json.RawMessage("[]")
		}
	}
	if value, ok := result["duration_ms"]; ok && parseMilliseconds(value) == 0 {
		result["duration_ms"] = json.RawMessage("0")
	}
}

// quoted returns a text as a JSON string.
func quoted(text string) json.RawMessage {
	quoted, _ := jsontext.AppendQuote(nil, text) // fails for invalid UTF-8 only, which it replaces
	return quoted
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
