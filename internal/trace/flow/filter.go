package flow

import (
	"strings"
	"time"

	"assay/internal/trace"
)

// Filter selects frames. All conditions that are set must hold; the zero value selects
// every frame. A frame is also selected for the requests that it is part of, so that
// the frames of a request are selected together.
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

// Match reports whether f selects a frame.
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

// matchesRecord reports whether f selects a record as a part of q; the zero request
// stands for none.
func (f Filter) matchesRecord(r trace.Record, q *Request) bool {
	return (f.TxID == "" || matchesID(f.TxID, r.TxID, q.TxID, q.KernelTxID)) &&
		(f.Action == "" || f.Action == r.Action || f.Action == q.Action) &&
		(f.CellID == "" || matchesID(f.CellID, r.CellID, q.CellID)) &&
		(f.MinDelay <= 0 || f.matchesMinDelay(r, q))
}

// matchesID reports whether one of ids is wanted or, if wanted ends in …, begins with
// it.
func matchesID(wanted string, ids ...string) bool {
	prefix, cut := strings.CutSuffix(wanted, ellipsis)
	for _, id := range ids {
		if id == wanted || cut && strings.HasPrefix(id, prefix) {
			return true
		}
	}
	return false
}

// matchesMinDelay reports whether MinDelay selects a record as a part of q.
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
