package router

import (
	"strings"
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// lastSummary is the newest globals summary that the kernel has given.
type lastSummary struct {
	body []byte // without ids; nil: none yet
	at   time.Time
	seq  int64 // its entry in the trace
}

// isGlobals tells whether an action, or a console's request, is for it.
func isGlobals(action string) bool {
	return strings.HasSuffix(action, protocol.TypeGlobalsSummary)
}

// keepSummary remembers a summary, one that has come too late included.
func (r *Router) keepSummary(it item) {
	if it.env.Status == protocol.StatusError {
		return
	}
	body, err := protocol.ReplaceFields(it.body, protocol.Field{Name: "agent_tx_id"}, protocol.Field{Name: "tx_id"})
	if err != nil {
		return // the reader has checked it: it is an object
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.summary = lastSummary{body: body, at: time.Now(), seq: it.ref}
}

// giveStale answers a summary from memory, because the kernel is too busy to
// give a fresh one: C code that keeps the interpreter's lock, for example.
func (r *Router) giveStale(ask *pending) {
	r.mu.Lock()
	last := r.summary
	r.mu.Unlock()
	if last.body == nil || !r.table.remove(ask, trace.NoteLate) {
		return
	}
	body, err := protocol.ReplaceFields(last.body,
		protocol.Field{Name: "stale", Value: true},
		protocol.Field{Name: "age_ms", Value: time.Since(last.at).Milliseconds()})
	if err != nil {
		ask.reply(answer{failed: err.Error()})
		return
	}
	stale := frame(body)
	stale.ref = last.seq // it will be rewritten for the asker, out of that entry
	ask.reply(answer{it: stale})
}
