package flow

import (
	"strings"
	"time"

	"assay/internal/trace"
)

// Filter picks frames. Its zero value picks all; of several conditions all must
// hold. A frame is picked for what the requests are that it is part of, too: to
// pick a request is to pick the whole way of it.
type Filter struct {
	TxID   string // id of a request, the asker's or the server's own; one that ends in … is the beginning of it
	Action string
	CellID string    // id of a cell, as Tx
	Hop    trace.Hop // of the frame itself

	// Late picks requests that took at least so long or were never answered,
	// and what came late, twice or to nothing. 0: all.
	MinDelay time.Duration
}

// Match tells whether f picks a frame.
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

// matchesRecord tells whether an entry is picked as part of q; the zero request stands
// for none.
func (f Filter) matchesRecord(r trace.Record, q *Request) bool {
	return (f.TxID == "" || matchesID(f.TxID, r.TxID, q.TxID, q.KernelTxID)) &&
		(f.Action == "" || f.Action == r.Action || f.Action == q.Action) &&
		(f.CellID == "" || matchesID(f.CellID, r.CellID, q.CellID)) &&
		(f.MinDelay <= 0 || f.isLate(r, q))
}

// matchesID tells whether one of the ids is the one that is wanted, or begins with
// it where it was cut.
func matchesID(wanted string, ids ...string) bool {
	begin, cut := strings.CutSuffix(wanted, ellipsis)
	for _, id := range ids {
		if id == wanted || cut && strings.HasPrefix(id, begin) {
			return true
		}
	}
	return false
}

func (f Filter) isLate(r trace.Record, q *Request) bool {
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
		return !ended && (q.hasEnded || q.isSettled) // nobody will answer it
	}
}
