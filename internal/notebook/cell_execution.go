package notebook

import "strings"

// cellExecution is what is known about the runs of one cell. While its RunState is open the
// cell counts as running; otherwise its status is that of the last run. Its outputs are those
// of the last run that started.
type cellExecution struct {
	RunState
	lastStatus      string        // of the last run: StatusIdle, StatusRan or StatusError
	disposed        bool          // the cell was deleted: late frames about it are ignored
	sequencer       int           // number of the last run that the present kernel started; 0: none
	executionCount  int           // number of the last run that any kernel started; 0: none
	durationMS      float64       // of the last run, in milliseconds, as the kernel says; 0: unknown
	outputs         *outputBuffer // nil if disposed
	logs            *outputBuffer // the stdio, in one stream; nil if disposed
	clearBeforeNext bool          // the next output replaces all before it
	widgets         Widgets
}

// newCellExecution returns the state of a cell that has not run, which will keep at most
// maxOutputBytes of outputs.
func newCellExecution(maxOutputBytes int) *cellExecution {
	return &cellExecution{
		lastStatus: StatusIdle, outputs: newOutputBuffer(maxOutputBytes), logs: newOutputBuffer(maxMessageLogBytes),
	}
}

// status returns the cell's status, one of the Status constants.
func (c *cellExecution) status() string {
	if c.IsOpen() {
		return StatusRunning
	}
	return c.lastStatus
}

// startRun begins a run of the cell with this number and discards the outputs, logs and widgets
// of the last run.
func (c *cellExecution) startRun(sequencer, maxOutputBytes int) {
	*c = *newCellExecution(maxOutputBytes)
	c.Start()
	c.sequencer, c.executionCount = sequencer, sequencer
}

// endRun ends the cell's open run; status, one of the Status constants, becomes the cell's
// status.
func (c *cellExecution) endRun(status string) {
	c.End()
	c.lastStatus = status
}

// appendStreamText appends text that the cell printed to stdout or stderr to its outputs and
// its logs.
func (c *cellExecution) appendStreamText(stream string, text []byte) {
	c.clearOutputsIfPending()
	c.outputs.appendStreamText(stream, text)
	c.logs.appendStreamText("logs", text)
}

// appendOutput appends an output that is not printed text, such as an image or an error, to the
// cell's outputs.
func (c *cellExecution) appendOutput(output *richOutput) {
	c.clearOutputsIfPending()
	c.outputs.appendOutput(output)
}

// clearOutputs removes the cell's outputs: at once or, if wait is set, when the next output
// comes. The logs stay.
func (c *cellExecution) clearOutputs(wait bool) {
	c.clearBeforeNext = true
	if !wait {
		c.clearOutputsIfPending()
	}
}

// clearOutputsIfPending removes the cell's outputs if clearOutputs was called with wait and
// they were not removed since.
func (c *cellExecution) clearOutputsIfPending() {
	if c.clearBeforeNext {
		c.clearBeforeNext = false
		c.outputs = newOutputBuffer(2 * c.outputs.halfBytes)
	}
}

// appendException appends a traceback to the outputs as an error output. It does nothing if
// exception is empty or the run has shown an error already, which some kernels do themselves.
func (c *cellExecution) appendException(exception string) {
	hasError := false
	c.outputs.forEachOutput(func(p *bufferPiece) { hasError = hasError || p.output.failure != nil })
	if hasError || exception == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(exception, "\n"), "\n")
	name, value, _ := strings.Cut(lines[len(lines)-1], ": ")
	output := &richOutput{kind: errorOutput, failure: &errorOutputContent{name: name, value: value, traceback: lines}}
	c.appendOutput(output.shrunkTo(c.maxSingleOutputBytes(), 0))
}

// maxSingleOutputBytes returns how many bytes one output of the cell may have to be kept whole:
// a quarter of the limit for all its outputs.
func (c *cellExecution) maxSingleOutputBytes() int { return c.outputs.halfBytes / 2 }
