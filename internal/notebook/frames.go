package notebook

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"assay/internal/protocol"
)

// applyStartCell starts a run of a cell. Without a cell the kernel is idle, which ends
// the runs that had started.
func (e *Executions) applyStartCell(_ int64, frame *objectReader) error {
	id, sequencer := frame.optionalText("cell_id"), frame.optionalInteger("run_sequencer")
	if err := frame.err(); err != nil {
		return err
	}
	if id == "" {
		e.endStartedRuns()
		return nil
	}
	return e.updateCell(id, func(c *cellExecution) {
		e.releaseFreshValues()
		c.startRun(sequencer, e.cfg.MaxOutputBytes)
		if i := slices.Index(e.queue, id); i >= 0 {
			e.queue = slices.Delete(e.queue, i, i+1)
		}
	})
}

// endStartedRuns ends the runs that have started, as some kernels send no cell_result. A
// cell that waits stays so: its run_cell may still be on its way to the kernel.
func (e *Executions) endStartedRuns() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.cells {
		if c.IsStarted() {
			c.endRun(StatusRan)
		}
	}
}

// applyCellResult ends a run. It accepts fields of any type: if it refused the result,
// the run would never end.
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
		c.showException(exception)
		c.endRun(StatusError)
	})
}

// parseMilliseconds returns a duration in milliseconds; 0 if value is not a positive
// number.
func parseMilliseconds(value json.RawMessage) float64 {
	took, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(took > 0) || math.IsInf(took, 1) {
		return 0
	}
	return took
}

// exceptionText returns the value of "exception" as text; empty if there was none.
func exceptionText(value json.RawMessage) string {
	if string(value) == "false" {
		return ""
	}
	return valueText(value)
}

// applyRunQueue replaces the queue: its cells wait for the kernel.
func (e *Executions) applyRunQueue(_ int64, frame *objectReader) error {
	queue := frame.strings("queue")
	if err := frame.err(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = nil
	for _, id := range queue {
		c, err := e.cellOrAdd(id)
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

// applyKernelStdio appends text to the outputs of the active cell.
func (e *Executions) applyKernelStdio(_ int64, frame *objectReader) error {
	id, text := frame.optionalText("active_cell"), frame.text("data")
	stream := frame.oneOf("stream", protocol.Stdout, protocol.Stderr)
	if err := frame.err(); err != nil {
		return err
	}
	return e.writeStdio(id, stream, []byte(text))
}

// applyRawStdio is applyKernelStdio for a raw frame.
func (e *Executions) applyRawStdio(body []byte) error {
	raw, err := protocol.ParseRawFrame(body)
	if err != nil {
		return err
	}
	return e.writeStdio(raw.CellID, raw.Stream, raw.Text)
}

// writeStdio appends text to the outputs of a cell. Text of no cell is not kept: it is in
// the trace.
func (e *Executions) writeStdio(id, stream string, text []byte) error {
	if id == "" || len(text) == 0 {
		return nil
	}
	return e.updateCell(id, func(c *cellExecution) { c.appendStreamText(stream, text) })
}

// applyCellOutput applies an nbformat output to the run of a cell.
func (e *Executions) applyCellOutput(seq int64, frame *objectReader) error {
	id, output := frame.nonEmptyText("cell_id"), frame.object("output")
	if err := frame.err(); err != nil {
		return err
	}
	change, err := e.outputChange(seq, output)
	if err == nil {
		err = output.err()
	}
	if err != nil {
		return err
	}
	return e.updateCell(id, change)
}

// outputChange returns the change that an output makes to the cell that shows it. If
// output.err returns an error after this, the change must not be made.
func (e *Executions) outputChange(seq int64, output *objectReader) (func(*cellExecution), error) {
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
		return func(c *cellExecution) { c.appendOutput(e.fitOutput(c, content)) }, nil
	default:
		return nil, fmt.Errorf("output.output_type: expected a kind of nbformat output, found %q", kind)
	}
}

// fitOutput returns the part of an output that c may keep. If c runs now, the output's
// large values are kept as fresh values. The caller holds mu.
func (e *Executions) fitOutput(c *cellExecution, content *richOutput) *richOutput {
	freshRoom := 0
	if c.IsStarted() {
		if e.freshOwner != c {
			e.releaseFreshValues()
			e.freshOwner = c
		}
		freshRoom = max(0, maxFreshBytes-c.outputs.freshValueBytes())
	}
	return content.shrunkTo(c.maxSingleOutputBytes(), freshRoom)
}

// updateDisplays replaces the content of every output with content's display id, in all
// cells. The caller holds mu.
func (e *Executions) updateDisplays(from *cellExecution, content *richOutput) {
	if content.displayID == "" {
		return
	}
	content = e.fitOutput(from, content)
	elsewhere := content.withoutFreshValues()
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

// releaseFreshValues drops all fresh values, which are of the run before. The caller holds mu.
func (e *Executions) releaseFreshValues() {
	if e.freshOwner != nil {
		e.freshOwner.outputs.releaseFreshValues()
		e.freshOwner = nil
	}
}
