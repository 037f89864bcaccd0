package jupyter

import (
	"encoding/json"
	"fmt"
	"time"

	"assay/internal/protocol"
)

// longestError is how much of a traceback is told, in bytes.
const longestError = 256 << 10

// cell is the run of a cell: start_cell, its text and outputs, cell_result.
type cell struct {
	out  *sender
	id   string
	code string

	sequencer int
	began     time.Time
	failure   *failure
}

// begin says that the run has begun.
func (c *cell) begin(sequencer int) {
	c.sequencer, c.began = sequencer, time.Now()
	c.out.send(protocol.StartCell{Type: protocol.TypeStartCell, CellID: &c.id, RunSequencer: sequencer})
}

func (c *cell) request(l language) executeRequest {
	r := executeRequest{Code: c.code, StoreHistory: true}
	if l.assigned != "" {
		r.Expressions = map[string]string{answerName: l.assigned}
	}
	return r
}

func (*cell) limit() time.Duration { return 0 }

func (c *cell) text(stream string, text []byte) { c.out.text(stream, c.id, text) }

func (c *cell) output(m message) {
	fields := parseLoose(m.content)
	if m.kind == "error" {
		c.fail(newFailure(fields.text("ename"), fields.text("evalue"), fields.texts("traceback")))
		return
	}
	shown := newOutput(m.kind, fields)
	if !c.send(shown) {
		told := fmt.Sprintf("<an output of %d bytes, more than a message may have, was not sent>", len(m.content))
		c.send(output{Type: "display_data", Data: bundleOf(told), Metadata: json.RawMessage("{}")})
	}
}

// fail shows the error that ended the run, once.
func (c *cell) fail(f *failure) {
	if c.failure != nil {
		return
	}
	c.failure = f
	f.clip(longestError)
	c.send(failed{Type: "error", Name: f.name, Value: f.value, Traceback: f.traceback})
}

// send sends an output, and tells whether it was small enough.
func (c *cell) send(shown any) bool {
	body, err := protocol.Marshal(shown)
	if err != nil {
		return false // data that is no JSON: decode has looked
	}
	return c.out.send(protocol.CellOutput{
		Type: protocol.TypeCellOutput, CellID: c.id, RunSequencer: c.sequencer, Output: body,
	})
}

func (c *cell) end(r reply, stopped bool) {
	result := c.result(protocol.StatusOK)
	if r.Status != "ok" && (r.EName != "" || r.EValue != "") {
		c.fail(newFailure(r.EName, r.EValue, r.Traceback)) // not all kernels publish it
	}
	if c.failure != nil {
		result.Status, result.HasException, result.Exception = protocol.StatusError, true, c.failure.text()
	}
	if stopped || r.Status != "ok" && c.failure == nil { // aborted
		result.Status = protocol.StatusInterrupted
	}
	result.DurationMS = float64(time.Since(c.began).Microseconds()) / 1000
	_ = json.Unmarshal(r.Expressions[answerName].Data["application/json"], &result.names) // unknown: none
	c.out.send(result.whole())
}

func (c *cell) refuse() { c.out.send(c.result(protocol.StatusInterrupted).whole()) }

func (c *cell) result(status string) cellResult {
	return cellResult{CellResult: protocol.CellResult{
		Type: protocol.TypeCellResult, CellID: c.id, RunSequencer: c.sequencer, Status: status,
	}}
}

// cellResult is a cell_result and the names that the run assigned.
type cellResult struct {
	protocol.CellResult
	names names
}

// names are the fields of a cell_result that a language may know.
type names struct {
	All     []string `json:"outputs"`
	Tables  []string `json:"dataframe_outputs"`
	Plots   []string `json:"figure_outputs"`
	Figures []string `json:"static_figure_outputs"`
}

func (r cellResult) whole() protocol.CellResult {
	list := func(names []string) []string { return append([]string{}, names...) } // never null
	r.Outputs, r.DataframeOutputs = list(r.names.All), list(r.names.Tables)
	r.FigureOutputs, r.StaticFigureOutputs = list(r.names.Plots), list(r.names.Figures)
	return r.CellResult
}
