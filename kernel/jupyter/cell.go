package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

// maxErrorBytes is how many bytes of an error's value, and of its traceback, are sent to the
// server.
const maxErrorBytes = 256 << 10

// cellTask is one run of a cell. It sends the server start_cell, the run's text and outputs,
// and finally cell_result.
type cellTask struct {
	server *serverWriter
	cellID string
	code   string

	runSequencer int
	startedAt    time.Time
	raised       *raisedError
}

// sendStartCell sends start_cell with sequencer as the number of the run, and starts the run's
// clock.
func (c *cellTask) sendStartCell(sequencer int) {
	c.runSequencer, c.startedAt = sequencer, time.Now()
	c.server.send(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &c.cellID, RunSequencer: sequencer})
}

// newExecuteRequest returns the request to run the cell's code and, if the language can tell, to
// report which names the cell assigned.
func (c *cellTask) newExecuteRequest(l languageSupport) executeRequest {
	r := executeRequest{Code: c.code, StoreHistory: true}
	if l.assignedExpression != "" {
		r.Expressions = map[string]string{answerExpressionKey: l.assignedExpression}
	}
	return r
}

// timeLimit returns 0: a cell may run without a limit.
func (*cellTask) timeLimit() time.Duration { return 0 }

// handlePrintedText sends the server text that the cell printed to a stream.
func (c *cellTask) handlePrintedText(stream string, text []byte) {
	c.server.sendText(stream, c.cellID, text)
}

// handleOutput sends the server an output of the cell. An output that is too large for a message
// is replaced by a note.
func (c *cellTask) handleOutput(m message) {
	fields := parseLenientObject(m.content)
	if m.kind == "error" {
		c.sendError(newRaisedError(fields.stringField("ename"), fields.stringField("evalue"), fields.stringListField("traceback")))
		return
	}
	shown := newNotebookOutput(m.kind, fields)
	if !c.sendOutput(shown) {
		note := fmt.Sprintf("<an output of %d bytes, more than a message may have, was not sent>", len(m.content))
		c.sendOutput(notebookOutput{Type: "display_data", Data: plainTextBundle(note), Metadata: json.RawMessage("{}")})
	}
}

// sendError sends the error that ended the run as an output. Only the first call has an
// effect, because some kernels publish the error and repeat it in the reply.
func (c *cellTask) sendError(e *raisedError) {
	if c.raised != nil {
		return
	}
	c.raised = e
	e.truncate(maxErrorBytes)
	c.sendOutput(notebookError{Type: "error", Name: e.name, Value: e.value, Traceback: e.traceback})
}

// sendOutput sends an output of the cell and returns false if it is too large for a message.
func (c *cellTask) sendOutput(shown any) bool {
	body, err := protocol.Marshal(shown)
	if err != nil {
		return false // never happens: the message was checked when it was decoded
	}
	return c.server.send(protocol.CellOutput{
		Type: protocol.TypeCellOutput, CellID: c.cellID, RunSequencer: c.runSequencer, Output: body,
	})
}

// finish sends the cell_result of the run. Its status is interrupted if the run was stopped or
// the kernel aborted it, otherwise error or ok.
func (c *cellTask) finish(r executeReply, wasStopped bool) {
	result := c.newCellResult(protocol.StatusOK)
	if r.Status != "ok" && (r.EName != "" || r.EValue != "") {
		c.sendError(newRaisedError(r.EName, r.EValue, r.Traceback)) // not all kernels publish it as an output
	}
	if c.raised != nil {
		result.Status, result.HasException, result.Exception = protocol.StatusError, true, c.raised.tracebackText()
	}
	if wasStopped || r.Status != "ok" && c.raised == nil { // the kernel aborted it
		result.Status = protocol.StatusInterrupted
	}
	result.DurationMS = float64(time.Since(c.startedAt).Microseconds()) / 1000
	_ = json.Unmarshal(r.Expressions[answerExpressionKey].Data["application/json"], &result.assigned) // without an answer there are none
	c.server.send(result.withEmptyLists())
}

// answerNotRun sends the cell_result, with status interrupted, of a cell that was stopped
// before it ran.
func (c *cellTask) answerNotRun() {
	c.server.send(c.newCellResult(protocol.StatusInterrupted).withEmptyLists())
}

// newCellResult returns a cell_result message for this run with the given status and nothing else
// set.
func (c *cellTask) newCellResult(status string) cellResult {
	return cellResult{CellResult: protocol.CellResult{
		Type: protocol.TypeCellResult, CellID: c.cellID, RunSequencer: c.runSequencer, Status: status,
	}}
}

// cellResult is a cell_result message together with the names that the run assigned.
type cellResult struct {
	protocol.CellResult
	assigned assignedNames
}

// assignedNames are the names of globals that a cell assigned, in all and by kind of value.
// They become fields of the cell_result. Not all languages can report them.
type assignedNames struct {
	Outputs []string `json:"outputs"`
	Tables  []string `json:"dataframe_outputs"`
	Plots   []string `json:"figure_outputs"`
	Figures []string `json:"static_figure_outputs"`
}

// withEmptyLists returns the cell_result message with the assigned names filled in. A missing
// list becomes empty instead of null.
func (r cellResult) withEmptyLists() protocol.CellResult {
	list := func(names []string) []string { return append([]string{}, names...) } // not null in JSON
	r.Outputs, r.DataframeOutputs = list(r.assigned.Outputs), list(r.assigned.Tables)
	r.FigureOutputs, r.StaticFigureOutputs = list(r.assigned.Plots), list(r.assigned.Figures)
	return r.CellResult
}

// notebookOutput is a cell output in the notebook format (display_data, update_display_data or
// execute_result), or a clear_output.
type notebookOutput struct {
	Type           string          `json:"output_type"`
	Data           json.RawMessage `json:"data,omitempty"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	ExecutionCount *int            `json:"execution_count,omitempty"` // only of execute_result
	Transient      json.RawMessage `json:"transient,omitempty"`       // only with a display_id
	Wait           *bool           `json:"wait,omitempty"`            // only of clear_output
}

// notebookError is an error output in the notebook format.
type notebookError struct {
	Type      string   `json:"output_type"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// newNotebookOutput converts the content of a kernel's message of this kind to an output with
// the same type. Fields that have a wrong type become empty.
func newNotebookOutput(kind string, content lenientObject) notebookOutput {
	if kind == "clear_output" {
		wait := false
		_ = json.Unmarshal(content["wait"], &wait)
		return notebookOutput{Type: kind, Wait: &wait}
	}
	shown := notebookOutput{Type: kind, Data: content.objectField("data"), Metadata: content.objectField("metadata")}
	var transient struct {
		DisplayID string `json:"display_id,omitempty"`
	}
	if err := json.Unmarshal(content["transient"], &transient); err == nil && transient.DisplayID != "" {
		shown.Transient, _ = protocol.Marshal(transient) // a string can always be marshalled
	}
	if kind == "execute_result" {
		count := 0
		_ = json.Unmarshal(content["execution_count"], &count)
		shown.ExecutionCount = &count
	}
	return shown
}

// plainTextBundle returns a MIME bundle, as JSON, with text as its text/plain.
func plainTextBundle(text string) json.RawMessage {
	body, _ := protocol.Marshal(map[string]string{"text/plain": text}) // a string can always be marshalled
	return body
}
