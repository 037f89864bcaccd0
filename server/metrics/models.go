package metrics

import (
	"encoding/json"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/model"
	"assay/internal/model/calllog"
	"assay/internal/trace"
)

// modelMetrics are the metrics of the calls of agents' models.
type modelMetrics struct {
	calls               *prometheus.CounterVec   // by API and outcome
	seconds, firstByte  *prometheus.HistogramVec // by API
	waitSeconds         prometheus.Histogram
	tokens              *prometheus.CounterVec // by API and kind
	cost                *prometheus.CounterVec // by API
	unpriced, rejected  prometheus.Counter
	inFlight, isWaiting prometheus.Gauge
}

// modelBuckets returns the upper bounds of the buckets of the histograms of calls, in seconds.
func modelBuckets() []float64 {
	return []float64{.1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600}
}

// modelTimer measures the calls of models of one session. It is not safe for concurrent use.
type modelTimer struct {
	metrics *modelMetrics
	pending map[int64]*pendingCall // by number; the gateway is serving each of them
}

// pendingCall is a call without a reply yet.
type pendingCall struct {
	api      string        // label
	admitted time.Duration // trace time since when it is made, not waiting for others
	waiting  bool          // for others
}

func newModelTimer(m *Registry) *modelTimer {
	return &modelTimer{metrics: &m.models, pending: map[int64]*pendingCall{}}
}

// countEntry counts an entry about a call of a model.
func (t *modelTimer) countEntry(e *trace.Entry) {
	switch e.Type {
	case calllog.TypeCall:
		t.startCall(e)
	case calllog.TypeWait:
		t.countWait(e)
	case calllog.TypeReply:
		t.endCall(e)
	case calllog.TypeRejected:
		t.metrics.rejected.Inc()
	}
}

// startCall begins to measure a call. The calls of another agent have the same numbers: it comes when
// those of the first have ended.
func (t *modelTimer) startCall(e *trace.Entry) {
	call := calllog.ReadCallHead(e.Body)
	t.forget(call.Call)
	t.pending[call.Call] = &pendingCall{api: apiLabel(call.API), admitted: e.Elapsed}
	t.metrics.inFlight.Inc()
}

// countWait counts a call as waiting for others, or measures how long it has waited.
func (t *modelTimer) countWait(e *trace.Entry) {
	var wait calllog.Wait
	_ = json.Unmarshal(e.Body, &wait) // which the session has written
	call := t.pending[wait.Call]
	switch {
	case call == nil || call.waiting != wait.IsOver:
	case wait.IsOver:
		t.metrics.waitSeconds.Observe((e.Elapsed - call.admitted).Seconds())
		t.metrics.isWaiting.Dec()
		call.waiting, call.admitted = false, e.Elapsed
	default:
		t.metrics.isWaiting.Inc()
		call.waiting, call.admitted = true, e.Elapsed
	}
}

// endCall counts the outcome of a call, what it has used, and how long it took.
func (t *modelTimer) endCall(e *trace.Entry) {
	var reply calllog.Reply
	_ = json.Unmarshal(e.Body, &reply) // as above
	call := t.pending[reply.Call]
	if call == nil {
		return
	}
	t.forget(reply.Call)
	m, outcome := t.metrics, reply.Outcome()
	m.calls.WithLabelValues(call.api, string(outcome)).Inc()
	if outcome != calllog.OutcomeLimit { // then no call was made
		m.seconds.WithLabelValues(call.api).Observe((e.Elapsed - call.admitted).Seconds())
	}
	if reply.FirstByteMS > 0 {
		const msPerSecond = 1000
		m.firstByte.WithLabelValues(call.api).Observe(reply.FirstByteMS / msPerSecond)
	}
	if reply.Response != nil {
		t.countUse(call.api, reply.Response.Usage, reply.CostUSD)
	}
}

// countUse counts the tokens and the cost of a call.
func (t *modelTimer) countUse(api string, used model.Usage, costUSD *float64) {
	for kind, n := range map[string]int64{
		"input": used.InputTokens, "cache_read": used.CacheReadInputTokens, "cache_creation": used.CacheCreationInputTokens, "output": used.OutputTokens,
	} {
		t.metrics.tokens.WithLabelValues(api, kind).Add(float64(max(0, n))) // a counter panics if it decreases
	}
	if costUSD == nil {
		t.metrics.unpriced.Inc()
		return
	}
	t.metrics.cost.WithLabelValues(api).Add(max(0, *costUSD))
}

// forget removes a call from those in flight.
func (t *modelTimer) forget(number int64) {
	call := t.pending[number]
	if call == nil {
		return
	}
	delete(t.pending, number)
	t.metrics.inFlight.Dec()
	if call.waiting {
		t.metrics.isWaiting.Dec()
	}
}

// close removes all calls from those in flight.
func (t *modelTimer) close() {
	for number := range t.pending {
		t.forget(number)
	}
}
