package server

import (
	"hash/maphash"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// mostOpen is how many actions in flight are measured in one session; those
// beyond are not, and counted as such.
const mostOpen = 4096

// openRequests measures the agent's actions, from their entry in the trace to
// that of their answer. It is for one goroutine.
type openRequests struct {
	metrics *metrics
	seed    maphash.Seed
	open    map[uint64]*openRequest // by the hash of the tx_id, which may be of any length
	server  bool                    // the server holds the document, not a console

	seconds map[requestLabels]prometheus.Observer // looked up already
}

type openRequest struct {
	at          time.Duration
	action      string // a label
	intercepted bool   // it went to the kernel
	refused     int    // how many answers to others of its id are still to come
}

type requestLabels struct{ hop, action string }

func newOpenRequests(m *metrics) *openRequests {
	return &openRequests{
		metrics: m, seed: maphash.MakeSeed(),
		open: map[uint64]*openRequest{}, seconds: map[requestLabels]prometheus.Observer{},
	}
}

// holder takes note of who holds the document from here on.
func (o *openRequests) holder(e *trace.Entry) { o.server = e.Conn == 0 }

// asked takes note of an action. One without an id wants no answer; one that is
// refused because its id is in flight gets an answer of its own.
func (o *openRequests) asked(e *trace.Entry) {
	if e.TxID == "" {
		return
	}
	id := maphash.String(o.seed, e.TxID)
	first := o.open[id]
	switch {
	case first != nil:
		first.refused++
	case len(o.open) >= mostOpen:
		o.metrics.requests.unmeasured.Inc()
	case e.Note != trace.Tamper:
		o.open[id] = &openRequest{at: e.T, action: actionLabel(e.Action), intercepted: e.Note == trace.Intercepted}
	}
}

// answered measures the request that an answer is to.
func (o *openRequests) answered(e *trace.Entry) {
	id := maphash.String(o.seed, e.TxID)
	request := o.open[id]
	switch {
	case request == nil:
		if e.Note == trace.TimedOut {
			o.metrics.requests.missed.WithLabelValues(other).Inc()
		}
		return
	case request.refused > 0 && e.Status == protocol.StatusError && e.Note == "":
		request.refused--
		return
	}
	delete(o.open, id)
	hop := o.hop(request)
	o.observer(requestLabels{hop, request.action}).Observe((e.T - request.at).Seconds())
	if e.Note == trace.TimedOut {
		o.metrics.requests.missed.WithLabelValues(hop).Inc()
	}
}

// hop is who has answered, or should have.
func (o *openRequests) hop(r *openRequest) string {
	switch {
	case r.intercepted:
		return hopKernel
	case r.action == other:
		return hopServer
	case o.server:
		return hopNotebook
	default:
		return hopConsole // it is its to hold, even while none has come
	}
}

func (o *openRequests) observer(labels requestLabels) prometheus.Observer {
	observer := o.seconds[labels]
	if observer == nil {
		observer = o.metrics.requests.seconds.WithLabelValues(labels.hop, labels.action)
		o.seconds[labels] = observer
	}
	return observer
}
