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
	// DefaultMaxStdioBytes is how much text one run may write.
	DefaultMaxStdioBytes = 10 << 20

	// maxLastTextBytes is how much of a run's newest text is kept for the error of a
	// kernel that dies.
	maxLastTextBytes = 2 << 10

	// earlyTextTimeout is how long text that was written while no run was on waits for a
	// start_cell: pipe and socket are read independently, and the text may be faster.
	earlyTextTimeout = 50 * time.Millisecond
)

// outputMerger puts text from the process's pipes into the run during which it was
// written, among the frames from the socket, and limits how much text a run has.
type outputMerger struct {
	emitFrame func(frame []byte)                // passes a frame on; called with mu held
	onOutput  func(stream string, chunk []byte) // gets text of no run

	mu         sync.Mutex // held while frames are emitted, which keeps their order
	run        runOutput
	earlyTimer *time.Timer // gives up waiting for early text's run; nil: never started
}

func newOutputMerger(cfg Config, emit func([]byte)) *outputMerger {
	m := &outputMerger{emitFrame: emit, onOutput: cfg.Output, run: newRunOutput(cfg.MaxStdioBytes)}
	if m.onOutput == nil {
		m.onOutput = func(string, []byte) {}
	}
	return m
}

// isRunOn reports whether a run is on, and isRunOf whether it is one of the cell. Only the
// goroutine that starts and ends runs may call them.
func (m *outputMerger) isRunOn() bool              { return m.run.isOn }
func (m *outputMerger) isRunOf(cellID string) bool { return m.run.isRunOf(cellID) }

// passFrame emits a frame unchanged.
func (m *outputMerger) passFrame(frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emitFrame(frame)
}

// startRun emits a start_cell frame and starts a run of the cell, unless cellID is empty
// or another run is on.
func (m *outputMerger) startRun(cellID string, frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.emitFrame(frame)
	if cellID != "" && !m.run.isOn {
		m.run.start(cellID, m.emitFrame)
	}
}

// endRun ends the run of the cell, if it is on, and then emits its cell_result frame.
func (m *outputMerger) endRun(cellID string, frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run.isRunOf(cellID) {
		m.run.end(m.emitFrame)
	}
	m.emitFrame(frame)
}

// addText adds a kernel_stdio frame from the socket to the run.
func (m *outputMerger) addText(frame []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.run.addFrame(frame, m.emitFrame)
}

// addLine adds a line to the text of the cell's run, if that is on.
func (m *outputMerger) addLine(cellID, line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run.isRunOf(cellID) {
		m.run.addBytes(protocol.Stderr, []byte(line), m.emitFrame)
	}
}

// addOutput takes what was written to the process's stdout or stderr. It is the Output of
// its [subprocess.Spec].
func (m *outputMerger) addOutput(stream string, chunk []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.run.isOn {
		m.run.addBytes(stream, chunk, m.emitFrame)
		return
	}
	if len(m.run.earlyText) == 0 {
		m.earlyTimer = time.AfterFunc(earlyTextTimeout, m.releaseEarly)
	}
	m.run.earlyText = append(m.run.earlyText, pipeChunk{stream, bytes.Clone(chunk)})
}

// releaseEarly passes early text to onOutput, since no run has started.
func (m *outputMerger) releaseEarly() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.run.earlyText {
		m.onOutput(c.stream, c.bytes)
	}
	m.run.earlyText = nil
}

// lastText returns the newest text of the run that is on.
func (m *outputMerger) lastText() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.run.lastText)
}

// close releases early text at once.
func (m *outputMerger) close() {
	if m.earlyTimer != nil {
		m.earlyTimer.Stop()
		m.releaseEarly()
	}
}

// runOutput is the text of the run that is on. It limits it: the first half of what is
// allowed is emitted as it comes. After that, the newest text is held, up to the other
// half, and emitted when the run ends. It is not safe for concurrent use.
type runOutput struct {
	maxBytes int // negative: no limit

	isOn              bool
	cellID            string
	earlyText         []pipeChunk       // while no run is on: text that may belong to the next run
	partialCharacters map[string][]byte // by stream: a UTF-8 character whose end is still to come

	emittedBytes int
	heldFrames   [][]byte // raw frames
	heldBytes    int      // bytes of text in held
	droppedBytes int
	lastText     []byte // the newest text, at most maxLastTextBytes
}

// newRunOutput returns a runOutput with no run on. maxBytes 0 means DefaultMaxStdioBytes,
// negative means no limit.
func newRunOutput(maxBytes int) runOutput {
	if maxBytes == 0 {
		maxBytes = DefaultMaxStdioBytes
	}
	return runOutput{maxBytes: maxBytes}
}

// pipeChunk is a chunk of bytes that was read from a pipe.
type pipeChunk struct {
	stream string
	bytes  []byte
}

func (r *runOutput) isRunOf(cellID string) bool { return r.isOn && r.cellID == cellID }

// start begins a run, to which early text belongs.
func (r *runOutput) start(cellID string, emit func([]byte)) {
	early := r.earlyText
	*r = runOutput{maxBytes: r.maxBytes, isOn: true, cellID: cellID, partialCharacters: map[string][]byte{}}
	for _, c := range early {
		r.addBytes(c.stream, c.bytes, emit)
	}
}

// addBytes adds what was written to a pipe during the run.
func (r *runOutput) addBytes(stream string, chunk []byte, emit func([]byte)) {
	if text := r.completeText(stream, chunk); len(text) > 0 {
		r.addFrame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: r.cellID, Text: text}), emit)
	}
}

// completeText returns chunk as valid UTF-8. It prepends the start of a character from
// the stream's previous chunk, and keeps the start of one that this chunk does not
// complete for the next.
func (r *runOutput) completeText(stream string, chunk []byte) []byte {
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

// addFrame emits a raw frame or holds it. A frame that is not raw, or comes while no run
// is on, is emitted; the router reports what is wrong with it.
func (r *runOutput) addFrame(frame []byte, emit func([]byte)) {
	raw, err := protocol.ParseRawFrame(frame)
	if err != nil || !r.isOn {
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

// end emits what is held, after a line that says how many bytes were dropped, and ends
// the run.
func (r *runOutput) end(emit func([]byte)) {
	for _, stream := range []string{protocol.Stdout, protocol.Stderr} {
		if rest := r.partialCharacters[stream]; len(rest) > 0 {
			text := bytes.ToValidUTF8(rest, []byte("\uFFFD"))
			r.addFrame(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: r.cellID, Text: text}), emit)
		}
	}
	if r.droppedBytes > 0 {
		text := fmt.Appendf(nil, "\n[… %d bytes of output are left out here …]\n", r.droppedBytes)
		emit(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: r.cellID, Text: text}))
	}
	for _, frame := range r.heldFrames {
		emit(frame)
	}
	*r = runOutput{maxBytes: r.maxBytes}
}

// frameType returns the type of a frame, or "" if it has none. Our kernels write the type
// first, so that large frames need not be parsed to the end.
func frameType(frame []byte) string {
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

// agentTxIDOf returns the id of the request that a frame answers, or "".
func agentTxIDOf(frame []byte) string { return envelopeOf(frame).AgentTxID }

// cellIDOf returns the cell that a frame is about, or "".
func cellIDOf(frame []byte) string { return envelopeOf(frame).CellID }

// envelopeOf returns the envelope of a frame, empty if the frame is malformed: the router
// decodes it again and reports the error.
func envelopeOf(frame []byte) protocol.Envelope {
	env, err := protocol.NewEnvelopeDecoder().Decode(frame)
	if err != nil {
		return protocol.Envelope{}
	}
	return env
}
