package flow

import "time"

// RequestKind says what a [Request] is.
type RequestKind string

// The kinds.
const (
	KindAction         RequestKind = "action" // the agent's, answered by agent_action_response
	KindConsoleRequest RequestKind = "ask"    // a console's to the kernel
	KindServerRequest  RequestKind = "probe"  // the server's own, to the kernel or to the console that holds the notebook
	KindRun            RequestKind = "run"    // of a cell: it waits, it runs
	KindQuery          RequestKind = "query"  // to the agent, up to the agent's next frame
)

// RequestState is how far a [Request] has come. What is unanswered when the trace ends
// stays so.
type RequestState string

// The states.
const (
	StateUnanswered RequestState = "unanswered"
	StateAnswered   RequestState = "answered"
	StateTimedOut   RequestState = "timed_out" // the server's error, because a deadline has passed
	StateFailed     RequestState = "failed"    // the server's error, because who was asked is gone or takes nothing
)

// Who was asked.
const (
	hopServer   = "server"   // itself: it refuses, or knows the answer
	hopNotebook = "notebook" // its own document
	hopKernel   = "kernel"
	hopConsole  = "console" // the one that holds the notebook
	hopAgent    = "agent"
)

// Where a run is.
const (
	hopQueue = "queue"
	hopRun   = "run"
)

// EntryTime is one of the entries that make a request. The zero value is none.
type EntryTime struct {
	Seq     int64
	Elapsed time.Duration // since the trace began
}

// IsSet tells whether there is such an entry.
func (m EntryTime) IsSet() bool { return m.Seq != 0 }

// Request is what was asked, on its way:
//
//	Asked ──server──▶ Sent ──Whom──▶ Replied ──server──▶ Answered
//
// Between the server and its own document nothing is traced, and what the
// server answers at once is neither sent nor replied to. Of a Run, Replied is
// its start and Answered its end; what lies before is the queue. A Probe, and a
// Query of the server, begin with Sent, and the answer to them is the reply.
type Request struct {
	Kind       RequestKind
	State      RequestState
	Action     string // in the asker's words, or the type of the message
	TxID       string // the asker's; empty: it gave none
	KernelTxID string // under which the server asked the kernel; empty: it did not
	CellID     string // the cell it is about, as far as it is known
	ConsoleID  int    // the console that asked, from 1; 0: none did
	Answerer   string // notebook, kernel, console, agent, or server for what it answered itself

	Asked, Sent, Replied, Answered EntryTime

	IsStale      bool      // answered with what the kernel had said before
	LateReply    EntryTime // a reply that came when it was too late
	ExtraReplies int       // further ones, dropped as duplicates

	hasEnded  bool // it has ended: only late and further replies can come
	isSettled bool // nothing can come
}

// HopTime is a stretch of a request's way and what it took.
type HopTime struct {
	Hop  string // server, kernel, console, notebook or agent; of a run queue or run
	Took time.Duration
}

// HopTimes is the way so far, in order.
func (r *Request) HopTimes() []HopTime {
	var legs []HopTime
	from, at := r.Asked, 0
	for i, mark := range []EntryTime{r.Sent, r.Replied, r.Answered} {
		if !mark.IsSet() {
			continue
		}
		if mark.Seq != from.Seq {
			legs = append(legs, HopTime{Hop: r.hopName(at, i+1), Took: mark.Elapsed - from.Elapsed})
		}
		from, at = mark, i+1
	}
	return legs
}

// hopName names the way from one of the four marks to a later one.
func (r *Request) hopName(from, to int) string {
	if from == 0 && to > 1 {
		return r.Answerer // it was never sent, as far as the trace tells
	}
	names := [...]string{hopServer, r.Answerer, hopServer}
	if r.Kind == KindRun {
		names = [...]string{hopServer, hopQueue, hopRun}
	}
	return names[from]
}

// TotalTime is how long the asker waited; false: it still does, or nothing tells.
func (r *Request) TotalTime() (time.Duration, bool) {
	end := r.endedAt()
	return end.Elapsed - r.Asked.Elapsed, end.IsSet()
}

// endedAt is the entry that ended it. Of a Probe that was given up, whose asker
// is no peer, that is the reply which came too late.
func (r *Request) endedAt() EntryTime {
	if !r.Answered.IsSet() && r.State == StateTimedOut {
		return r.LateReply
	}
	return r.Answered
}

// SlowestHop names the hop that took longest, or the one at which an answer was
// waited for in vain.
func (r *Request) SlowestHop() string {
	switch r.State {
	case StateTimedOut, StateFailed:
		return r.Answerer
	case StateUnanswered:
		return r.waitingHop()
	default:
	}
	slowest := HopTime{Hop: hopServer}
	for _, leg := range r.HopTimes() {
		if leg.Took > slowest.Took {
			slowest = leg
		}
	}
	return slowest.Hop
}

func (r *Request) waitingHop() string {
	switch {
	case r.Replied.IsSet():
		return r.hopName(2, 3)
	case r.Sent.IsSet():
		return r.hopName(1, 2)
	default:
		return r.hopName(0, 3)
	}
}

// Lateness is how long after the deadline, or after an answer that was given
// without it, the reply came; false: none came late. Of a Probe it counts from
// its beginning.
func (r *Request) Lateness() (time.Duration, bool) {
	since := r.Answered
	if !since.IsSet() {
		since = r.Asked
	}
	return r.LateReply.Elapsed - since.Elapsed, r.LateReply.IsSet()
}

// HasUnexpectedReply tells whether a reply was late or came twice.
func (r *Request) HasUnexpectedReply() bool { return r.LateReply.IsSet() || r.ExtraReplies > 0 }
