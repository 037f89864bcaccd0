package flow

import (
	"time"
	"unicode/utf8"

	"assay/internal/trace"
)

const (
	// maxIndexTextBytes is how much an Index keeps of a name or an id. A longer one is
	// cut and ends in …, which a [Filter] understands.
	maxIndexTextBytes = 256

	// What an entry, a request and a text take in memory, in bytes, with their places
	// in maps.
	rowMemoryBytes     = 96
	requestMemoryBytes = 400
	textMemoryBytes    = 96

	// unreadableLabel is the label of a line that cannot be parsed.
	unreadableLabel = "no entry of a trace"
)

// Index keeps a whole trace in memory without the bodies of its frames: hop, type and ids of
// each entry, and the requests that it is part of, as they are known so far. It takes about 200
// bytes per entry. Only one goroutine may use it.
type Index struct {
	rows            []indexRow           // of the entries 1, 2, …
	furtherRequests map[int64][]*Request // by entry, for those that are part of several
	joiner          *Joiner
	times           timeDivider
	texts           textTable
	requestBytes    int64 // that the requests take in memory
	modelCalls      int64
	finished        bool
}

// indexRow is what an Index keeps of one [trace.Record].
type indexRow struct {
	elapsedNS, refSeq, causeSeq int64
	bodyBytes, consoleID        int
	firstRequest                *Request // the first that the entry is part of; nil: none

	hop, messageType, action, txID, cellID, note, label textID
}

// NewIndex returns an index of a trace to which no line was added yet.
func NewIndex() *Index {
	return &Index{furtherRequests: map[int64][]*Request{}, joiner: NewJoiner(nil), texts: newTextTable()}
}

// AddLine adds the next line of a trace file to the index; do not add the header. A line that
// cannot be parsed becomes an entry with a label that says so. The index keeps no reference to
// line.
func (x *Index) AddLine(line []byte) {
	seq := x.EntryCount() + 1
	r, err := parseWithoutMessage(line)
	label := ""
	if err != nil {
		r, label = trace.Record{BodyBytes: len(line)}, unreadableLabel
	} else if shown := displayedAction(r); shown != r.Action {
		label = printableText(shown, maxShownNameRunes)
	}
	r.Seq = seq
	for _, text := range []*string{&r.Type, &r.Action, &r.TxID, &r.CellID} {
		*text = truncateIndexText(*text)
	}
	t := &x.texts
	row := indexRow{
		elapsedNS: r.ElapsedNS, refSeq: r.RefSeq, causeSeq: r.CauseSeq, bodyBytes: r.BodyBytes, consoleID: r.ConsoleID,
		hop: t.intern(truncateIndexText(string(r.Hop))), note: t.intern(truncateIndexText(string(r.Note))), label: t.intern(label),
		messageType: t.intern(r.Type), action: t.intern(r.Action), txID: t.intern(r.TxID), cellID: t.intern(r.CellID),
	}
	requests := x.joiner.Add(r)
	x.times.add(r, requests)
	for i, q := range requests {
		if q.Asked.Seq == seq {
			x.requestBytes += requestMemoryBytes
			if q.Kind == KindModelCall {
				x.modelCalls++
			}
		}
		if i == 0 {
			row.firstRequest = q
		} else {
			x.furtherRequests[seq] = append(x.furtherRequests[seq], q)
		}
	}
	x.rows = append(x.rows, row)
}

// Finish tells the index that the trace has ended, so that unanswered requests stay unanswered.
// No line may be added after it. Further calls do nothing.
func (x *Index) Finish() {
	if !x.finished {
		x.finished = true
		x.joiner.Finish()
	}
}

// IsFinished reports whether Finish was called for the index.
func (x *Index) IsFinished() bool { return x.finished }

// EntryCount returns how many entries the index has, which is also the number of the newest.
func (x *Index) EntryCount() int64 { return int64(len(x.rows)) }

// ModelCallCount returns how many calls of the agent's models there are.
func (x *Index) ModelCallCount() int64 { return x.modelCalls }

// Summary returns the statistics of the whole trace so far.
func (x *Index) Summary() Summary {
	var stats StatsCollector
	for seq := int64(1); seq <= x.EntryCount(); seq++ {
		frame := x.FrameAt(seq)
		for _, q := range frame.Requests {
			if q.Asked.Seq == seq {
				frame.DelayRequest = q
			}
		}
		stats.countFrame(frame)
	}
	sum := stats.Summary()
	sum.Time = x.times.result()
	return sum
}

// MemoryBytes returns roughly how many bytes of memory the index takes.
func (x *Index) MemoryBytes() int64 {
	return int64(cap(x.rows))*rowMemoryBytes + x.requestBytes + x.texts.memoryBytes
}

// FrameAt returns the entry with number seq, from 1 to EntryCount. The frame has no line,
// message, time of day or DelayRequest. Its requests may change with the next AddLine.
func (x *Index) FrameAt(seq int64) Frame {
	r, t := &x.rows[seq-1], &x.texts
	frame := Frame{Record: trace.Record{
		Seq: seq, ElapsedNS: r.elapsedNS, Hop: trace.Hop(t.textOf(r.hop)), ConsoleID: r.consoleID, Type: t.textOf(r.messageType), Action: t.textOf(r.action),
		TxID: t.textOf(r.txID), CellID: t.textOf(r.cellID), BodyBytes: r.bodyBytes, Note: trace.Note(t.textOf(r.note)), RefSeq: r.refSeq, CauseSeq: r.causeSeq,
	}}
	if r.firstRequest != nil {
		frame.Requests = append([]*Request{r.firstRequest}, x.furtherRequests[seq]...)
	}
	return frame
}

// LabelAt returns a short text about the entry with number seq whose action field does not say
// what it is: the type of an agent's event, the state of the session, or that the line is
// unreadable. It is empty for other entries.
func (x *Index) LabelAt(seq int64) string { return x.texts.textOf(x.rows[seq-1].label) }

// ElapsedAt returns the time from the beginning of the trace to the entry with number seq.
func (x *Index) ElapsedAt(seq int64) time.Duration { return time.Duration(x.rows[seq-1].elapsedNS) }

// truncateIndexText returns text, cut to maxIndexTextBytes with … at the end if it is longer.
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

// textTable stores each distinct text once and gives it a number. The empty text has the number
// 0.
type textTable struct {
	ids         map[string]textID
	texts       []string // by id
	memoryBytes int64    // that they take
}

// textID is the number that a textTable has given to a text.
type textID uint32

// newTextTable returns a table that has only the empty text.
func newTextTable() textTable {
	return textTable{ids: map[string]textID{"": 0}, texts: []string{""}}
}

// intern returns the number of text, which is added to the table if it is new.
func (t *textTable) intern(text string) textID {
	id, known := t.ids[text]
	if !known {
		id = textID(len(t.texts)) //nolint:gosec // an index has fewer than 2^32 texts: memory would not hold them
		t.ids[text] = id
		t.texts = append(t.texts, text)
		t.memoryBytes += textMemoryBytes + int64(len(text))
	}
	return id
}

// textOf returns the text with this number.
func (t *textTable) textOf(id textID) string { return t.texts[id] }
