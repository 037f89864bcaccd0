package notebook

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/internal/protocol"
)

// applyStartCell processes a start_cell frame, which starts a run of a cell. Without a cell id
// it says that the kernel is idle, which ends the runs that had started. It fails if a field
// has the wrong type.
func (e *Executions) applyStartCell(_ int64, frame *objectReader) error {
	id, sequencer := frame.optionalText("cell_id"), frame.integerOr("run_sequencer", 0)
	if err := frame.err(); err != nil {
		return err
	}
	if id == "" {
		e.endStartedRuns()
		return nil
	}
	return e.updateCell(id, func(c *cellExecution) {
		e.releaseRetainedValues()
		c.startRun(sequencer, e.cfg.MaxOutputBytes)
		if i := slices.Index(e.queue, id); i >= 0 {
			e.queue = slices.Delete(e.queue, i, i+1)
		}
	})
}

// endStartedRuns ends all runs that have started, with the status ran, because the kernel is
// idle and some kernels send no cell_result. A cell that waits goes on waiting: its run_cell
// may still be on its way to the kernel.
func (e *Executions) endStartedRuns() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.cells {
		if c.IsStarted() {
			c.endRun(StatusRan)
		}
	}
}

// applyCellResult processes a cell_result frame, which ends a run. Apart from cell_id its
// fields may have any type, because if the frame were refused the run would never end.
func (e *Executions) applyCellResult(_ int64, frame *objectReader) error {
	id := frame.nonEmptyText("cell_id")
	if err := frame.err(); err != nil {
		return err
	}
	exception := exceptionText(frame.members["exception"])
	status, _ := unquoteString(frame.members["status"])
	failed := exception != "" || string(frame.members["has_exception"]) == "true" ||
		status == protocol.StatusError || status == protocol.StatusInterrupted
	took := parseMilliseconds(frame.members["duration_ms"])
	return e.updateCell(id, func(c *cellExecution) {
		c.durationMS = took
		if !failed {
			c.endRun(StatusRan)
			return
		}
		c.appendException(exception)
		c.endRun(StatusError)
	})
}

// parseMilliseconds parses a JSON number of milliseconds; 0 if value is not a positive, finite
// number.
func parseMilliseconds(value json.RawMessage) float64 {
	took, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(took > 0) || math.IsInf(took, 1) {
		return 0
	}
	return took
}

// exceptionText returns the value of a cell result's field "exception" as text: a string as it
// is, anything else as JSON, and "" for false, null and a missing field.
func exceptionText(value json.RawMessage) string {
	if string(value) == "false" {
		return ""
	}
	return valueText(value)
}

// QueuedCells returns the ids in the kernel's message run_queue: the cells that wait, in order. It
// fails if "queue" is not a list of strings, or has more than 10,000.
func QueuedCells(body []byte) ([]string, error) {
	frame, err := newObjectReader(body)
	if err != nil {
		return nil, err
	}
	queue := frame.strings("queue")
	if err := frame.err(); err != nil {
		return nil, err
	}
	return queue, nil
}

// applyRunQueue processes a run_queue frame: its cells, in order, become the queue of cells
// that wait for the kernel. It fails if "queue" is not a list of strings or has too many new
// cells.
func (e *Executions) applyRunQueue(_ int64, frame *objectReader) error {
	queue := frame.strings("queue")
	if err := frame.err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = nil
	for _, id := range queue {
		c, err := e.getOrAddCell(id)
		if err != nil {
			return err
		}
		if c != nil {
			c.Queue()
			e.queue = append(e.queue, id)
		}
	}
	return nil
}

// applyKernelStdio processes a kernel_stdio frame: it appends printed text to the outputs of
// the active cell. It fails if a field is missing or wrong.
func (e *Executions) applyKernelStdio(_ int64, frame *objectReader) error {
	id, text := frame.optionalText("active_cell"), frame.text("data")
	stream := frame.oneOf("stream", protocol.Stdout, protocol.Stderr)
	if err := frame.err(); err != nil {
		return err
	}
	return e.appendStdio(id, stream, []byte(text))
}

// applyRawStdio processes a raw frame: it appends printed text to the outputs of its cell. It
// fails if the frame is malformed.
func (e *Executions) applyRawStdio(body []byte) error {
	raw, err := protocol.ParseRawFrame(body)
	if err != nil {
		return err
	}
	return e.appendStdio(raw.CellID, raw.Stream, raw.Text)
}

// appendStdio appends printed text to the outputs of the cell with this id. Text without a cell
// id is not kept; it is in the trace.
func (e *Executions) appendStdio(id, stream string, text []byte) error {
	if id == "" || len(text) == 0 {
		return nil
	}
	return e.updateCell(id, func(c *cellExecution) { c.appendStreamText(stream, text) })
}

// applyCellOutput processes a cell_output frame, entry seq of the trace: it appends, replaces
// or clears outputs of a cell. It fails if a field is missing or wrong.
func (e *Executions) applyCellOutput(seq int64, frame *objectReader) error {
	id, output := frame.nonEmptyText("cell_id"), frame.object("output")
	if err := frame.err(); err != nil {
		return err
	}
	change, err := e.newOutputApplier(seq, output)
	if err == nil {
		err = output.err()
	}
	if err != nil {
		return err
	}
	return e.updateCell(id, change)
}

// newOutputApplier returns a function that applies an nbformat output to the state of the cell that
// shows it. It fails if the output's kind is unknown. If output.err returns an error after
// that, the function must not be called.
func (e *Executions) newOutputApplier(seq int64, output *objectReader) (func(*cellExecution), error) {
	kind := output.text("output_type")
	switch kind {
	case clearOutput:
		wait := output.boolean("wait")
		return func(c *cellExecution) { c.clearOutputs(wait) }, nil
	case streamOutput:
		stream, text := output.oneOf("name", protocol.Stdout, protocol.Stderr), output.joinedText("text")
		return func(c *cellExecution) { c.appendStreamText(stream, []byte(text)) }, nil
	case updateDisplay:
		content := parseRichOutput(seq, kind, output)
		return func(c *cellExecution) { e.updateDisplays(c, content) }, nil
	case displayData, executeResult, errorOutput:
		content := parseRichOutput(seq, kind, output)
		return func(c *cellExecution) { c.appendOutput(e.shrinkOutputToFit(c, content)) }, nil
	default:
		return nil, fmt.Errorf("output.output_type: expected a kind of nbformat output, found %q", kind)
	}
}

// shrinkOutputToFit returns a copy of an output without the values that are too large for cell c to
// keep. If c runs now, those are retained until the next run, so that the agent can be sent
// them. The caller holds mu.
func (e *Executions) shrinkOutputToFit(c *cellExecution, content *richOutput) *richOutput {
	retainedRoom := 0
	if c.IsStarted() {
		if e.retainingCell != c {
			e.releaseRetainedValues()
			e.retainingCell = c
		}
		retainedRoom = max(0, maxRetainedBytes-c.outputs.retainedValueBytes())
	}
	return content.shrunkTo(c.maxSingleOutputBytes(), retainedRoom)
}

// updateDisplays replaces the content of every output, in all cells, that has the same display
// id as content, which cell from has sent. The caller holds mu.
func (e *Executions) updateDisplays(from *cellExecution, content *richOutput) {
	if content.displayID == "" {
		return
	}
	content = e.shrinkOutputToFit(from, content)
	elsewhere := content.withoutRetainedValues()
	for _, c := range e.cells {
		switch {
		case c.disposed:
		case c == from:
			c.outputs.updateDisplay(content)
		default:
			c.outputs.updateDisplay(elsewhere)
		}
	}
}

// releaseRetainedValues drops the large values of outputs that were retained only until the
// next run. The caller holds mu.
func (e *Executions) releaseRetainedValues() {
	if e.retainingCell != nil {
		e.retainingCell.outputs.releaseRetainedValues()
		e.retainingCell = nil
	}
}
