package server

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// gather is how long a follower that had nothing to do lets entries come
// together before it reads on, so that it does not wake for each of them.
const gather = 10 * time.Millisecond

// sessionMetrics counts one session, from its journal. It is for one goroutine.
type sessionMetrics struct {
	metrics  *metrics
	journal  *trace.Follower
	requests *openRequests
	children *childMetrics

	// What has been looked up already: labels cost more than counting.
	frames map[frameLabels]frameCounters
	notes  map[trace.Note]prometheus.Counter
}

type frameLabels struct {
	hop  trace.Hop
	kind string
}

type frameCounters struct{ count, bytes prometheus.Counter }

// follow counts a session until its journal is closed or ctx ends. What is in the
// journal before follow begins is not counted: session and its follow miss nothing.
func (m *metrics) follow(ctx context.Context, journal *trace.Journal) { m.session(journal).follow(ctx) }

// session begins to count a session: nothing that is appended to its journal
// from now on is missed. Whoever called it must call follow.
func (m *metrics) session(journal *trace.Journal) *sessionMetrics {
	m.sessions.live.Inc()
	m.sessions.total.Inc()
	return &sessionMetrics{
		metrics: m, journal: journal.Follow(), requests: newOpenRequests(m), children: newChildMetrics(m),
		frames: map[frameLabels]frameCounters{}, notes: map[trace.Note]prometheus.Counter{},
	}
}

// follow counts until the journal is closed or ctx ends. Then the session is
// none of those that live.
func (s *sessionMetrics) follow(ctx context.Context) {
	defer s.metrics.sessions.live.Dec()
	defer s.children.close()
	for {
		entry, err := s.next(ctx)
		if err != nil {
			return // io.EOF, or the cause of ctx
		}
		s.count(entry)
	}
}

// next returns the next entry. When it has had to wait for it, it waits a moment
// longer: more will have come.
func (s *sessionMetrics) next(ctx context.Context) (*trace.Entry, error) {
	if entry := s.journal.Try(); entry != nil {
		return entry, nil
	}
	entry, err := s.journal.Next(ctx)
	if err == nil && !s.journal.Ended() {
		pause := time.NewTimer(gather)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return entry, err
}

func (s *sessionMetrics) count(e *trace.Entry) {
	counters := s.countersOf(e.Hop, e.Type)
	counters.count.Inc()
	counters.bytes.Add(float64(e.Bytes))
	if e.Note != "" {
		s.noted(e.Note).Inc()
	}
	switch {
	case e.Type == protocol.TypeAgentAction && e.Hop == trace.AgentToServer:
		s.requests.asked(e)
	case e.Type == protocol.TypeActionResponse && e.Hop == trace.ServerToAgent:
		s.requests.answered(e)
	case e.Type == router.TypeHolder && e.Hop == trace.Session:
		s.requests.holder(e)
	default:
		s.children.saw(e)
	}
}

func (s *sessionMetrics) countersOf(hop trace.Hop, kind string) frameCounters {
	labels := frameLabels{hop, kind}
	counters, known := s.frames[labels]
	if known {
		return counters
	}
	labels.kind = typeLabel(kind)
	if counters, known = s.frames[labels]; !known {
		m := &s.metrics.frames
		counters = frameCounters{
			count: m.count.WithLabelValues(string(hop), labels.kind), bytes: m.bytes.WithLabelValues(string(hop), labels.kind),
		}
		s.frames[labels] = counters
	}
	return counters
}

func (s *sessionMetrics) noted(note trace.Note) prometheus.Counter {
	counter := s.notes[note]
	if counter == nil {
		counter = s.metrics.frames.noted.WithLabelValues(string(note))
		s.notes[note] = counter
	}
	return counter
}
