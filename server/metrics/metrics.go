// Package metrics counts what the server's sessions do and serves the counts to
// Prometheus. A [SessionCounter] reads the journal of one session; the rest is
// asked for at each scrape.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry holds all metrics of one server, those of the Go runtime and of the
// process included. It is safe for concurrent use. [NewRegistry] creates one.
type Registry struct {
	registry *prometheus.Registry
	sessions struct {
		live  prometheus.Gauge
		total prometheus.Counter
	}
	frames struct {
		count, bytes *prometheus.CounterVec // by hop and type
		noted        *prometheus.CounterVec // by note
	}
	requests struct {
		seconds    *prometheus.HistogramVec // by hop and action
		missed     *prometheus.CounterVec   // by hop
		unmeasured prometheus.Counter
	}
	models   modelMetrics
	children struct {
		started, died *prometheus.CounterVec // by name: kernel or agent
		running       *prometheus.GaugeVec
	}
	consoles *prometheus.GaugeVec // by endpoint
	queues   *queueCollector
}

// requestBuckets returns the upper bounds of the buckets of
// assay_request_seconds, in seconds.
func requestBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 8, 10, 30}
}

// NewRegistry returns a Registry whose counts are all 0. It does not use the
// global registry of the Prometheus library.
func NewRegistry() *Registry {
	m := &Registry{registry: prometheus.NewRegistry(), queues: newQueueCollector()}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.queues,
	)
	make := promauto.With(m.registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return make.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return make.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m.sessions.live = gauge("assay_sessions", "Live sessions.").WithLabelValues()
	m.sessions.total = counter("assay_sessions_total", "Sessions started.").WithLabelValues()
	m.frames.count = counter("assay_frames_total", "Frames recorded in traces.", "hop", "type")
	m.frames.bytes = counter("assay_frame_bytes_total", "Bytes of frame bodies, before gzip.", "hop", "type")
	m.frames.noted = counter("assay_frames_noted_total", "Frames recorded with a note.", "note")
	m.requests.seconds = make.NewHistogramVec(prometheus.HistogramOpts{
		Name: "assay_request_seconds", Help: "Time from an action of the agent to its answer, by the component that answered.", Buckets: requestBuckets(),
	}, []string{"hop", "action"})
	m.requests.missed = counter("assay_deadlines_missed_total", "Actions that timed out, by the component that should have answered.", "hop")
	m.requests.unmeasured = counter("assay_requests_unmeasured_total", "Actions not measured because too many were in flight.").WithLabelValues()
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return make.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: modelBuckets()}, labels)
	}
	m.models = modelMetrics{
		calls:       counter("assay_model_calls_total", "Calls of agents' models that have ended.", "api", "outcome"),
		seconds:     histogram("assay_model_call_seconds", "Time of a call of a model, from when it was made to the end of its reply.", "api"),
		firstByte:   histogram("assay_model_first_byte_seconds", "Time of a call of a model, from when it was made to the first byte of its reply.", "api"),
		waitSeconds: make.NewHistogram(prometheus.HistogramOpts{Name: "assay_model_wait_seconds", Help: "Time that a call of a model waited until others had ended.", Buckets: modelBuckets()}),
		tokens:      counter("assay_model_tokens_total", "Tokens of calls of models.", "api", "kind"),
		cost:        counter("assay_model_cost_usd_total", "Cost of the calls of models whose price is known, in US dollars.", "api"),
		unpriced:    counter("assay_model_calls_unpriced_total", "Calls of models that were answered and whose price is not known.").WithLabelValues(),
		rejected:    counter("assay_model_requests_rejected_total", "Requests to the agents' model servers that were no calls.").WithLabelValues(),
		inFlight:    gauge("assay_model_calls_in_flight", "Calls of models without a reply yet, with those that wait.").WithLabelValues(),
		isWaiting:   gauge("assay_model_calls_waiting", "Calls of models that wait until others have ended.").WithLabelValues(),
	}
	m.children.started = counter("assay_children_started_total", "Kernels and agents that became ready.", "name")
	m.children.died = counter("assay_children_died_total", "Kernels and agents that exited without being asked to.", "name")
	m.children.running = gauge("assay_children_running", "Running kernels and agents.", "name")
	m.consoles = gauge("assay_consoles", "Open WebSockets of consoles and watchers.", "endpoint")
	return m
}

// Handler serves all metrics, in the format that the request prefers.
func (m *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// AddConsole counts a WebSocket as open at an endpoint, such as "run", until
// remove is called.
func (m *Registry) AddConsole(endpoint string) (remove func()) {
	live := m.consoles.WithLabelValues(endpoint)
	live.Inc()
	return live.Dec
}
