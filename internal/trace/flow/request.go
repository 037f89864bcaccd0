package flow

import "time"

// Kind says what a [Request] is.
type Kind string

// The kinds.
const (
	Action Kind = "action" // the agent's, answered by agent_action_response
	Ask    Kind = "ask"    // a console's to the kernel
	Probe  Kind = "probe"  // the server's own, to the kernel or to the console that holds the notebook
	Run    Kind = "run"    // of a cell: it waits, it runs
	Query  Kind = "query"  // to the agent, up to the agent's next frame
)

// State is how far a [Request] has come. What is unanswered when the trace ends
// stays so.
type State string

// The states.
const (
	Unanswered State = "unanswered"
	Answered   State = "answered"
	Expired    State = "timed_out" // the server's error, because a deadline has passed
	Failed     State = "failed"    // the server's error, because who was asked is gone or takes nothing
)

// Who was asked.
const (
	atServer   = "server"   // itself: it refuses, or knows the answer
	atNotebook = "notebook" // its own document
	atKernel   = "kernel"
	atConsole  = "console" // the one that holds the notebook
	atAgent    = "agent"
)

// Where a run is.
const (
	inQueue = "queue"
	inRun   = "run"
)

// Mark is one of the entries that make a request. The zero value is none.
type Mark struct {
	Seq int64
	T   time.Duration // since the trace began
}

// Set tells whether there is such an entry.
func (m Mark) Set() bool { return m.Seq != 0 }

// Request is what was asked, on its way:
//
//	Asked ──server──▶ Sent ──Whom──▶ Replied ──server──▶ Answered
//
// Between the server and its own document nothing is traced, and what the
// server answers at once is neither sent nor replied to. Of a Run, Replied is
// its start and Answered its end; what lies before is the queue. A Probe, and a
// Query of the server, begin with Sent, and the answer to them is the reply.
type Request struct {
	Kind     Kind
	State    State
	Action   string // in the asker's words, or the type of the message
	TxID     string // the asker's; empty: it gave none
	KernelTx string // under which the server asked the kernel; empty: it did not
	CellID   string // the cell it is about, as far as it is known
	Conn     int    // the console that asked, from 1; 0: none did
	Whom     string // notebook, kernel, console, agent, or server for what it answered itself

	Asked, Sent, Replied, Answered Mark

	Stale   bool // answered with what the kernel had said before
	Late    Mark // a reply that came when it was too late
	Replies int  // further ones, dropped as duplicates

	over    bool // it has ended: only late and further replies can come
	settled bool // nothing can come
}

// Leg is a stretch of a request's way and what it took.
type Leg struct {
	Hop  string // server, kernel, console, notebook or agent; of a run queue or run
	Took time.Duration
}

// Legs is the way so far, in order.
func (r *Request) Legs() []Leg {
	var legs []Leg
	from, at := r.Asked, 0
	for i, mark := range []Mark{r.Sent, r.Replied, r.Answered} {
		if !mark.Set() {
			continue
		}
		if mark.Seq != from.Seq {
			legs = append(legs, Leg{Hop: r.hop(at, i+1), Took: mark.T - from.T})
		}
		from, at = mark, i+1
	}
	return legs
}

// hop names the way from one of the four marks to a later one.
func (r *Request) hop(from, to int) string {
	if from == 0 && to > 1 {
		return r.Whom // it was never sent, as far as the trace tells
	}
	names := [...]string{atServer, r.Whom, atServer}
	if r.Kind == Run {
		names = [...]string{atServer, inQueue, inRun}
	}
	return names[from]
}

// Total is how long the asker waited; false: it still does, or nothing tells.
func (r *Request) Total() (time.Duration, bool) {
	end := r.endedAt()
	return end.T - r.Asked.T, end.Set()
}

// endedAt is the entry that ended it. Of a Probe that was given up, whose asker
// is no peer, that is the reply which came too late.
func (r *Request) endedAt() Mark {
	if !r.Answered.Set() && r.State == Expired {
		return r.Late
	}
	return r.Answered
}

// Slowest names the hop that took longest, or the one at which an answer was
// waited for in vain.
func (r *Request) Slowest() string {
	switch r.State {
	case Expired, Failed:
		return r.Whom
	case Unanswered:
		return r.waitsAt()
	default:
	}
	slowest := Leg{Hop: atServer}
	for _, leg := range r.Legs() {
		if leg.Took > slowest.Took {
			slowest = leg
		}
	}
	return slowest.Hop
}

func (r *Request) waitsAt() string {
	switch {
	case r.Replied.Set():
		return r.hop(2, 3)
	case r.Sent.Set():
		return r.hop(1, 2)
	default:
		return r.hop(0, 3)
	}
}

// Lateness is how long after the deadline, or after an answer that was given
// without it, the reply came; false: none came late. Of a Probe it counts from
// its beginning.
func (r *Request) Lateness() (time.Duration, bool) {
	since := r.Answered
	if !since.Set() {
		since = r.Asked
	}
	return r.Late.T - since.T, r.Late.Set()
}

// Odd tells whether a reply was late or came twice.
func (r *Request) Odd() bool { return r.Late.Set() || r.Replies > 0 }
