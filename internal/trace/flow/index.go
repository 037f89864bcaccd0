package flow

import (
	"time"
	"unicode/utf8"

	"assay/internal/trace"
)

const (
	// maxIndexTextBytes is how much an Index keeps of a name or an id, in bytes; what
	// was cut ends in …, which a [Filter] understands.
	maxIndexTextBytes = 256

	// rowMemoryBytes, requestMemoryBytes and textMemoryBytes are what an entry, a request and a text
	// take in memory, in bytes, the maps that find them included.
	rowMemoryBytes     = 96
	requestMemoryBytes = 400
	textMemoryBytes    = 96

	// unreadableLabel is the label of a line that is no entry.
	unreadableLabel = "no entry of a trace"
)

// Index is a trace in memory, without what its frames carry: where each entry
// went, and the requests that it is part of, as far as they have come. It takes
// about 200 bytes an entry. It is for one goroutine.
type Index struct {
	rows            []indexRow // of the entries 1, 2, …
	furtherRequests map[int64][]*Request
	joiner          *Joiner
	texts           textTable
	requestBytes    int64 // of what requests and words take, in bytes
	finished        bool
}

// indexRow is a [Record] less what takes room. Texts are numbers of words.
type indexRow struct {
	elapsedNS, refSeq, causeSeq int64
	bodyBytes, consoleID        int
	firstRequest                *Request // the first that it is part of; nil: of none

	hop, messageType, action, txID, cellID, note, label textID
}

// NewIndex returns the index of no entries yet.
func NewIndex() *Index {
	return &Index{furtherRequests: map[int64][]*Request{}, joiner: NewJoiner(nil), texts: newTextTable()}
}

// AddLine takes in the next line of a trace behind its header. A line that cannot be
// read is an entry that says so. Of line nothing is kept.
func (x *Index) AddLine(line []byte) {
	seq := x.EntryCount() + 1
	r, err := parseOutline(line)
	label := ""
	if err != nil {
		r, label = trace.Record{BodyBytes: len(line)}, unreadableLabel
	} else if shown := shownAction(r); shown != r.Action {
		label = printable(shown, maxShownNameRunes)
	}
	r.Seq = seq
	for _, text := range []*string{&r.Type, &r.Action, &r.TxID, &r.CellID} {
		*text = truncateIndexText(*text)
	}
	w := &x.texts
	next := indexRow{
		elapsedNS: r.ElapsedNS, refSeq: r.RefSeq, causeSeq: r.CauseSeq, bodyBytes: r.BodyBytes, consoleID: r.ConsoleID, label: w.intern(label),
		hop: w.intern(truncateIndexText(string(r.Hop))), note: w.intern(truncateIndexText(string(r.Note))),
		messageType: w.intern(r.Type), action: w.intern(r.Action), txID: w.intern(r.TxID), cellID: w.intern(r.CellID),
	}
	for i, q := range x.joiner.Add(r) {
		if q.Asked.Seq == seq {
			x.requestBytes += requestMemoryBytes
		}
		if i == 0 {
			next.firstRequest = q
		} else {
			x.furtherRequests[seq] = append(x.furtherRequests[seq], q)
		}
	}
	x.rows = append(x.rows, next)
}

// Finish says that the trace has ended: what is unanswered stays so. Nothing may be
// added after it.
func (x *Index) Finish() {
	if !x.finished {
		x.finished = true
		x.joiner.Finish()
	}
}

// IsFinished tells whether End has been called.
func (x *Index) IsFinished() bool { return x.finished }

// EntryCount is the number of entries, and so the seq of the newest; 0: there is none.
func (x *Index) EntryCount() int64 { return int64(len(x.rows)) }

// MemoryBytes is what the index takes in memory, in bytes, about.
func (x *Index) MemoryBytes() int64 {
	return int64(cap(x.rows))*rowMemoryBytes + x.requestBytes + x.texts.memoryBytes
}

// FrameAt is the entry seq, from 1 to Len, less its line and its time of day. The
// requests go on changing with the next Add.
func (x *Index) FrameAt(seq int64) Frame {
	r, w := &x.rows[seq-1], &x.texts
	frame := Frame{Record: trace.Record{
		Seq: seq, ElapsedNS: r.elapsedNS, Hop: trace.Hop(w.text(r.hop)), ConsoleID: r.consoleID, Type: w.text(r.messageType), Action: w.text(r.action),
		TxID: w.text(r.txID), CellID: w.text(r.cellID), BodyBytes: r.bodyBytes, Note: trace.Note(w.text(r.note)), RefSeq: r.refSeq, CauseSeq: r.causeSeq,
	}}
	if r.firstRequest != nil {
		frame.Requests = append([]*Request{r.firstRequest}, x.furtherRequests[seq]...)
	}
	return frame
}

// LabelAt is what the entry seq is about, where its action does not say: the type
// of an agent's event, the state of the session. Empty: nothing.
func (x *Index) LabelAt(seq int64) string { return x.texts.text(x.rows[seq-1].label) }

// ElapsedAt is when the entry seq came, since the trace began.
func (x *Index) ElapsedAt(seq int64) time.Duration { return time.Duration(x.rows[seq-1].elapsedNS) }

// truncateIndexText is a text, or its beginning and ….
func truncateIndexText(text string) string {
	if len(text) <= maxIndexTextBytes {
		return text
	}
	end := maxIndexTextBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}

// textTable keeps each text once. Word 0 is the empty one.
type textTable struct {
	ids         map[string]textID
	texts       []string
	memoryBytes int64 // that they take
}

type textID uint32

func newTextTable() textTable {
	return textTable{ids: map[string]textID{"": 0}, texts: []string{""}}
}

func (w *textTable) intern(text string) textID {
	n, known := w.ids[text]
	if !known {
		n = textID(len(w.texts)) //nolint:gosec // an index has fewer than 2^32 words: memory would not hold them
		w.ids[text] = n
		w.texts = append(w.texts, text)
		w.memoryBytes += textMemoryBytes + int64(len(text))
	}
	return n
}

func (w *textTable) text(n textID) string { return w.texts[n] }
