package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"assay/eval/session"
	"assay/internal/trace"
	"assay/internal/trace/flow"
)

const (
	// mostHistories is how many traces are kept in memory, and historyBytes how
	// much of it they take together, about: those that were asked about last, one
	// of any size.
	mostHistories = 8
	historyBytes  = 512 << 20

	// historyEntries is how long a trace may be, in entries.
	historyEntries = 2_000_000
)

// errTooLong says that a trace is not kept in memory.
var errTooLong = errors.New("the trace is too long for this")

// histories are the traces that were asked about last. The zero value is ready.
// It is safe for concurrent use.
type histories struct {
	mu     sync.Mutex
	recent []*history // the one that was asked about last first
}

// of is the history of the trace with this identity, which may have been read
// already.
func (h *histories) of(key any) *history {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.recent, func(known *history) bool { return known.key == key })
	if i < 0 {
		h.recent = slices.Insert(h.recent, 0, newHistory(key))
	} else if i > 0 {
		known := h.recent[i]
		h.recent = slices.Insert(slices.Delete(h.recent, i, i+1), 0, known)
	}
	h.forget()
	return h.recent[0]
}

// forget lets go of what was not asked about for longest, when there is too much.
// The lock is held.
func (h *histories) forget() {
	size := int64(0)
	for i, known := range h.recent {
		size += known.size.Load()
		if i > 0 && (i >= mostHistories || size > historyBytes) {
			clear(h.recent[i:])
			h.recent = h.recent[:i]
			return
		}
	}
}

// history is what has been read of a trace: where each entry went, and what the
// notebook was. It reads on as the trace grows. It is safe for concurrent use by
// read, which those who come at once do one after the other: the first reads for
// all.
type history struct {
	key     any
	reading chan struct{} // holds one while somebody reads
	size    atomic.Int64  // in memory, in bytes, about

	index    *flow.Index
	past     *past
	searches []*textSearch // the one that was asked for last first
}

func newHistory(key any) *history {
	return &history{key: key, reading: make(chan struct{}, 1), index: flow.NewIndex(), past: newPast()}
}

// read reads on to the end of what is there, and calls f while nobody else reads.
func (h *history) read(ctx context.Context, file traceFile, f func() error) error {
	select {
	case h.reading <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.reading }()
	defer func() { h.size.Store(h.index.Size() + h.past.bytes + int64(len(h.searches))*h.index.Len()) }()
	if err := h.readOn(ctx, file); err != nil {
		return err
	}
	return f()
}

func (h *history) readOn(ctx context.Context, file traceFile) error {
	if h.index.Ended() {
		return nil
	}
	for line, err := range file.LinesFrom(ctx, h.index.Len()+1) {
		if err != nil {
			return err
		}
		if h.index.Len() >= historyEntries {
			return fmt.Errorf("%w: it has more than %d entries", errTooLong, historyEntries)
		}
		h.index.Add(line.Text)
	}
	if file.complete {
		h.index.End()
	}
	return nil
}

// at is the notebook after the entry seq, one of those that were read. It is for
// f of read.
func (h *history) at(ctx context.Context, file traceFile, seq int64) (*session.NotebookFold, error) {
	from, fold := h.past.before(seq)
	if from == seq {
		return fold, nil
	}
	for line, err := range file.LinesFrom(ctx, from+1) {
		if err != nil {
			return nil, err
		}
		if session.CanChangeNotebook(h.index.Frame(line.Number).Record) {
			if r, err := trace.ParseRecord(line.Text); err == nil { // what cannot be read is passed over
				r.Seq = line.Number
				fold.Add(r)
			}
		}
		h.past.note(line.Number, len(line.Text), fold)
		if line.Number == seq {
			break
		}
	}
	return fold, nil
}
