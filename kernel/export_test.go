package kernel

import "syscall"

// RunTextLimiter lets tests use the text limiter of a run (runTextLimiter). The run is one of the cell
// "c".
type RunTextLimiter struct{ run runTextLimiter }

// NewRunTextLimiter starts a run of the cell "c" whose text is limited to maxBytes; 0 means
// DefaultMaxStdioBytes, negative no limit.
func NewRunTextLimiter(maxBytes int) *RunTextLimiter {
	r := &RunTextLimiter{run: newRunTextLimiter(maxBytes)}
	r.run.startRun("c", nil)
	return r
}

// AddTextFrame adds a raw text frame to the run; emit gets the frames that are not held back.
func (r *RunTextLimiter) AddTextFrame(frame []byte, emit func([]byte)) {
	r.run.addTextFrame(frame, emit)
}

// EndRun ends the run; emit gets the held frames and a line about dropped bytes.
func (r *RunTextLimiter) EndRun(emit func([]byte)) { r.run.endRun(emit) }

// JoinSplitCharacters returns chunk as valid UTF-8, joined with an incomplete character of the
// stream's previous chunk.
func (r *RunTextLimiter) JoinSplitCharacters(stream string, chunk []byte) []byte {
	return r.run.joinSplitCharacters(stream, chunk)
}

// FrameTypeOf returns the message type of a frame, or "" if it has none.
func FrameTypeOf(frame []byte) string { return frameTypeOf(frame) }

// Interrupter lets tests use the type that signals a kernel to interrupt stopped runs
// (interrupter).
type Interrupter struct{ *interrupter }

// NewInterrupter returns an Interrupter for the process pid that sends signals by calling
// signal.
func NewInterrupter(pid int, signal func(syscall.Signal) error) Interrupter {
	return Interrupter{newInterrupter(pid, signal)}
}

// NoteSentMessage tells the interrupter about a message that was written to the kernel.
func (i Interrupter) NoteSentMessage(body []byte) { i.noteSentMessage(body) }

// NoteReceivedMessage tells the interrupter about a message that came from the kernel.
func (i Interrupter) NoteReceivedMessage(body []byte) { i.noteReceivedMessage(body) }

// Close stops all signals of the interrupter.
func (i Interrupter) Close() { i.close() }

// DescendantPIDs returns the process ids of all descendants of a process.
func DescendantPIDs(pid int) []int { return descendantPIDs(pid) }

// KernelCommand returns the command that starts the Emacs Lisp kernel, without the path of its
// socket.
func (e *Emacs) KernelCommand() []string { return e.kernelCommand() }

// ReadPaths returns the files and folders that a sandboxed Emacs Lisp kernel must be able to
// read.
func (e *Emacs) ReadPaths() []string { return e.readPaths }

// PipConfigPath exports pipConfigPath, which finds the user's configuration of pip.
var PipConfigPath = pipConfigPath //nolint:gochecknoglobals // an export for tests
