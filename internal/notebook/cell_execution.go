package notebook

import "strings"

// cellExecution is what is known of the runs of one cell. While its RunState is open
// the cell counts as running; otherwise its status is that of the last run. Its outputs
// are those of the last run that started.
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

// newCellExecution returns a cell that has not run. It keeps maxOutputBytes of outputs.
func newCellExecution(maxOutputBytes int) *cellExecution {
	return &cellExecution{
		lastStatus: StatusIdle, outputs: newOutputBuffer(maxOutputBytes), logs: newOutputBuffer(maxMessageLogBytes),
	}
}

// status returns one of the Status constants.
func (c *cellExecution) status() string {
	if c.IsOpen() {
		return StatusRunning
	}
	return c.lastStatus
}

// startRun begins a run, and forgets everything that the last one has left, its widgets
// too.
func (c *cellExecution) startRun(sequencer, maxOutputBytes int) {
	*c = *newCellExecution(maxOutputBytes)
	c.Start()
	c.sequencer, c.executionCount = sequencer, sequencer
}

// endRun ends the open run with a status.
func (c *cellExecution) endRun(status string) {
	c.End()
	c.lastStatus = status
}

// appendStreamText appends text of a stream to the outputs and the logs.
func (c *cellExecution) appendStreamText(stream string, text []byte) {
	c.clearOutputsIfPending()
	c.outputs.appendStreamText(stream, text)
	c.logs.appendStreamText("logs", text)
}

// appendOutput appends an output.
func (c *cellExecution) appendOutput(output *richOutput) {
	c.clearOutputsIfPending()
	c.outputs.appendOutput(output)
}

// clearOutputs removes the outputs, at once or, with wait, when the next one comes. The logs
// stay.
func (c *cellExecution) clearOutputs(wait bool) {
	c.clearBeforeNext = true
	if !wait {
		c.clearOutputsIfPending()
	}
}

// clearOutputsIfPending removes the outputs if clear has asked for it.
func (c *cellExecution) clearOutputsIfPending() {
	if c.clearBeforeNext {
		c.clearBeforeNext = false
		c.outputs = newOutputBuffer(2 * c.outputs.halfBytes)
	}
}

// showException appends a traceback as an error output. It does nothing if the run has
// shown an error already, as some kernels do themselves, or if exception is empty.
func (c *cellExecution) showException(exception string) {
	hasError := false
	c.outputs.forEachOutput(func(p *bufferPiece) { hasError = hasError || p.output.failure != nil })
	if hasError || exception == "" {
		return
	}
	lines := strings.Split(strings.TrimRight(exception, "\n"), "\n")
	name, value, _ := strings.Cut(lines[len(lines)-1], ": ")
	output := &richOutput{kind: errorOutput, failure: &errorContent{name: name, value: value, traceback: lines}}
	c.appendOutput(output.shrunkTo(c.maxSingleOutputBytes(), 0))
}

// maxSingleOutputBytes returns how large one output may be to be kept whole.
func (c *cellExecution) maxSingleOutputBytes() int { return c.outputs.halfBytes / 2 }
