package flow

import (
	"fmt"
	"strings"
	"time"
)

// RequestDelay is the JSON of a [Request] in the HTTP API and in assay trace --json: its state
// and how long it took. Times are in milliseconds.
type RequestDelay struct {
	Kind         RequestKind  `json:"kind"`
	Action       string       `json:"action"`
	TxID         string       `json:"tx_id,omitempty"`
	KernelTxID   string       `json:"kernel_tx_id,omitempty"` // the id under which the kernel was asked
	State        RequestState `json:"state"`
	TotalMS      *float64     `json:"total_ms"` // how long the asker waited; null: it was not answered
	Hops         []HopDelay   `json:"hops"`
	Slowest      string       `json:"slowest"`           // the hop that took longest, or at which it waits
	Stale        bool         `json:"stale,omitempty"`   // answered with an earlier reply of the kernel
	LateMS       *float64     `json:"late_ms,omitempty"` // how late a late reply was
	ExtraReplies int          `json:"further_replies,omitempty"`
	Call         *ModelCall   `json:"model_call,omitempty"` // of a call of a model
}

// HopDelay is the JSON of one [HopTime] in a [RequestDelay].
type HopDelay struct {
	Hop string  `json:"hop"`
	MS  float64 `json:"ms"`
}

// Delay returns the request's state and times so far in the form for JSON.
func (r *Request) Delay() RequestDelay {
	d := RequestDelay{
		Kind: r.Kind, Action: r.Action, TxID: r.TxID, KernelTxID: r.KernelTxID, State: r.State,
		Hops: []HopDelay{}, Slowest: r.SlowestHop(), Stale: r.IsStale, ExtraReplies: r.ExtraReplies, Call: r.Call,
	}
	if total, ok := r.TotalTime(); ok {
		d.TotalMS = new(inMilliseconds(total))
	}
	if late, ok := r.Lateness(); ok {
		d.LateMS = new(inMilliseconds(late))
	}
	for _, hop := range r.HopTimes() {
		d.Hops = append(d.Hops, HopDelay{Hop: hop.Hop, MS: inMilliseconds(hop.Took)})
	}
	return d
}

// inMilliseconds returns the duration d as a number of milliseconds.
func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// String returns state and delay of the request in one line for people, such as
//
//	answered in 12.3ms: server 0.1ms, kernel 12.1ms, server 0.1ms
//	timed out after 8.000s: kernel (its reply came 1.012s late)
//	answered in 2.100s, 900 tokens in (512 cached), 40 out, $0.0123: model 800.0ms, reply 1.300s
func (r *Request) String() string {
	var text strings.Builder
	total, ended := r.TotalTime()
	switch {
	case r.State == StateUnanswered:
		text.WriteString("unanswered: " + r.SlowestHop())
	case r.Kind == KindModelCall:
		text.WriteString(r.modelText(total))
	case r.State == StateTimedOut && !r.Answered.IsSet():
		text.WriteString("given up: " + r.Answerer)
	case r.State == StateTimedOut:
		fmt.Fprintf(&text, "timed out after %s: %s", FormatDelay(total), r.Answerer)
	case r.State == StateFailed && ended:
		fmt.Fprintf(&text, "failed after %s: %s", FormatDelay(total), r.Answerer)
	case r.State == StateFailed:
		text.WriteString("failed: " + r.Answerer)
	default:
		text.WriteString(r.answeredText(total))
	}
	if late, ok := r.Lateness(); ok && r.Answered.IsSet() {
		fmt.Fprintf(&text, " (its reply came %s late)", FormatDelay(late))
	} else if ok {
		fmt.Fprintf(&text, " (its reply came after %s)", FormatDelay(late))
	}
	if r.ExtraReplies > 0 {
		fmt.Fprintf(&text, " (further replies: %d)", r.ExtraReplies)
	}
	return text.String()
}

// answeredText returns one line for people about a request that was answered, or a run that
// ended, after total.
func (r *Request) answeredText(total time.Duration) string {
	verb := "answered in "
	switch {
	case r.Kind == KindRun:
		verb = "ended after "
	case r.IsStale:
		verb = "answered with an earlier reply in "
	}
	return verb + FormatDelay(total) + ": " + r.hopTimesText()
}

// hopTimesText returns the times of the request at its hops, for people.
func (r *Request) hopTimesText() string {
	var hops []string
	for _, hop := range r.HopTimes() {
		hops = append(hops, hop.Hop+" "+FormatDelay(hop.Took))
	}
	return strings.Join(hops, ", ")
}

// FormatDelay formats a duration for people, such as 12.3ms below a second and 1.012s above.
func FormatDelay(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1fms", inMilliseconds(d))
	}
	return fmt.Sprintf("%.3fs", d.Seconds())
}
