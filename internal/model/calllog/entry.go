package calllog

import (
	"net/http"

	"github.com/tidwall/gjson"

	"assay/internal/model"
)

// Types of the entries in a trace about the calls of an agent's models.
const (
	TypeCall     = "model_call"     // a [Call]
	TypeWait     = "model_wait"     // a [Wait]
	TypeSilence  = "model_silence"  // a [Silence]
	TypeReply    = "model_reply"    // a [Reply]
	TypeRejected = "model_rejected" // a [Rejected]
)

// Call is the JSON of a trace entry about the request of a call.
type Call struct {
	Type  string `json:"type"`  // model_call
	Call  int64  `json:"call"`  // number of the call, from 1
	API   string `json:"api"`   // messages, chat or responses
	Path  string `json:"path"`  // of the URL, with its query
	Model string `json:"model"` // which the agent named
	Stored
}

// ReadCallHead returns the entry about a call without its request and what is left out of that. It takes
// little time also if the request is long. Missing fields are empty.
func ReadCallHead(message []byte) Call {
	fields := gjson.GetManyBytes(message, "call", "api", "path", "model")
	return Call{Type: TypeCall, Call: fields[0].Int(), API: fields[1].String(), Path: fields[2].String(), Model: fields[3].String()}
}

// Wait is the JSON of a trace entry about a call that waits until others have ended.
type Wait struct {
	Type   string `json:"type"` // model_wait
	Call   int64  `json:"call"`
	IsOver bool   `json:"over"` // the call waits no longer
}

// Silence is the JSON of a trace entry about a call of which nothing has come for some time.
type Silence struct {
	Type     string `json:"type"` // model_silence
	Call     int64  `json:"call"`
	SilentMS int64  `json:"silent_ms"` // for how long
	IsOver   bool   `json:"over"`      // something has come again
}

// Reply is the JSON of a trace entry about the end of a call.
type Reply struct {
	Type   string `json:"type"` // model_reply
	Call   int64  `json:"call"`
	Status int    `json:"status"`          // of HTTP; 0: the agent had gone before
	Model  string `json:"model,omitempty"` // that was called

	Response   *model.Response `json:"response,omitempty"` // what came of it
	IsComplete bool            `json:"complete"`
	IsLeft     bool            `json:"left,omitempty"`      // the agent has not read it to its end: it counts, and its usage may be estimated
	IsCached   bool            `json:"cached,omitempty"`    // the cache has replied, which costs nothing
	CostUSD    *float64        `json:"cost_usd"`            // null: the price is not known
	Error      string          `json:"error,omitempty"`     // why there is no complete reply
	APIError   *APIError       `json:"api_error,omitempty"` // the error that the API sent

	// Limit is the limit of the attempt that was reached, so that no call was made.
	Limit string `json:"limit,omitempty"`

	// IsRefusedByVendor says that the API had no capacity or could not be reached, so that calling again may help;
	// RetryAfterMS is how long it asks to wait.
	IsRefusedByVendor bool  `json:"refused,omitempty"`
	RetryAfterMS      int64 `json:"retry_after_ms,omitempty"`

	FirstByteMS float64 `json:"first_byte_ms,omitempty"` // from the start of the call, without waiting for others
}

// Outcome says how a call ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK      Outcome = "ok"      // there was a complete reply
	OutcomeRefused Outcome = "refused" // the model's API had no capacity or could not be reached
	OutcomeLimit   Outcome = "limit"   // the agent had reached a limit
	OutcomeCut     Outcome = "cut"     // the reply broke off, or the agent had gone
	OutcomeError   Outcome = "error"   // any other error
)

// Outcome returns how the call ended.
func (r *Reply) Outcome() Outcome {
	switch {
	case r.IsComplete:
		return OutcomeOK
	case r.Limit != "":
		return OutcomeLimit
	case r.Status == 0, r.Status < http.StatusBadRequest && r.APIError == nil:
		return OutcomeCut
	case r.IsRefusedByVendor:
		return OutcomeRefused
	default:
		return OutcomeError
	}
}

// APIError is an error of a model's API, also one inside a streamed reply with status 200.
type APIError struct {
	Status  int    `json:"status"` // which the type of the error implies
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Rejected is the JSON of a trace entry about a request to the agent's model server that is no call of a model.
type Rejected struct {
	Type   string `json:"type"` // model_rejected
	Path   string `json:"path"`
	Status int    `json:"status"`
	Error  string `json:"error"`
}
