package flow

import "time"

// RequestKind says which peer asks and which answers a [Request], for example the agent asks
// the document, or a console asks the kernel.
type RequestKind string

// The kinds. The values are those of JSON and of docs/trace.md.
const (
	KindAction         RequestKind = "action" // an action of the agent, answered by agent_action_response
	KindConsoleRequest RequestKind = "ask"    // a console's request to the kernel
	KindServerRequest  RequestKind = "probe"  // the server's own request to the kernel or to the console that holds the document
	KindRun            RequestKind = "run"    // a run of a cell, from the run_cell to its cell_result
	KindModelCall      RequestKind = "model"  // a call of the agent's model, up to its reply
	KindQuery          RequestKind = "query"  // a query to the agent, up to the agent's next frame
)

// RequestState says how a [Request] has ended, or that it is unanswered.
type RequestState string

// The states. A request that is unanswered when the trace ends stays so.
const (
	StateUnanswered RequestState = "unanswered"
	StateAnswered   RequestState = "answered"
	StateTimedOut   RequestState = "timed_out" // the server has answered with an error, as the deadline has passed
	StateFailed     RequestState = "failed"    // the answerer is gone, or its queue was full; the server may have answered with an error
)

// Hops of a request: who has it. These are the values of Answerer too.
const (
	hopServer   = "server"   // the server itself, between two others, or as it refuses the request
	hopNotebook = "notebook" // the server's own document
	hopKernel   = "kernel"
	hopConsole  = "console" // the console that holds the document
	hopAgent    = "agent"

	hopQueue = "queue" // of a run: it waits for the kernel
	hopRun   = "run"   // of a run: it runs

	hopWait  = "wait"  // of a call of a model: it waits until others have ended
	hopModel = "model" // the model, of a call up to the first byte of its reply
	hopReply = "reply" // of a call of a model: the rest of its reply
)

// EntryTime is the number and the time of one trace entry that belongs to a request. The zero
// value means that there is no such entry.
type EntryTime struct {
	Seq     int64
	Elapsed time.Duration // since the trace began
}

// IsSet reports whether the entry exists.
func (t EntryTime) IsSet() bool { return t.Seq != 0 }

// Request is a request found in a trace, and what has become of it so far:
//
//	Asked ──server──▶ Sent ──Answerer──▶ Replied ──server──▶ Answered
//
// Sent and Replied are not set for a request that the server's own document answers, because
// frames between it and the server are not in the trace, nor for one that the server answers
// itself. For a run of a cell, Replied is its start and Answered its end; between Sent and
// Replied it waits in the queue. A request or query of the server itself begins with Sent and
// ends with the reply. A call of a model has Sent only if it had to wait until others had ended,
// and no Replied.
type Request struct {
	Kind       RequestKind
	State      RequestState
	Action     string // the name of the action, the type of the message, or the model that is called
	TxID       string // the asker's id for it; empty: it gave none
	KernelTxID string // the id under which the server asked the kernel; empty: it did not
	CellID     string // the cell that it is about; empty: unknown
	ConsoleID  int    // the number of the console that asked; 0: none did
	Answerer   string // notebook, kernel, console, agent, model, or server for what it answers itself

	Asked, Sent, Replied, Answered EntryTime

	Call *ModelCall // of a call of a model; nil for other kinds

	IsStale      bool      // answered with what the kernel had replied before
	LateReply    EntryTime // a reply after the request had ended
	ExtraReplies int       // further replies, which were dropped as duplicates

	hasEnded  bool // only late and extra replies can come
	isSettled bool // no reply can come
}

// HopTime is how long a request was at one hop, for example at the kernel.
type HopTime struct {
	Hop  string // server, kernel, console, notebook or agent; of a run also queue or run; of a call of a model wait, model or reply
	Took time.Duration
}

// HopTimes returns how long the request was at each hop so far, in order.
func (r *Request) HopTimes() []HopTime {
	if r.Kind == KindModelCall {
		return r.modelHopTimes()
	}
	var times []HopTime
	from, fromIndex := r.Asked, 0
	for i, to := range []EntryTime{r.Sent, r.Replied, r.Answered} {
		if !to.IsSet() {
			continue
		}
		if to.Seq != from.Seq {
			times = append(times, HopTime{Hop: r.hopName(fromIndex, i+1), Took: to.Elapsed - from.Elapsed})
		}
		from, fromIndex = to, i+1
	}
	return times
}

// hopName returns the name of the hop between two stages of the request; the stages Asked,
// Sent, Replied and Answered are counted from 0.
func (r *Request) hopName(from, to int) string {
	if from == 0 && to > 1 {
		return r.Answerer // it was not sent, or the trace does not say so
	}
	names := [...]string{hopServer, r.Answerer, hopServer}
	if r.Kind == KindRun {
		names = [...]string{hopServer, hopQueue, hopRun}
	}
	return names[from]
}

// TotalTime returns how long the asker waited for the answer; false if it still waits, or if no
// entry says when it stopped.
func (r *Request) TotalTime() (time.Duration, bool) {
	end := r.endEntry()
	return end.Elapsed - r.Asked.Elapsed, end.IsSet()
}

// endEntry returns number and time of the entry that ended the request. For a request of the
// server itself that has timed out it is the late reply, because no other entry shows the end.
func (r *Request) endEntry() EntryTime {
	if !r.Answered.IsSet() && r.State == StateTimedOut {
		return r.LateReply
	}
	return r.Answered
}

// SlowestHop returns the name of the hop at which the request was longest or, if it was not
// answered, of the hop at which it waits or has waited in vain.
func (r *Request) SlowestHop() string {
	switch r.State {
	case StateTimedOut, StateFailed:
		return r.Answerer
	case StateUnanswered:
		return r.waitingHop()
	default:
	}
	slowest := HopTime{Hop: hopServer}
	for _, hop := range r.HopTimes() {
		if hop.Took > slowest.Took {
			slowest = hop
		}
	}
	return slowest.Hop
}

// waitingHop returns the name of the hop at which an unanswered request is waiting.
func (r *Request) waitingHop() string {
	switch {
	case r.Kind == KindModelCall && r.Call.IsWaiting:
		return hopWait
	case r.Kind == KindModelCall:
		return hopModel
	case r.Replied.IsSet():
		return r.hopName(2, 3)
	case r.Sent.IsSet():
		return r.hopName(1, 2)
	default:
		return r.hopName(0, 3)
	}
}

// Lateness returns how long after the answer, such as the error of a timeout, the late reply
// came. A request of the server itself has no such answer: for it the time counts from when it
// was asked. It returns false if there is no late reply.
func (r *Request) Lateness() (time.Duration, bool) {
	since := r.Answered
	if !since.IsSet() {
		since = r.Asked
	}
	return r.LateReply.Elapsed - since.Elapsed, r.LateReply.IsSet()
}

// HasUnexpectedReply reports whether a reply to the request came late or more than once.
func (r *Request) HasUnexpectedReply() bool { return r.LateReply.IsSet() || r.ExtraReplies > 0 }
