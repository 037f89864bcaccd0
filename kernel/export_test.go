package kernel

import "syscall"

// RunOutput is the text of a run of the cell "c".
type RunOutput struct{ run runOutput }

// NewRunOutput returns the text of a run that may write maxBytes.
func NewRunOutput(maxBytes int) *RunOutput {
	r := &RunOutput{run: newRunOutput(maxBytes)}
	r.run.start("c", nil)
	return r
}

// AddFrame is runOutput.addFrame.
func (r *RunOutput) AddFrame(frame []byte, emit func([]byte)) { r.run.addFrame(frame, emit) }

// End is runOutput.end.
func (r *RunOutput) End(emit func([]byte)) { r.run.end(emit) }

// CompleteText is runOutput.completeText.
func (r *RunOutput) CompleteText(stream string, chunk []byte) []byte {
	return r.run.completeText(stream, chunk)
}

// FrameType is frameType.
func FrameType(frame []byte) string { return frameType(frame) }

// Interrupter is interrupter.
type Interrupter struct{ *interrupter }

// NewInterrupter is newInterrupter.
func NewInterrupter(pid int, signal func(syscall.Signal) error) Interrupter {
	return Interrupter{newInterrupter(pid, signal)}
}

// MessageSent is interrupter.messageSent.
func (i Interrupter) MessageSent(body []byte) { i.messageSent(body) }

// MessageReceived is interrupter.messageReceived.
func (i Interrupter) MessageReceived(body []byte) { i.messageReceived(body) }

// Close is interrupter.close.
func (i Interrupter) Close() { i.close() }

// Descendants is descendants.
func Descendants(pid int) []int { return descendants(pid) }

// KernelCommand is Emacs.kernelCommand.
func (e *Emacs) KernelCommand() []string { return e.kernelCommand() }

// ReadPaths returns Emacs.readPaths.
func (e *Emacs) ReadPaths() []string { return e.readPaths }
