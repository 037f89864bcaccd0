package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

// maxErrorBytes is how much of an error's value, and of its traceback, is sent.
const maxErrorBytes = 256 << 10

// cellTask is the run of a cell: start_cell, its text and outputs, cell_result.
type cellTask struct {
	server *serverWriter
	cellID string
	code   string

	runSequencer int
	startedAt    time.Time
	raised       *raisedError
}

// sendStart sends start_cell with the number of the run.
func (c *cellTask) sendStart(sequencer int) {
	c.runSequencer, c.startedAt = sequencer, time.Now()
	c.server.send(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &c.cellID, RunSequencer: sequencer})
}

func (c *cellTask) executeRequest(l language) executeRequest {
	r := executeRequest{Code: c.code, StoreHistory: true}
	if l.assignedExpression != "" {
		r.Expressions = map[string]string{answerExpression: l.assignedExpression}
	}
	return r
}

func (*cellTask) timeLimit() time.Duration { return 0 }

func (c *cellTask) addText(stream string, text []byte) { c.server.sendText(stream, c.cellID, text) }

func (c *cellTask) addOutput(m message) {
	fields := parseLooseObject(m.content)
	if m.kind == "error" {
		c.sendError(newRaisedError(fields.stringField("ename"), fields.stringField("evalue"), fields.stringsField("traceback")))
		return
	}
	shown := newNotebookOutput(m.kind, fields)
	if !c.sendOutput(shown) {
		note := fmt.Sprintf("<an output of %d bytes, more than a message may have, was not sent>", len(m.content))
		c.sendOutput(notebookOutput{Type: "display_data", Data: plainTextBundle(note), Metadata: json.RawMessage("{}")})
	}
}

// sendError sends the error that ended the run as an output. Only the first call does;
// some kernels publish the error and repeat it in the reply.
func (c *cellTask) sendError(e *raisedError) {
	if c.raised != nil {
		return
	}
	c.raised = e
	e.truncate(maxErrorBytes)
	c.sendOutput(notebookError{Type: "error", Name: e.name, Value: e.value, Traceback: e.traceback})
}

// sendOutput sends an output and reports whether it was small enough for a message.
func (c *cellTask) sendOutput(shown any) bool {
	body, err := protocol.Marshal(shown)
	if err != nil {
		return false // never happens: the message was checked when it was decoded
	}
	return c.server.send(protocol.CellOutput{
		Type: protocol.TypeCellOutput, CellID: c.cellID, RunSequencer: c.runSequencer, Output: body,
	})
}

func (c *cellTask) finish(r executeReply, wasStopped bool) {
	result := c.newResult(protocol.StatusOK)
	if r.Status != "ok" && (r.EName != "" || r.EValue != "") {
		c.sendError(newRaisedError(r.EName, r.EValue, r.Traceback)) // not all kernels publish it as an output
	}
	if c.raised != nil {
		result.Status, result.HasException, result.Exception = protocol.StatusError, true, c.raised.text()
	}
	if wasStopped || r.Status != "ok" && c.raised == nil { // the kernel aborted it
		result.Status = protocol.StatusInterrupted
	}
	result.DurationMS = float64(time.Since(c.startedAt).Microseconds()) / 1000
	_ = json.Unmarshal(r.Expressions[answerExpression].Data["application/json"], &result.assigned) // without an answer there are none
	c.server.send(result.complete())
}

func (c *cellTask) reject() { c.server.send(c.newResult(protocol.StatusInterrupted).complete()) }

// newResult returns a cell_result with a status.
func (c *cellTask) newResult(status string) cellResult {
	return cellResult{CellResult: protocol.CellResult{
		Type: protocol.TypeCellResult, CellID: c.cellID, RunSequencer: c.runSequencer, Status: status,
	}}
}

// cellResult is a cell_result with the names that the run assigned.
type cellResult struct {
	protocol.CellResult
	assigned assignedNames
}

// assignedNames are the fields of a cell_result that only some languages know.
type assignedNames struct {
	Outputs []string `json:"outputs"`
	Tables  []string `json:"dataframe_outputs"`
	Plots   []string `json:"figure_outputs"`
	Figures []string `json:"static_figure_outputs"`
}

// complete returns the cell_result with empty lists for names that are unknown.
func (r cellResult) complete() protocol.CellResult {
	list := func(names []string) []string { return append([]string{}, names...) } // not null in JSON
	r.Outputs, r.DataframeOutputs = list(r.assigned.Outputs), list(r.assigned.Tables)
	r.FigureOutputs, r.StaticFigureOutputs = list(r.assigned.Plots), list(r.assigned.Figures)
	return r.CellResult
}

// notebookOutput is an output in the notebook format, or clear_output.
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

// newNotebookOutput converts the content of a message with the same type as the output.
// Fields of a wrong type become empty.
func newNotebookOutput(kind string, content looseObject) notebookOutput {
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

// plainTextBundle returns a mime bundle with plain text.
func plainTextBundle(text string) json.RawMessage {
	body, _ := protocol.Marshal(map[string]string{"text/plain": text}) // a string can always be marshalled
	return body
}
