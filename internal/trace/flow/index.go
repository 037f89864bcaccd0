package flow

import (
	"time"
	"unicode/utf8"

	"assay/internal/trace"
)

const (
	// indexText is how much an Index keeps of a name or an id, in bytes; what
	// was cut ends in …, which a [Filter] understands.
	indexText = 256

	// rowCost, requestCost and wordCost are what an entry, a request and a text
	// take in memory, in bytes, the maps that find them included.
	rowCost     = 96
	requestCost = 400
	wordCost    = 96

	// unreadable is the label of a line that is no entry.
	unreadable = "no entry of a trace"
)

// Index is a trace in memory, without what its frames carry: where each entry
// went, and the requests that it is part of, as far as they have come. It takes
// about 200 bytes an entry. It is for one goroutine.
type Index struct {
	rows  []row // of the entries 1, 2, …
	more  map[int64][]*Request
	flow  *Joiner
	words words
	sum   int64 // of what requests and words take, in bytes
	ended bool
}

// row is a [Record] less what takes room. Texts are numbers of words.
type row struct {
	t, ref, cause int64
	bytes, conn   int
	request       *Request // the first that it is part of; nil: of none

	hop, kind, action, tx, cell, note, label word
}

// NewIndex returns the index of no entries yet.
func NewIndex() *Index {
	return &Index{more: map[int64][]*Request{}, flow: NewJoiner(nil), words: newWords()}
}

// AddLine takes in the next line of a trace behind its header. A line that cannot be
// read is an entry that says so. Of line nothing is kept.
func (x *Index) AddLine(line []byte) {
	seq := x.EntryCount() + 1
	r, err := parseOutline(line)
	label := ""
	if err != nil {
		r, label = trace.Record{BodyBytes: len(line)}, unreadable
	} else if shown := action(r); shown != r.Action {
		label = clean(shown, shownName)
	}
	r.Seq = seq
	for _, text := range []*string{&r.Type, &r.Action, &r.TxID, &r.CellID} {
		*text = bounded(*text)
	}
	w := &x.words
	next := row{
		t: r.ElapsedNS, ref: r.RefSeq, cause: r.CauseSeq, bytes: r.BodyBytes, conn: r.ConsoleID, label: w.of(label),
		hop: w.of(bounded(string(r.Hop))), note: w.of(bounded(string(r.Note))),
		kind: w.of(r.Type), action: w.of(r.Action), tx: w.of(r.TxID), cell: w.of(r.CellID),
	}
	for i, q := range x.flow.Add(r) {
		if q.Asked.Seq == seq {
			x.sum += requestCost
		}
		if i == 0 {
			next.request = q
		} else {
			x.more[seq] = append(x.more[seq], q)
		}
	}
	x.rows = append(x.rows, next)
}

// End says that the trace has ended: what is unanswered stays so. Nothing may be
// added after it.
func (x *Index) End() {
	if !x.ended {
		x.ended = true
		x.flow.End()
	}
}

// IsEnded tells whether End has been called.
func (x *Index) IsEnded() bool { return x.ended }

// EntryCount is the number of entries, and so the seq of the newest; 0: there is none.
func (x *Index) EntryCount() int64 { return int64(len(x.rows)) }

// MemoryBytes is what the index takes in memory, in bytes, about.
func (x *Index) MemoryBytes() int64 {
	return int64(cap(x.rows))*rowCost + x.sum + x.words.bytes
}

// FrameAt is the entry seq, from 1 to Len, less its line and its time of day. The
// requests go on changing with the next Add.
func (x *Index) FrameAt(seq int64) Frame {
	r, w := &x.rows[seq-1], &x.words
	frame := Frame{Record: trace.Record{
		Seq: seq, ElapsedNS: r.t, Hop: trace.Hop(w.text(r.hop)), ConsoleID: r.conn, Type: w.text(r.kind), Action: w.text(r.action),
		TxID: w.text(r.tx), CellID: w.text(r.cell), BodyBytes: r.bytes, Note: trace.Note(w.text(r.note)), RefSeq: r.ref, CauseSeq: r.cause,
	}}
	if r.request != nil {
		frame.Requests = append([]*Request{r.request}, x.more[seq]...)
	}
	return frame
}

// LabelAt is what the entry seq is about, where its action does not say: the type
// of an agent's event, the state of the session. Empty: nothing.
func (x *Index) LabelAt(seq int64) string { return x.words.text(x.rows[seq-1].label) }

// ElapsedAt is when the entry seq came, since the trace began.
func (x *Index) ElapsedAt(seq int64) time.Duration { return time.Duration(x.rows[seq-1].t) }

// bounded is a text, or its beginning and ….
func bounded(text string) string {
	if len(text) <= indexText {
		return text
	}
	end := indexText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// words keeps each text once. Word 0 is the empty one.
type words struct {
	numbers map[string]word
	texts   []string
	bytes   int64 // that they take
}

type word uint32

func newWords() words {
	return words{numbers: map[string]word{"": 0}, texts: []string{""}}
}

func (w *words) of(text string) word {
	n, known := w.numbers[text]
	if !known {
		n = word(len(w.texts)) //nolint:gosec // an index has fewer than 2^32 words: memory would not hold them
		w.numbers[text] = n
		w.texts = append(w.texts, text)
		w.bytes += wordCost + int64(len(text))
	}
	return n
}

func (w *words) text(n word) string { return w.texts[n] }
