package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// batchDelay is how long a SessionCounter that had to wait for an entry lets
// further entries accumulate, so that it does not wake up for each of them.
const batchDelay = 10 * time.Millisecond

// SessionCounter counts the journal entries of one session. It is not safe for
// concurrent use.
type SessionCounter struct {
	metrics  *Registry
	journal  *trace.Follower
	actions  *actionTimer
	models   *modelTimer
	children *childCounter

	// Caches: looking labels up costs more than counting.
	frames map[frameLabels]frameCounters
	notes  map[trace.Note]prometheus.Counter
}

// frameLabels are the label values of the frame counters.
type frameLabels struct {
	hop         trace.Hop
	messageType string
}

type frameCounters struct{ count, bytes prometheus.Counter }

// NewSessionCounter counts a session as live and returns its counter, which sees every
// entry appended to journal from now on. The caller must call
// [SessionCounter.Run].
func (m *Registry) NewSessionCounter(journal *trace.Journal) *SessionCounter {
	m.sessions.live.Inc()
	m.sessions.total.Inc()
	return &SessionCounter{
		metrics: m, journal: journal.Follow(), actions: newActionTimer(m), models: newModelTimer(m), children: newChildCounter(m),
		frames: map[frameLabels]frameCounters{}, notes: map[trace.Note]prometheus.Counter{},
	}
}

// Run counts entries until the journal is closed or ctx ends. Then it removes the
// session, its children and its calls of models from the gauges.
func (s *SessionCounter) Run(ctx context.Context) {
	defer s.metrics.sessions.live.Dec()
	defer s.children.close()
	defer s.models.close()
	for {
		entry, err := s.nextEntry(ctx)
		if err != nil {
			return // io.EOF, or the cause of ctx
		}
		s.countEntry(entry)
	}
}

// nextEntry returns the next entry. If it had to wait for that entry, it also waits for
// batchDelay, so that the following calls find entries at once.
func (s *SessionCounter) nextEntry(ctx context.Context) (*trace.Entry, error) {
	if entry := s.journal.TryNext(); entry != nil {
		return entry, nil
	}
	entry, err := s.journal.Next(ctx)
	if err == nil && !s.journal.IsJournalClosed() {
		pause := time.NewTimer(batchDelay)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return entry, err
}

func (s *SessionCounter) countEntry(e *trace.Entry) {
	counters := s.frameCounters(e.Hop, e.Type)
	counters.count.Inc()
	counters.bytes.Add(float64(e.BodyBytes))
	if e.Note != "" {
		s.counterForNote(e.Note).Inc()
	}
	switch {
	case e.Type == protocol.TypeAgentAction && e.Hop == trace.AgentToServer:
		s.actions.startAction(e)
	case e.Type == protocol.TypeActionResponse && e.Hop == trace.ServerToAgent:
		s.actions.stopAction(e)
	case e.Type == router.EntryTypeHolderChanged && e.Hop == trace.HopSession:
		s.actions.setHolder(e)
	case e.Hop == trace.AgentToModel, e.Hop == trace.ModelToAgent:
		s.models.countEntry(e)
	default:
		s.children.countEntry(e)
	}
}

func (s *SessionCounter) frameCounters(hop trace.Hop, messageType string) frameCounters {
	labels := frameLabels{hop, messageType}
	counters, known := s.frames[labels]
	if known {
		return counters
	}
	labels.messageType = typeLabel(messageType)
	if counters, known = s.frames[labels]; !known {
		m := &s.metrics.frames
		counters = frameCounters{
			count: m.count.WithLabelValues(string(hop), labels.messageType), bytes: m.bytes.WithLabelValues(string(hop), labels.messageType),
		}
		s.frames[labels] = counters
	}
	return counters
}

func (s *SessionCounter) counterForNote(note trace.Note) prometheus.Counter {
	counter := s.notes[note]
	if counter == nil {
		counter = s.metrics.frames.noted.WithLabelValues(string(note))
		s.notes[note] = counter
	}
	return counter
}
