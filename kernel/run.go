package kernel

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"assay/internal/protocol"
)

const (
	// DefaultMaxStdioBytes is how much text a run may write, in bytes.
	DefaultMaxStdioBytes = 10 << 20

	// lastSize is how much of a run's text is kept for a post-mortem.
	lastSize = 2 << 10
)

// run follows the run that is on: it says whose the text is, and bounds it.
// The first half of what is allowed passes as it comes; after that the newest
// is held, as much as the other half, and passes when the run ends.
type run struct {
	limit int // bytes; negative: none

	on    bool
	cell  string
	early []written         // while not on: what may belong to the run that comes
	split map[string][]byte // by stream: a character of which the end is still to come

	passed  int      // bytes
	held    [][]byte // raw frames
	holding int      // bytes of text in held
	dropped int      // bytes
	last    []byte   // the newest text, for a post-mortem
}

func newRun(limit int) run {
	if limit == 0 {
		limit = DefaultMaxStdioBytes
	}
	return run{limit: limit}
}

// written is a chunk that came from a pipe.
type written struct {
	stream string
	chunk  []byte
}

// isOf tells whether the run that is on is that of a cell.
func (r *run) isOf(cell string) bool { return r.on && r.cell == cell }

// start begins a run, to which the early text belongs.
func (r *run) start(cell string, emit func([]byte)) {
	early := r.early
	*r = run{limit: r.limit, on: true, cell: cell, split: map[string][]byte{}}
	for _, w := range early {
		r.write(w.stream, w.chunk, emit)
	}
}

// write takes in what was written to a pipe during the run.
func (r *run) write(stream string, chunk []byte, emit func([]byte)) {
	if text := r.whole(stream, chunk); len(text) > 0 {
		r.add(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: r.cell, Text: text}), emit)
	}
}

// whole returns chunk as UTF-8: with the rest of a character that the chunk
// before it began, and without the beginning of one that it does not end.
func (r *run) whole(stream string, chunk []byte) []byte {
	text := append(r.split[stream], chunk...)
	end := len(text)
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	r.split[stream] = bytes.Clone(text[end:])
	return bytes.ToValidUTF8(text[:end], []byte("\uFFFD"))
}

// add passes a raw frame on, or holds it.
func (r *run) add(frame []byte, emit func([]byte)) {
	raw, err := protocol.ParseRawFrame(frame)
	if err != nil || !r.on {
		emit(frame) // not raw, or not good, which the router will say; or of no run
		return
	}
	r.last = append(r.last, raw.Text[max(0, len(raw.Text)-lastSize):]...)
	r.last = r.last[max(0, len(r.last)-lastSize):]
	half := r.limit / 2
	if r.limit < 0 || r.passed+len(raw.Text) <= half {
		r.passed += len(raw.Text)
		emit(frame)
		return
	}
	r.passed = half // the next small one does not overtake this one
	r.held = append(r.held, frame)
	r.holding += len(raw.Text)
	for r.holding > half && len(r.held) > 1 {
		first, _ := protocol.ParseRawFrame(r.held[0]) // it was parsed when it came
		r.held[0] = nil
		r.held = r.held[1:]
		r.holding -= len(first.Text)
		r.dropped += len(first.Text)
	}
}

// end passes on what is held, behind a line that says what is missing.
func (r *run) end(emit func([]byte)) {
	for _, stream := range []string{protocol.Stdout, protocol.Stderr} {
		if rest := r.split[stream]; len(rest) > 0 {
			text := bytes.ToValidUTF8(rest, []byte("\uFFFD"))
			r.add(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: stream, CellID: r.cell, Text: text}), emit)
		}
	}
	if r.dropped > 0 {
		text := fmt.Appendf(nil, "\n[… %d bytes of output are left out here …]\n", r.dropped)
		emit(protocol.AppendRawFrame(nil, protocol.RawFrame{Stream: protocol.Stdout, CellID: r.cell, Text: text}))
	}
	for _, frame := range r.held {
		emit(frame)
	}
	*r = run{limit: r.limit}
}

// frameType is the type of a frame. Our kernels write it first, so that this
// does not read their frames, some of which are large, to the end.
func frameType(frame []byte) string {
	if protocol.IsRawFrame(frame) {
		return protocol.TypeKernelStdio
	}
	if rest, ok := bytes.CutPrefix(frame, []byte(`{"type":"`)); ok {
		if name, _, ok := bytes.Cut(rest, []byte(`"`)); ok {
			return string(name)
		}
	}
	env, err := protocol.NewEnvelopeDecoder().Decode(frame)
	if err != nil {
		return "" // the router reads it again and says what is wrong
	}
	return env.Type
}

// requestOf is the request that a frame answers, empty when it names none.
func requestOf(frame []byte) string {
	env, err := protocol.NewEnvelopeDecoder().Decode(frame)
	if err != nil {
		return "" // as above
	}
	return env.AgentTxID
}

// cellOf is the cell of a frame, empty when it has none.
func cellOf(frame []byte) string {
	env, err := protocol.NewEnvelopeDecoder().Decode(frame)
	if err != nil {
		return "" // as above
	}
	return env.CellID
}
