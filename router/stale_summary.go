package router

import (
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// globalsSummary is the newest summary of global variables that the kernel has
// given.
type globalsSummary struct {
	body     []byte // without ids; nil: the kernel has given none
	at       time.Time
	entrySeq int64 // number of its entry in the trace
}

// isGlobalsSummary reports whether an action of the agent, or the type of a
// console's request, asks for the summary of global variables.
func isGlobalsSummary(action string) bool {
	return strings.HasSuffix(action, protocol.TypeGlobalsSummary)
}

// rememberSummary remembers a summary that the kernel has given, in time or late,
// for answerWithStaleSummary.
func (r *Router) rememberSummary(f frame) {
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

// answerWithStaleSummary answers a request for a summary with the last one, marked
// as stale and with its age, because the kernel is too busy to give a fresh one: C
// code that holds the interpreter's lock, for example. Without a last summary the
// request goes on waiting.
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
	stale := frameOfBody(body)
	stale.bodySeq = last.entrySeq // the response made of it names that entry as its cause
	request.reply(answer{frame: stale})
}
