package gateway

import (
	"encoding/json"
	"time"

	"assay/internal/model"
	"assay/internal/model/wire"
)

// EventKind says what happened to a call.
type EventKind string

// The kinds of events, in the order in which a call can have them.
const (
	CallBegan    EventKind = "began"    // the request was read
	WaitBegan    EventKind = "waiting"  // the call has to wait until others end
	WaitEnded    EventKind = "admitted" // it waits no longer
	SilenceBegan EventKind = "silent"   // nothing has come for Agent.SilenceDelay
	SilenceEnded EventKind = "resumed"  // something has come
	CallEnded    EventKind = "ended"

	CallRejected EventKind = "rejected" // a request was no call: Request has only the path, Reply status and error
)

// Event is something that happened to a call.
type Event struct {
	Kind    EventKind
	Call    int64    // number of the call, from 1; 0 for CallRejected
	Request *Request // of CallBegan and CallRejected
	Reply   *Reply   // of CallEnded and CallRejected

	Silent time.Duration // of SilenceBegan and SilenceEnded: for how long nothing has come
}

// Request is what an agent asked for.
type Request struct {
	API   wire.API
	Path  string // with its query
	Model string // which the agent named
	Body  json.RawMessage
}

// Reply is how a call ended.
type Reply struct {
	Status int // of HTTP that the agent got; 0: it had gone

	// Model is the vendor's model that was called; empty if none was.
	Model string

	// Response is what came of the reply; nil if nothing did. IsComplete is false if it broke off.
	Response   *model.Response
	IsComplete bool

	IsLeft bool // the agent has not read the reply to its end: it counts, with an estimate of its usage if need be

	// IsCached says that the cache has replied. Then the cost is 0, and the tokens are those of the call that was cached.
	IsCached bool

	// CostUSD is the cost in US dollars; nil if the price is not known.
	CostUSD *float64

	// Error says in one line why there was no complete reply; empty if there was one. Limit is the
	// limit that the agent had reached; empty if none.
	Error string
	Limit string

	APIError *model.APIError // the error that the API sent, also inside a streamed reply; nil: none

	// IsRefusedByVendor says that the vendor has refused the call for now or could not be reached, so that calling
	// again may help; RetryAfter is how long it asks to wait, 0 if it does not say.
	IsRefusedByVendor bool
	RetryAfter        time.Duration

	FirstByte time.Duration // from the admission to the first byte of the reply; 0: none came
}
