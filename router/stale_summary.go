package router

import (
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// globalsSummary is the newest summary of the kernel's global variables that the router has
// seen.
type globalsSummary struct {
	body     []byte // without ids; nil: the kernel has given none
	at       time.Time
	entrySeq int64 // number of its entry in the trace
}

// isGlobalsSummary reports whether action, the name of an agent's action or the type of a
// console's request, asks for the summary of global variables.
func isGlobalsSummary(action string) bool {
	return strings.HasSuffix(action, protocol.TypeGlobalsSummary)
}

// rememberGlobalsSummary keeps a globals summary that the kernel has sent, in time or late, for
// answerWithStaleSummary. It ignores one with the status "error".
func (r *Router) rememberGlobalsSummary(f frame) {
	if f.envelope.Status == protocol.StatusError {
		return
	}
	body, err := protocol.ReplaceFields(f.body, protocol.Field{Name: "agent_tx_id"}, protocol.Field{Name: "tx_id"})
	if err != nil {
		return // does not happen: the reader has checked that it is an object
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastGlobalsSummary = globalsSummary{body: body, at: time.Now(), entrySeq: f.bodySeq}
}

// answerWithStaleSummary replies to a request for a globals summary with the last summary that
// the kernel sent, marked as stale and with its age in ms, because the kernel is too busy to
// make a new one, for example in C code that holds the interpreter's lock. It does nothing if
// there is no earlier summary or the request has ended.
func (r *Router) answerWithStaleSummary(request *pendingRequest) {
	r.mu.Lock()
	last := r.lastGlobalsSummary
	r.mu.Unlock()
	if last.body == nil || !r.inFlight.remove(request, trace.NoteLate) {
		return
	}
	body, err := protocol.ReplaceFields(last.body,
		protocol.Field{Name: "stale", Value: true},
		protocol.Field{Name: "age_ms", Value: time.Since(last.at).Milliseconds()})
	if err != nil {
		request.reply(answer{failure: err.Error()})
		return
	}
	stale := newFrameFromBody(body)
	stale.bodySeq = last.entrySeq // the response made of it names that entry as its cause
	request.reply(answer{frame: stale})
}
