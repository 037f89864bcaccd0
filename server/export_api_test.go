package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"assay/eval/runs"
	"assay/internal/trace"
	"assay/router"
)

// The bounds of what the API and the metrics keep.
const (
	PageBytes = pageBytes
	MostOpen  = mostOpen
)

// RunsHandler is the API of the runs in dir by itself.
func RunsHandler(dir string, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	newRunsAPI(runs.NewStore(dir), newTracesAPI(log)).register(mux)
	unknownEndpoints(mux)
	return mux
}

// Metrics are metrics by themselves.
type Metrics struct{ m *metrics }

// NewMetrics returns metrics of nothing yet.
func NewMetrics() *Metrics { return &Metrics{newMetrics()} }

// Handler is /metrics.
func (m *Metrics) Handler() http.Handler { return m.m.handler() }

// Follow counts a session until its journal is closed or ctx ends.
func (m *Metrics) Follow(ctx context.Context, journal *trace.Journal) { m.m.follow(ctx, journal) }

// Session begins to count a session; follow counts it.
func (m *Metrics) Session(journal *trace.Journal) (follow func(context.Context)) {
	return m.m.session(journal).follow
}

// Counter returns what counts one entry of a session.
func (m *Metrics) Counter(journal *trace.Journal) func(*trace.Entry) {
	return m.m.session(journal).count
}

// QueuesOf lets a scrape ask for queues.
func (m *Metrics) QueuesOf(depths func() []router.Depth) (drop func()) { return m.m.queuesOf(depths) }

// Console counts a console.
func (m *Metrics) Console(endpoint string) (gone func()) { return m.m.console(endpoint) }

// Histories keeps n traces one after the other, each of so many bytes, and
// returns what is left: their numbers, the last one first.
func Histories(n int, bytes int64) (left []string) {
	var all histories
	for i := range n {
		all.of(i + 1).size.Store(bytes)
	}
	all.of(n) // which has its size by now
	for _, known := range all.recent {
		left = append(left, fmt.Sprint(known.key))
	}
	return left
}
