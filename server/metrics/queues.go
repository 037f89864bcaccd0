package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"assay/router"
)

// queueCollector is a [prometheus.Collector] that, at each scrape, asks every live
// session for the length of its peers' queues. It is safe for concurrent use.
type queueCollector struct {
	frames, bytes *prometheus.Desc

	mu       sync.Mutex
	sessions map[int]func() []router.QueueDepth // by a key that AddQueues assigned
	lastKey  int
}

func newQueueCollector() *queueCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"peer"}, nil)
	}
	return &queueCollector{
		frames:   desc("assay_queue_frames", "Frames waiting to be written, summed over all sessions."),
		bytes:    desc("assay_queue_bytes", "Bytes waiting to be written, summed over all sessions."),
		sessions: map[int]func() []router.QueueDepth{},
	}
}

// AddQueues makes every scrape include the queues of a session, as depths
// ([router.Router.QueueDepths]) returns them, until remove is called.
func (m *Registry) AddQueues(depths func() []router.QueueDepth) (remove func()) {
	q := m.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lastKey++
	key := q.lastKey
	q.sessions[key] = depths
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.sessions, key)
	}
}

// Describe implements [prometheus.Collector].
func (q *queueCollector) Describe(out chan<- *prometheus.Desc) {
	out <- q.frames
	out <- q.bytes
}

// Collect implements [prometheus.Collector].
func (q *queueCollector) Collect(out chan<- prometheus.Metric) {
	frames, bytes := map[string]int{}, map[string]int{}
	for _, depth := range q.queueDepths() {
		frames[depth.PeerName] += depth.Frames
		bytes[depth.PeerName] += depth.Bytes
	}
	for peer := range frames {
		out <- prometheus.MustNewConstMetric(q.frames, prometheus.GaugeValue, float64(frames[peer]), peer)
		out <- prometheus.MustNewConstMetric(q.bytes, prometheus.GaugeValue, float64(bytes[peer]), peer)
	}
}

// queueDepths returns the queues of all sessions. It calls the routers without holding
// mu, because they take locks of their own.
func (q *queueCollector) queueDepths() []router.QueueDepth {
	q.mu.Lock()
	sessions := make([]func() []router.QueueDepth, 0, len(q.sessions))
	for _, depths := range q.sessions {
		sessions = append(sessions, depths)
	}
	q.mu.Unlock()
	var all []router.QueueDepth
	for _, depths := range sessions {
		all = append(all, depths()...)
	}
	return all
}
