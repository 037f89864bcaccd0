package notebook

import (
	"math"
	"slices"
)

const (
	// maxPieceBytes is how much text one piece holds. Old text is removed by whole
	// pieces, so that none has to be moved.
	maxPieceBytes = 32 << 10

	// What a piece of text and any other output count beside their content, in bytes:
	// about the memory that they take. With it many tiny outputs are bounded too.
	pieceOverheadBytes  = 128
	outputOverheadBytes = 640

	// maxReferences is how many outputs between head and tail an outputBuffer refers to.
	maxReferences = 256
)

// outputBuffer keeps the outputs of a cell's run in order, within a limit of memory: as many as
// fit into one half of it from the beginning, and into the other half from the end. Of those
// between, text is only counted, and up to [maxReferences] other outputs are kept as references
// into the trace.
//
//	head (sealed once something did not fit) | middle | missing bytes | tail
//
// The content depends on what was written, not on the portions in which text came. It is not
// safe for concurrent use.
type outputBuffer struct {
	halfBytes        int // limit of head, and of tail
	pieceBytes       int // limit of the text of a piece
	head             []bufferPiece
	headRoom         int           // bytes left in head
	sealed           bool          // nothing more goes into head
	middle           []bufferPiece // references
	tailMissingBytes int64         // missing between middle and tail
	tail             []bufferPiece
	tailBytes        int // that tail counts
}

// bufferPiece is an element of an outputBuffer: some printed text of one stream, or one other
// output.
type bufferPiece struct {
	missingBytes int64       // left out in front of it; of pieces in middle only
	stream       string      // of the text
	text         []byte      // is only appended to
	droppedBytes int         // from the beginning of text
	output       *richOutput // nil: the piece is text
}

// newOutputBuffer returns an empty buffer that keeps at most maxBytes of outputs.
func newOutputBuffer(maxBytes int) *outputBuffer {
	half := maxBytes / 2
	return &outputBuffer{halfBytes: half, pieceBytes: min(maxPieceBytes, half), headRoom: half}
}

// appendStreamText appends UTF-8 text that was printed to stream, "stdout" or "stderr", to the
// buffer. Older text is dropped if there is too much.
func (b *outputBuffer) appendStreamText(stream string, text []byte) {
	for len(text) > 0 && !b.sealed {
		n, cost := b.appendText(&b.head, stream, text, b.headRoom)
		b.sealed = n == 0
		b.headRoom -= cost
		text = text[n:]
	}
	for len(text) > 0 {
		n, cost := b.appendText(&b.tail, stream, text, math.MaxInt)
		b.tailBytes += cost
		text = text[n:]
		b.trimTail()
	}
}

// appendText appends the beginning of text to pieces, as much as fits into one piece and into
// room bytes. It returns how many bytes of text were appended and how many bytes they count;
// both are 0 if room is too small.
func (b *outputBuffer) appendText(pieces *[]bufferPiece, stream string, text []byte, room int) (n, cost int) {
	if last := len(*pieces) - 1; last >= 0 && (*pieces)[last].stream == stream {
		p := &(*pieces)[last]
		if n = runeStartUpTo(text, min(b.pieceBytes-len(p.text), room)); n > 0 {
			if len(p.text)+n > cap(p.text) { // double it; append would grow it by less
				p.text = slices.Grow(p.text, max(n, min(len(p.text), b.pieceBytes-len(p.text))))
			}
			p.text = append(p.text, text[:n]...)
			return n, n
		}
	}
	if n = runeStartUpTo(text, min(b.pieceBytes, room-pieceOverheadBytes)); n == 0 {
		return 0, 0
	}
	*pieces = append(*pieces, bufferPiece{stream: stream, text: append([]byte(nil), text[:n]...)})
	return n, n + pieceOverheadBytes
}

// appendOutput appends an output that is not printed text to the buffer. Older outputs are
// dropped or become references if there are too many.
func (b *outputBuffer) appendOutput(output *richOutput) {
	p := bufferPiece{output: output}
	if cost := p.memoryBytes(); !b.sealed && cost <= b.headRoom {
		b.head = append(b.head, p)
		b.headRoom -= cost
		return
	}
	b.sealed = true
	b.tail = append(b.tail, p)
	b.tailBytes += p.memoryBytes()
	b.trimTail()
}

// memoryBytes returns how many bytes the piece counts against the buffer's limit, including its
// overhead.
func (p *bufferPiece) memoryBytes() int {
	if p.output != nil {
		return outputOverheadBytes + p.output.memoryBytes()
	}
	return pieceOverheadBytes + len(p.text) - p.droppedBytes
}

// trimTail drops the oldest text and outputs of the tail until the rest is within the limit. A
// dropped output becomes a reference into the trace.
func (b *outputBuffer) trimTail() {
	for b.tailBytes > b.halfBytes {
		front := &b.tail[0]
		if front.output != nil {
			b.tailBytes -= front.memoryBytes()
			b.appendReference(front.output)
			b.popFirstTailPiece()
			continue
		}
		n := runeStartFrom(front.text[front.droppedBytes:], b.tailBytes-b.halfBytes)
		front.droppedBytes += n
		b.tailBytes -= n
		b.tailMissingBytes += int64(n)
		if front.droppedBytes == len(front.text) {
			b.tailBytes -= pieceOverheadBytes
			b.popFirstTailPiece()
		}
	}
}

// popFirstTailPiece removes the first piece of the buffer's tail.
func (b *outputBuffer) popFirstTailPiece() {
	b.tail[0] = bufferPiece{} // so that its memory can be freed
	b.tail = b.tail[1:]
}

// appendReference appends a reference to an output, without its large values, to the middle of
// the buffer. If there are maxReferences already, the output is only counted as missing.
func (b *outputBuffer) appendReference(output *richOutput) {
	if len(b.middle) == maxReferences {
		b.tailMissingBytes += int64(output.memoryBytes())
		return
	}
	b.middle = append(b.middle, bufferPiece{missingBytes: b.tailMissingBytes, output: output.asReference()})
	b.tailMissingBytes = 0
}

// updateDisplay gives the content of a newer output to every buffered output with the same
// display id, and enforces the buffer's limits.
func (b *outputBuffer) updateDisplay(content *richOutput) {
	found := false
	b.forEachOutput(func(p *bufferPiece) {
		if p.output.displayID != content.displayID {
			return
		}
		found = true
		p.output = p.output.withContentOf(content)
	})
	if found {
		b.enforceLimits()
	}
}

// enforceLimits brings the buffer back within its limits after outputs have changed: outputs
// that are too large become references.
func (b *outputBuffer) enforceLimits() {
	b.headRoom, b.tailBytes = b.halfBytes, 0
	for i := range b.head {
		p := &b.head[i]
		if p.output != nil && p.memoryBytes() > b.headRoom {
			p.output = p.output.asReference()
		}
		b.headRoom -= p.memoryBytes()
	}
	for i := range b.middle {
		b.middle[i].output = b.middle[i].output.asReference()
	}
	for i := range b.tail {
		b.tailBytes += b.tail[i].memoryBytes()
	}
	b.trimTail()
}

// forEachOutput calls f with every piece of the buffer that is an output other than printed
// text.
func (b *outputBuffer) forEachOutput(f func(*bufferPiece)) {
	for _, pieces := range [][]bufferPiece{b.head, b.middle, b.tail} {
		for i := range pieces {
			if pieces[i].output != nil {
				f(&pieces[i])
			}
		}
	}
}

// retainedValueBytes returns how many bytes the large values have that the buffer retains only
// until the next run.
func (b *outputBuffer) retainedValueBytes() int {
	n := 0
	b.forEachOutput(func(p *bufferPiece) { n += totalValueBytes(p.output.retainedValues) })
	return n
}

// releaseRetainedValues drops the large values that the buffer retains only until the next run.
func (b *outputBuffer) releaseRetainedValues() {
	b.forEachOutput(func(p *bufferPiece) { p.output = p.output.withoutRetainedValues() })
}
