package flow

import (
	"strings"
	"time"

	"assay/internal/trace"
)

// Filter selects frames of a trace. All conditions that are set must hold; the zero value
// selects every frame. A frame is also selected if one of its requests meets the conditions, so
// that the frames of a request are selected together.
type Filter struct {
	// TxID and CellID are compared with the ids of the frame and of its requests, to
	// which the server's own ids belong. An id that ends in … selects those that begin
	// with it. Empty: any.
	TxID, CellID string

	Action string    // of the frame or its request; empty: any
	Hop    trace.Hop // of the frame itself; empty: any

	// MinDelay selects requests that took at least so long or were never answered,
	// and replies that came late, twice, or to no request. 0: any.
	MinDelay time.Duration
}

// Match reports whether the filter selects a frame, by the frame itself or by one of its
// requests.
func (f Filter) Match(frame Frame) bool {
	if f.Hop != "" && frame.Record.Hop != f.Hop {
		return false
	}
	if len(frame.Requests) == 0 {
		return f.matchesRecord(frame.Record, &Request{})
	}
	for _, q := range frame.Requests {
		if f.matchesRecord(frame.Record, q) {
			return true
		}
	}
	return false
}

// matchesRecord reports whether the filter selects the record r as part of the request q; if r
// is part of none, q is the zero request.
func (f Filter) matchesRecord(r trace.Record, q *Request) bool {
	return (f.TxID == "" || matchesID(f.TxID, r.TxID, q.TxID, q.KernelTxID)) &&
		(f.Action == "" || f.Action == r.Action || f.Action == q.Action) &&
		(f.CellID == "" || matchesID(f.CellID, r.CellID, q.CellID)) &&
		(f.MinDelay <= 0 || f.matchesMinDelay(r, q))
}

// matchesID reports whether one of ids equals wanted or, if wanted ends in …, begins with the
// text before that.
func matchesID(wanted string, ids ...string) bool {
	prefix, cut := strings.CutSuffix(wanted, ellipsis)
	for _, id := range ids {
		if id == wanted || cut && strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

// matchesMinDelay reports whether the condition MinDelay selects the record r as part of the
// request q: the request took at least that long or will never be answered, or a reply was
// late, repeated or orphaned.
func (f Filter) matchesMinDelay(r trace.Record, q *Request) bool {
	switch r.Note {
	case trace.NoteLate, trace.NoteDuplicate, trace.NoteOrphaned:
		return true
	default:
	}
	total, ended := q.TotalTime()
	switch {
	case ended && total >= f.MinDelay, q.HasUnexpectedReply():
		return true
	default:
		return !ended && (q.hasEnded || q.isSettled) // it will not be answered
	}
}
