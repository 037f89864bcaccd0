package kernel

import (
	"bytes"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"assay/internal/protocol"
)

const (
	// DefaultMaxStdioBytes is how much text one run may write, in bytes, if
	// Config.MaxStdioBytes is 0.
	DefaultMaxStdioBytes = 10 << 20

	// maxLastTextBytes is how much of a run's newest text is kept for the error of a
	// kernel that dies.
	maxLastTextBytes = 2 << 10

	// earlyTextTimeout is how long text that was written while no cell runs waits for a
	// start_cell: pipe and socket are read independently, and the text may be faster.
	earlyTextTimeout = 50 * time.Millisecond
)

// outputMerger merges the text that a kernel process writes to its pipes into the frames from
// its socket, as text of the run during which it was written. It also limits how much text one
// run may have.
type outputMerger struct {
	emitFrame func(frame []byte)                // passes a frame on; called with mu held
	onOutput  func(stream string, chunk []byte) // gets text that belongs to no run

	mu             sync.Mutex // held while frames are emitted, which keeps their order
	run            runTextLimiter
	earlyTextTimer *time.Timer // calls releaseEarlyText; nil: was never started
}

// newOutputMerger returns an outputMerger that calls emit with each frame, in order, and
// cfg.Output with text that belongs to no run.
func newOutputMerger(cfg Config, emit func([]byte)) *outputMerger {
	m := &outputMerger{emitFrame: emit, onOutput: cfg.Output, run: newRunTextLimiter(cfg.MaxStdioBytes)}
	if m.onOutput == nil {
		m.onOutput = func(string, []byte) {}
	}
	return m
}

// hasActiveRun reports whether a cell runs at the moment. Only the goroutine that calls
// startRun and endRun may call it.
func (m *outputMerger) hasActiveRun() bool { return m.run.isActive }

// isRunningCell reports whether this cell runs at the moment. Only the goroutine that calls
// startRun and endRun may call it.
func (m *outputMerger) isRunningCell(cellID string) bool { return m.run.isRunOfCell(cellID) }

// emitFrameUnchanged emits a frame from the socket as it is.
func (m *outputMerger) emitFrameUnchanged(frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emitFrame(frame)
}

// startRun emits a start_cell frame and begins a run of the cell. It begins none if cellID is
// empty or another cell's run has not ended.
func (m *outputMerger) startRun(cellID string, frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emitFrame(frame)
	if cellID != "" && !m.run.isActive {
		m.run.startRun(cellID, m.emitFrame)
	}
}

// endRun ends the cell's run, which emits its remaining text, and then emits the cell_result
// frame. If another cell runs, it only emits the frame.
func (m *outputMerger) endRun(cellID string, frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run.isRunOfCell(cellID) {
		m.run.endRun(m.emitFrame)
	}
	m.emitFrame(frame)
}

// addTextFrame adds a kernel_stdio frame from the socket to the text of the current run.
func (m *outputMerger) addTextFrame(frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run.addTextFrame(frame, m.emitFrame)
}

// addLineToRun adds a line to the stderr text of the cell's run, or does nothing if that cell
// does not run.
func (m *outputMerger) addLineToRun(cellID, line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run.isRunOfCell(cellID) {
		m.run.addPipeBytes(protocol.Stderr, []byte(line), m.emitFrame)
	}
}

// addPipeOutput takes bytes that the kernel process wrote to stdout or stderr. During a run
// they become text of that run. Otherwise they wait up to earlyTextTimeout for a run to start.
// It is the Output callback of the process's [subprocess.Spec].
func (m *outputMerger) addPipeOutput(stream string, chunk []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run.isActive {
		m.run.addPipeBytes(stream, chunk, m.emitFrame)
		return
	}
	if len(m.run.earlyText) == 0 {
		m.earlyTextTimer = time.AfterFunc(earlyTextTimeout, m.releaseEarlyText)
	}
	m.run.earlyText = append(m.run.earlyText, pipeChunk{stream, bytes.Clone(chunk)})
}

// releaseEarlyText passes text that was written while no cell ran to onOutput, after no run
// has started within earlyTextTimeout.
func (m *outputMerger) releaseEarlyText() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.run.earlyText {
		m.onOutput(c.stream, c.bytes)
	}
	m.run.earlyText = nil
}

// lastRunText returns the newest text of the current run, at most maxLastTextBytes; "" if no
// cell runs.
func (m *outputMerger) lastRunText() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.run.lastText)
}

// close stops the timer of early text and passes that text to onOutput at once.
func (m *outputMerger) close() {
	if m.earlyTextTimer != nil {
		m.earlyTextTimer.Stop()
		m.releaseEarlyText()
	}
}

// runTextLimiter limits the text of the current run to maxBytes. The first half of the limit is
// emitted as it comes. After that only the newest text is held, up to the other half, and
// emitted when the run ends. It is not safe for concurrent use.
type runTextLimiter struct {
	maxBytes int // negative: no limit

	isActive          bool
	cellID            string
	earlyText         []pipeChunk       // text written while no cell runs, which may belong to the next run
	partialCharacters map[string][]byte // by stream: the beginning of a UTF-8 character at the end of the last chunk

	emittedBytes int
	heldFrames   [][]byte // raw frames
	heldBytes    int      // bytes of text in heldFrames
	droppedBytes int
	lastText     []byte // the newest text, at most maxLastTextBytes
}

// newRunTextLimiter returns a runTextLimiter in which no run has started. maxBytes is the limit for the
// text of one run; 0 means DefaultMaxStdioBytes, negative means no limit.
func newRunTextLimiter(maxBytes int) runTextLimiter {
	if maxBytes == 0 {
		maxBytes = DefaultMaxStdioBytes
	}
	return runTextLimiter{maxBytes: maxBytes}
}

// pipeChunk is a piece of output that was read from the kernel's stdout or stderr pipe.
type pipeChunk struct {
	stream string
	bytes  []byte
}

// isRunOfCell reports whether the current run is one of this cell.
func (r *runTextLimiter) isRunOfCell(cellID string) bool { return r.isActive && r.cellID == cellID }

// startRun begins a run of a cell. Text that was written just before becomes its first text.
func (r *runTextLimiter) startRun(cellID string, emit func([]byte)) {
	early := r.earlyText
	*r = runTextLimiter{maxBytes: r.maxBytes, isActive: true, cellID: cellID, partialCharacters: map[string][]byte{}}
	for _, c := range early {
		r.addPipeBytes(c.stream, c.bytes, emit)
	}
}

// addPipeBytes adds bytes that were read from the kernel's stdout or stderr pipe to the text
// of the current run.
func (r *runTextLimiter) addPipeBytes(stream string, chunk []byte, emit func([]byte)) {
	if text := r.joinSplitCharacters(stream, chunk); len(text) > 0 {
		r.addTextFrame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: r.cellID, Text: text}), emit)
	}
}

// joinSplitCharacters returns chunk as valid UTF-8. It prepends an incomplete character from
// the end of the stream's previous chunk, and keeps back an incomplete one at the end of this
// chunk. Invalid bytes become U+FFFD.
func (r *runTextLimiter) joinSplitCharacters(stream string, chunk []byte) []byte {
	text := append(r.partialCharacters[stream], chunk...)
	end := len(text)
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	r.partialCharacters[stream] = bytes.Clone(text[end:])
	return bytes.ToValidUTF8(text[:end], []byte("\uFFFD"))
}

// addTextFrame emits a raw text frame, or holds it until the run ends if half of the limit is
// used up. Held frames over the other half are dropped, oldest first. A frame that is not raw,
// or that comes while no cell runs, is emitted unchanged; the router reports what is wrong
// with it.
func (r *runTextLimiter) addTextFrame(frame []byte, emit func([]byte)) {
	raw, err := protocol.ParseRawFrame(frame)
	if err != nil || !r.isActive {
		emit(frame)
		return
	}
	r.lastText = append(r.lastText, raw.Text[max(0, len(raw.Text)-maxLastTextBytes):]...)
	r.lastText = r.lastText[max(0, len(r.lastText)-maxLastTextBytes):]
	half := r.maxBytes / 2
	if r.maxBytes < 0 || r.emittedBytes+len(raw.Text) <= half {
		r.emittedBytes += len(raw.Text)
		emit(frame)
		return
	}
	r.emittedBytes = half // so that no smaller frame overtakes this one
	r.heldFrames = append(r.heldFrames, frame)
	r.heldBytes += len(raw.Text)
	for r.heldBytes > half && len(r.heldFrames) > 1 {
		first, _ := protocol.ParseRawFrame(r.heldFrames[0]) // it was parsed before it was held
		r.heldFrames[0] = nil
		r.heldFrames = r.heldFrames[1:]
		r.heldBytes -= len(first.Text)
		r.droppedBytes += len(first.Text)
	}
}

// endRun ends the run: it emits a line that says how many bytes were dropped, if any were, and
// then the held frames.
func (r *runTextLimiter) endRun(emit func([]byte)) {
	for _, stream := range []string{protocol.Stdout, protocol.Stderr} {
		if rest := r.partialCharacters[stream]; len(rest) > 0 {
			text := bytes.ToValidUTF8(rest, []byte("\uFFFD"))
			r.addTextFrame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: r.cellID, Text: text}), emit)
		}
	}
	if r.droppedBytes > 0 {
		text := fmt.Appendf(nil, "\n[… %d bytes of output are left out here …]\n", r.droppedBytes)
		emit(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: r.cellID, Text: text}))
	}
	for _, frame := range r.heldFrames {
		emit(frame)
	}
	*r = runTextLimiter{maxBytes: r.maxBytes}
}

// frameTypeOf returns the message type of a frame, or "" if it has none. It need not parse large
// frames to the end, because our kernels write the type first.
func frameTypeOf(frame []byte) string {
	if protocol.IsRawFrame(frame) {
		return protocol.TypeKernelStdio
	}
	if rest, ok := bytes.CutPrefix(frame, []byte(`{"type":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte(`"`)); ok {
			return string(name)
		}
	}
	return envelopeOf(frame).Type
}

// agentTxIDOf returns the agent_tx_id field of a frame, or "" if it has none or is malformed.
func agentTxIDOf(frame []byte) string { return envelopeOf(frame).AgentTxID }

// cellIDOf returns the cell_id field of a frame, or "" if it has none or is malformed.
func cellIDOf(frame []byte) string { return envelopeOf(frame).CellID }

// envelopeOf returns the envelope fields of a frame. They are empty if the frame is
// malformed, because the router decodes the frame again and reports the error.
func envelopeOf(frame []byte) protocol.Envelope {
	env, err := protocol.NewEnvelopeDecoder().Decode(frame)
	if err != nil {
		return protocol.Envelope{}
	}
	return env
}
