package notebook

import (
	"math"
	"slices"
)

const (
	// pieceSize is how many bytes of text one piece holds at most. Old text goes
	// by whole pieces, so that it never has to be moved.
	pieceSize = 32 << 10

	// pieceCost is what a piece counts beside its text, and richCost what another
	// output counts beside its values, in bytes, so that a great many tiny
	// outputs are bounded too. It is about the memory that they take.
	pieceCost = 128
	richCost  = 640

	// mostReferences is how many outputs a tape refers to between its two ends.
	mostReferences = 256
)

// tape is the outputs of a run in order, as much of them as has room: the first
// half and the last half. Of what lay between, text is only counted; other
// outputs stay as references into the trace, [mostReferences] of them.
//
//	head (sealed once something did not fit) | middle | gap | tail
//
// What a tape holds depends on what was written, not on the portions in which
// text came. It is not safe for concurrent use.
type tape struct {
	half   int // bytes, for head and tail each
	piece  int // bytes of text that a piece holds
	head   []piece
	room   int // bytes left in head
	sealed bool
	middle []piece // references, each with what went missing before it
	gap    int64   // bytes missing before tail
	tail   []piece
	size   int // bytes of tail
}

// piece is text of one stream, or another output.
type piece struct {
	missing int64 // bytes left out in front of it
	stream  string
	text    []byte // only ever appended to
	from    int    // text before it was dropped
	rich    *rich  // nil for text
}

func newTape(limit int) *tape {
	half := limit / 2
	return &tape{half: half, piece: min(pieceSize, half), room: half}
}

// write appends UTF-8 text of a stream.
func (t *tape) write(stream string, text []byte) {
	for len(text) > 0 && !t.sealed {
		n, cost := t.put(&t.head, stream, text, t.room)
		t.sealed = n == 0
		t.room -= cost
		text = text[n:]
	}
	for len(text) > 0 {
		n, cost := t.put(&t.tail, stream, text, math.MaxInt)
		t.size += cost
		text = text[n:]
		t.trim()
	}
}

// put appends the beginning of text, as much as one piece and room take, and
// returns how much that was and what it cost: nothing when room is too small.
func (t *tape) put(pieces *[]piece, stream string, text []byte, room int) (n, cost int) {
	if last := len(*pieces) - 1; last >= 0 && (*pieces)[last].stream == stream {
		p := &(*pieces)[last]
		if n = wholeRunes(text, min(t.piece-len(p.text), room)); n > 0 {
			if len(p.text)+n > cap(p.text) { // double it; append would go by less
				p.text = slices.Grow(p.text, max(n, min(len(p.text), t.piece-len(p.text))))
			}
			p.text = append(p.text, text[:n]...)
			return n, n
		}
	}
	if n = wholeRunes(text, min(t.piece, room-pieceCost)); n == 0 {
		return 0, 0
	}
	*pieces = append(*pieces, piece{stream: stream, text: append([]byte(nil), text[:n]...)})
	return n, n + pieceCost
}

// add appends an output that is not text.
func (t *tape) add(r *rich) {
	p := piece{rich: r}
	if cost := p.cost(); !t.sealed && cost <= t.room {
		t.head = append(t.head, p)
		t.room -= cost
		return
	}
	t.sealed = true
	t.tail = append(t.tail, p)
	t.size += p.cost()
	t.trim()
}

func (p *piece) cost() int {
	if p.rich != nil {
		return richCost + p.rich.size()
	}
	return pieceCost + len(p.text) - p.from
}

// trim drops the oldest of the tail until the rest has room.
func (t *tape) trim() {
	for t.size > t.half {
		front := &t.tail[0]
		if front.rich != nil {
			t.size -= front.cost()
			t.refer(front.rich)
			t.pop()
			continue
		}
		n := skipRunes(front.text[front.from:], t.size-t.half)
		front.from += n
		t.size -= n
		t.gap += int64(n)
		if front.from == len(front.text) {
			t.size -= pieceCost
			t.pop()
		}
	}
}

func (t *tape) pop() {
	t.tail[0] = piece{} // let its memory go
	t.tail = t.tail[1:]
}

func (t *tape) refer(r *rich) {
	if len(t.middle) == mostReferences {
		t.gap += int64(r.size())
		return
	}
	t.middle = append(t.middle, piece{missing: t.gap, rich: r.reference()})
	t.gap = 0
}

// update puts the content of r in the place of every output that is displayed
// under r's display id.
func (t *tape) update(r *rich) {
	found := false
	t.each(func(p *piece) {
		if p.rich.displayID != r.displayID {
			return
		}
		found = true
		p.rich = p.rich.updated(r)
	})
	if found {
		t.settle()
	}
}

// settle brings a tape back into its limits after outputs have changed.
func (t *tape) settle() {
	t.room, t.size = t.half, 0
	for i := range t.head {
		p := &t.head[i]
		if p.rich != nil && p.cost() > t.room {
			p.rich = p.rich.reference()
		}
		t.room -= p.cost()
	}
	for i := range t.middle {
		t.middle[i].rich = t.middle[i].rich.reference()
	}
	for i := range t.tail {
		t.size += t.tail[i].cost()
	}
	t.trim()
}

// each calls f for every output that is not text.
func (t *tape) each(f func(*piece)) {
	for _, pieces := range [][]piece{t.head, t.middle, t.tail} {
		for i := range pieces {
			if pieces[i].rich != nil {
				f(&pieces[i])
			}
		}
	}
}

// freshSize returns how many bytes of fresh values the tape holds.
func (t *tape) freshSize() int {
	n := 0
	t.each(func(p *piece) { n += sizes(p.rich.fresh) })
	return n
}

// release lets go of all fresh values.
func (t *tape) release() {
	t.each(func(p *piece) { p.rich = p.rich.released() })
}
