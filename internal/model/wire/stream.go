package wire

import (
	"encoding/json"
	"maps"
	"strings"

	"assay/internal/model"
)

// Head is what a reply says besides its content, stop reason and usage.
type Head struct {
	ID            string // without the prefix of the API, such as msg_
	Model         string
	Created       int64 // seconds since 1970; Messages do not say it
	IncludesUsage bool  // the reply says how many tokens it took

	Namespaces map[string]string // of tools, as in [Envelope]
}

// Event is one server-sent event of a streamed reply.
type Event struct {
	Text     []byte // with the empty line at its end
	Finishes bool   // with this event a client has the whole reply; others may follow
}

// StreamEncoder encodes a reply as the events of an API, from the deltas and the response
// of a [model.Client]. It is not safe for concurrent use.
//
// The APIs send one block after the other, but deltas of several blocks may be mixed, and
// some clients do not know where a block ends before the reply does. So text and thinking
// end where the next block begins; a text that goes on later becomes another block. While
// a tool call has not ended, what follows it waits.
type StreamEncoder struct {
	format  streamFormat
	started bool
	waiting []*streamBlock       // those that have not been sent whole, in their order
	open    map[int]*streamBlock // of the waiting ones, those that may get more text, by index of the delta
	next    int                  // least index that no delta had
}

// streamFormat encodes the parts of a streamed reply of one API, one block after the
// other.
type streamFormat interface {
	start(usage model.Usage)
	startBlock(b model.Block) // without its texts
	addText(b model.Block, text string)
	stopBlock(b model.Block) // with its texts; the input of a tool call may be cut JSON
	finish(stop model.StopReason, usage model.Usage)
	fail(errorType, message string)
}

// streamBlock is a block of the reply that has begun and is not yet sent whole.
type streamBlock struct {
	block        model.Block // without texts
	unsent, sent strings.Builder
	isStarted    bool // its start was sent
	hasEnded     bool
}

// NewStreamEncoder returns an encoder that calls emit with each event.
func NewStreamEncoder(api API, head Head, emit func(Event)) *StreamEncoder {
	return &StreamEncoder{format: newStreamFormat(api, head, emit), open: map[int]*streamBlock{}}
}

func newStreamFormat(api API, head Head, emit func(Event)) streamFormat {
	switch api {
	case Messages:
		return &messagesStream{head: head, emit: emit}
	case Chat:
		return &chatStream{head: head, emit: emit}
	default:
		return &responsesStream{head: head, emit: emit}
	}
}

// Start encodes the beginning of the reply. A server that knows the usage already says it
// there. WriteDelta, Finish and Fail call Start if it was not called.
func (s *StreamEncoder) Start(usage model.Usage) {
	if !s.started {
		s.started = true
		s.format.start(usage)
	}
}

// WriteDelta encodes a part of the reply.
func (s *StreamEncoder) WriteDelta(d model.Delta) {
	s.Start(model.Usage{})
	s.next = max(s.next, d.Index+1)
	b := s.open[d.Index]
	switch {
	case d.Kind == model.DeltaStart, d.Kind == model.DeltaText && b == nil && endsEarly(d.Type):
		b = &streamBlock{block: model.Block{Type: d.Type, ID: d.ID, Name: d.Name}}
		b.unsent.WriteString(d.Text)
		s.waiting, s.open[d.Index] = append(s.waiting, b), b
	case b == nil: // it has ended
	case d.Kind == model.DeltaText:
		b.unsent.WriteString(d.Text)
	case d.Kind == model.DeltaStop:
		b.end(d.Block)
	}
	s.sendWaiting()
}

// endsEarly reports whether a block of this type ends where the next one begins.
func endsEarly(blockType string) bool {
	return blockType == model.BlockText || blockType == model.BlockThinking
}

// end marks the block as ended. with, which may be nil, is the block with all its fields.
func (b *streamBlock) end(with *model.Block) {
	b.hasEnded = true
	if with != nil {
		b.block = *with
		b.block.Text, b.block.Thinking, b.block.Input = "", "", nil
	}
}

// canStart reports whether the start of the block can be sent: a tool call must have its
// name, and a block without text must be whole.
func (b *streamBlock) canStart() bool {
	return b.hasEnded || endsEarly(b.block.Type) || b.block.Type == model.BlockToolUse && b.block.Name != ""
}

// sendWaiting sends what can be sent of the waiting blocks.
func (s *StreamEncoder) sendWaiting() {
	for len(s.waiting) > 0 && s.waiting[0].canStart() {
		b := s.waiting[0]
		if !b.isStarted {
			b.isStarted = true
			s.format.startBlock(b.block)
		}
		if text := b.unsent.String(); text != "" {
			s.format.addText(b.block, text)
			b.sent.WriteString(text)
			b.unsent.Reset()
		}
		if !b.hasEnded && (len(s.waiting) == 1 || !endsEarly(b.block.Type)) {
			return
		}
		s.format.stopBlock(b.finished())
		s.waiting = s.waiting[1:]
		maps.DeleteFunc(s.open, func(_ int, open *streamBlock) bool { return open == b })
	}
}

// finished returns the block with the text that was sent.
func (b *streamBlock) finished() model.Block {
	out := b.block
	switch out.Type {
	case model.BlockText:
		out.Text = b.sent.String()
	case model.BlockThinking:
		out.Thinking = b.sent.String()
	case model.BlockToolUse:
		out.Input = json.RawMessage(b.sent.String())
	}
	return out
}

// Finish encodes the end of the reply, and before that the blocks of the response that had
// no delta.
func (s *StreamEncoder) Finish(resp *model.Response) {
	s.Start(model.Usage{})
	for i, b := range s.open {
		if i < len(resp.Content) {
			b.end(&resp.Content[i])
		}
	}
	s.sendWaiting()
	for i := s.next; i < len(resp.Content); i++ {
		model.EmitBlockDeltas(s.WriteDelta, i, resp.Content[i])
	}
	s.format.finish(resp.StopReason, resp.Usage)
}

// Fail encodes an error in the middle of the reply.
func (s *StreamEncoder) Fail(errorType, message string) {
	s.Start(model.Usage{})
	s.format.fail(errorType, message)
}

// encodeEvent returns a server-sent event with this name, "" for none, and data.
func encodeEvent(name string, data any) []byte {
	var out []byte
	if name != "" {
		out = append(append(append(out, "event: "...), name...), '\n')
	}
	return append(append(append(out, "data: "...), encode(data)...), "\n\n"...)
}
