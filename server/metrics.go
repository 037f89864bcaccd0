package server

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is what /metrics tells: of every session what its trace brings, which
// a [sessionMetrics] counts, and of the process what Go knows. It is safe for
// concurrent use.
type metrics struct {
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
	children struct {
		started, died *prometheus.CounterVec // by name
		running       *prometheus.GaugeVec
	}
	consoles *prometheus.GaugeVec // by endpoint
	queues   *queueCollector
}

// requestBuckets are the bounds of assay_request_seconds, in seconds.
func requestBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 8, 10, 30}
}

// newMetrics returns metrics of nothing yet, in a registry of their own.
func newMetrics() *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), queues: newQueueCollector()}
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
	m.sessions.live = gauge("assay_sessions", "Sessions that live.").WithLabelValues()
	m.sessions.total = counter("assay_sessions_total", "Sessions that were begun.").WithLabelValues()
	m.frames.count = counter("assay_frames_total", "Frames, as the traces have them.", "hop", "type")
	m.frames.bytes = counter("assay_frame_bytes_total", "Bytes of the bodies of frames, not gzipped.", "hop", "type")
	m.frames.noted = counter("assay_frames_noted_total", "Frames of which something is to be said.", "note")
	m.requests.seconds = make.NewHistogramVec(prometheus.HistogramOpts{
		Name: "assay_request_seconds", Help: "From an action of the agent to its answer, by who answered.", Buckets: requestBuckets(),
	}, []string{"hop", "action"})
	m.requests.missed = counter("assay_deadlines_missed_total", "Actions answered by their deadline, by who was late.", "hop")
	m.requests.unmeasured = counter("assay_requests_unmeasured_total", "Actions not measured, because too many were in flight.").WithLabelValues()
	m.children.started = counter("assay_children_started_total", "Kernels and agents that became ready.", "name")
	m.children.died = counter("assay_children_died_total", "Kernels and agents whose end nobody had asked for.", "name")
	m.children.running = gauge("assay_children_running", "Kernels and agents that run.", "name")
	m.consoles = gauge("assay_consoles", "Connections of consoles.", "endpoint")
	return m
}

// handler answers with all of it, in the format that the request prefers.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// console counts a console's connection at an endpoint, such as "run", until
// gone is called.
func (m *metrics) console(endpoint string) (gone func()) {
	live := m.consoles.WithLabelValues(endpoint)
	live.Inc()
	return live.Dec
}
