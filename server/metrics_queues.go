package server

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"assay/router"
)

// queueCollector asks, when it is scraped, every session what waits for its
// peers. It is safe for concurrent use.
type queueCollector struct {
	frames, bytes *prometheus.Desc

	mu       sync.Mutex
	sessions map[int]func() []router.Depth
	last     int // key given out
}

func newQueueCollector() *queueCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"peer"}, nil)
	}
	return &queueCollector{
		frames:   desc("assay_queue_frames", "Frames that wait to be written, over all sessions."),
		bytes:    desc("assay_queue_bytes", "Bytes that wait to be written, over all sessions."),
		sessions: map[int]func() []router.Depth{},
	}
}

// queuesOf lets every scrape ask what waits for a session's peers, as
// [router.Router.Queues] tells, until drop is called.
func (m *metrics) queuesOf(depths func() []router.Depth) (drop func()) {
	q := m.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	id := q.last
	q.sessions[id] = depths
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.sessions, id)
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
	for _, depth := range q.depths() {
		frames[depth.Peer] += depth.Frames
		bytes[depth.Peer] += depth.Bytes
	}
	for peer := range frames {
		out <- prometheus.MustNewConstMetric(q.frames, prometheus.GaugeValue, float64(frames[peer]), peer)
		out <- prometheus.MustNewConstMetric(q.bytes, prometheus.GaugeValue, float64(bytes[peer]), peer)
	}
}

// depths asks without holding the lock: a router has locks of its own.
func (q *queueCollector) depths() []router.Depth {
	q.mu.Lock()
	asked := make([]func() []router.Depth, 0, len(q.sessions))
	for _, depths := range q.sessions {
		asked = append(asked, depths)
	}
	q.mu.Unlock()
	var all []router.Depth
	for _, depths := range asked {
		all = append(all, depths()...)
	}
	return all
}
