package flow

import (
	"time"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// TimeShares says for what an agent waited between its task and its submission, or the end of
// the trace. The four times, in milliseconds, do not overlap: their sum is the whole.
type TimeShares struct {
	ModelMS   float64 `json:"model_ms"`   // for its models only: calls in flight, and waits to repeat calls that the model's API had refused
	KernelMS  float64 `json:"kernel_ms"`  // for the kernel only: runs of cells, and actions that the kernel answers
	BothMS    float64 `json:"both_ms"`    // for both at once
	NeitherMS float64 `json:"neither_ms"` // for neither: it worked itself, or waited for a person
}

// TotalMS returns the sum of the shares.
func (s TimeShares) TotalMS() float64 { return s.ModelMS + s.KernelMS + s.BothMS + s.NeitherMS }

// timeDivider computes [TimeShares] while the records of a trace are added in order. The zero
// value is ready.
type timeDivider struct {
	shares           TimeShares
	hasBegun, isOver bool
	last             time.Duration      // of the newest record
	models, kernels  map[int64]struct{} // requests in flight, by the number of their first entries

	sinceReplyMS float64 // how long the agent waited for neither since the last reply of a model
}

// add processes the next record of a trace and the requests that it is part of.
func (d *timeDivider) add(r trace.Record, requests []*Request) {
	if d.models == nil {
		d.models, d.kernels = map[int64]struct{}{}, map[int64]struct{}{}
	}
	if now := time.Duration(r.ElapsedNS); d.hasBegun && !d.isOver {
		d.addTime(inMilliseconds(now - d.last))
	}
	d.last = time.Duration(r.ElapsedNS)
	for _, q := range requests {
		switch {
		case q.Kind == KindModelCall:
			d.addModelCall(r, q)
		case q.Answerer == hopKernel && q.Sent.IsSet() && (q.Kind == KindAction || q.Kind == KindRun && q.ConsoleID == 0):
			setInFlight(d.kernels, r, q)
		}
	}
	d.addSessionEvent(r)
}

// addTime adds a time to the share to which it belongs.
func (d *timeDivider) addTime(ms float64) {
	switch {
	case len(d.models) > 0 && len(d.kernels) > 0:
		d.shares.BothMS += ms
	case len(d.models) > 0:
		d.shares.ModelMS += ms
	case len(d.kernels) > 0:
		d.shares.KernelMS += ms
	default:
		d.shares.NeitherMS += ms
		d.sinceReplyMS += ms
	}
}

// addModelCall notes the beginning or the end of a call of a model in record r. A call that comes
// after one that was refused shows that the agent has waited to repeat it.
func (d *timeDivider) addModelCall(r trace.Record, q *Request) {
	setInFlight(d.models, r, q)
	if r.Seq == q.Asked.Seq && q.Call.RetryWaitMS > 0 {
		d.shares.NeitherMS -= d.sinceReplyMS
		d.shares.ModelMS += d.sinceReplyMS
	}
	d.sinceReplyMS = 0
}

// setInFlight adds the request q to those in flight, or removes it if record r is its end.
func setInFlight(inFlight map[int64]struct{}, r trace.Record, q *Request) {
	if end := q.endEntry(); end.IsSet() && end.Seq <= r.Seq {
		delete(inFlight, q.Asked.Seq)
		return
	}
	inFlight[q.Asked.Seq] = struct{}{}
}

// addSessionEvent begins with the agent's task and ends with its submission. The requests of a
// kernel or an agent that has ended are not in flight any more.
func (d *timeDivider) addSessionEvent(r trace.Record) {
	switch {
	case r.Hop == trace.ServerToAgent && r.Type == protocol.TypeAgentQuery:
		d.hasBegun = true
	case r.Hop != trace.HopSession:
	case r.Type == "state":
		state := displayedAction(r)
		d.isOver = state == "collecting" || state == "ended"
	case r.Type == "peer_ended" && r.Action == "kernel":
		clear(d.kernels)
	case r.Type == "peer_ended" && r.Action == "agent":
		clear(d.models)
	}
}

// result returns the shares so far; nil if the agent got no task.
func (d *timeDivider) result() *TimeShares {
	if !d.hasBegun {
		return nil
	}
	return new(d.shares)
}
