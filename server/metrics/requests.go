package metrics

import (
	"hash/maphash"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/protocol"
	"assay/internal/trace"
)

// maxPendingActions is the number of actions in flight that are measured in one
// session. Actions beyond it are counted as unmeasured instead.
const maxPendingActions = 4096

// actionTimer measures the agent's actions of one session, from their entry in the
// trace to that of their answer. It is not safe for concurrent use.
type actionTimer struct {
	metrics     *Registry
	seed        maphash.Seed
	pending     map[uint64]*pendingAction // by the hash of the tx_id, which may be of any length
	serverHolds bool                      // the server holds the notebook, not a console

	observers map[requestLabels]prometheus.Observer // a cache: looking labels up costs more than observing
}

// pendingAction is an action without an answer yet.
type pendingAction struct {
	started     time.Duration // trace time
	action      string        // label
	intercepted bool          // the kernel answers it
	refusals    int           // answers still expected for refused actions that reused its tx_id
}

// requestLabels are the label values of assay_request_seconds.
type requestLabels struct{ hop, action string }

func newActionTimer(m *Registry) *actionTimer {
	return &actionTimer{
		metrics: m, seed: maphash.MakeSeed(),
		pending: map[uint64]*pendingAction{}, observers: map[requestLabels]prometheus.Observer{},
	}
}

// setHolder records whether the server or a console holds the notebook from this entry on.
func (a *actionTimer) setHolder(e *trace.Entry) { a.serverHolds = e.ConsoleID == 0 }

// startAction begins to measure an action. An action without tx_id gets no answer and is
// ignored. An action that reuses a tx_id in flight is refused with an answer, which stop
// must not take for that of the first action.
func (a *actionTimer) startAction(e *trace.Entry) {
	if e.TxID == "" {
		return
	}
	id := maphash.String(a.seed, e.TxID)
	first := a.pending[id]
	switch {
	case first != nil:
		first.refusals++
	case len(a.pending) >= maxPendingActions:
		a.metrics.requests.unmeasured.Inc()
	case e.Note != trace.NoteTamper:
		a.pending[id] = &pendingAction{started: e.Elapsed, action: actionLabel(e.Action), intercepted: e.Note == trace.NoteIntercepted}
	}
}

// stopAction records the time of the action that an answer belongs to. A timed-out
// answer also counts as a missed deadline.
func (a *actionTimer) stopAction(e *trace.Entry) {
	id := maphash.String(a.seed, e.TxID)
	action := a.pending[id]
	switch {
	case action == nil:
		if e.Note == trace.NoteTimedOut {
			a.metrics.requests.missed.WithLabelValues(labelOther).Inc()
		}
		return
	case action.refusals > 0 && e.Status == protocol.StatusError && e.Note == "":
		action.refusals--
		return
	}
	delete(a.pending, id)
	hop := a.answererLabel(action)
	a.durationObserver(requestLabels{hop, action.action}).Observe((e.Elapsed - action.started).Seconds())
	if e.Note == trace.NoteTimedOut {
		a.metrics.requests.missed.WithLabelValues(hop).Inc()
	}
}

// answererLabel returns the label of the component that answered an action, or should have.
func (a *actionTimer) answererLabel(action *pendingAction) string {
	switch {
	case action.intercepted:
		return answeredByKernel
	case action.action == labelOther:
		return answeredByServer
	case a.serverHolds:
		return answeredByNotebook
	default:
		return answeredByConsole // also while no console has connected yet
	}
}

func (a *actionTimer) durationObserver(labels requestLabels) prometheus.Observer {
	observer := a.observers[labels]
	if observer == nil {
		observer = a.metrics.requests.seconds.WithLabelValues(labels.hop, labels.action)
		a.observers[labels] = observer
	}
	return observer
}
