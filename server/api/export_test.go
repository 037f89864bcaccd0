package api

import (
	"fmt"
	"log/slog"
	"net/http"

	"assay/eval/runs"
	"assay/server/endpoint"
)

// MaxPageBytes is the largest size of a page's lines, unless it has only one.
const MaxPageBytes = maxPageBytes

// NewTestHandler serves the API of the runs in dir.
func NewTestHandler(dir string, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	New(runs.NewStore(dir), log).RegisterRuns(mux)
	endpoint.RegisterNotFound(mux)
	return mux
}

// CachedTraceKeys uses the traces 1 to n, each of this size in bytes, one after the
// other, and returns those that the cache keeps, most recently used first.
func CachedTraceKeys(n int, size int64) (keys []string) {
	var cache traceCache
	for i := range n {
		cache.get(i + 1).size.Store(size)
	}
	cache.get(n) // evicts again, now that the last trace has its size
	for _, cached := range cache.recent {
		keys = append(keys, fmt.Sprint(cached.key))
	}
	return keys
}

// NotebookSnapshots is the snapshots of a notebook that is always empty.
type NotebookSnapshots struct{ all *notebookSnapshots }

// NewNotebookSnapshots returns no snapshots yet.
func NewNotebookSnapshots() *NotebookSnapshots { return &NotebookSnapshots{newNotebookSnapshots()} }

// OfferEntries offers the entries 1 to n, each with a line of this length in bytes.
func (s *NotebookSnapshots) OfferEntries(n int64, lineBytes int) {
	_, fold := s.all.atOrBefore(n)
	for seq := int64(1); seq <= n; seq++ {
		s.all.maybeAdd(seq, lineBytes, fold)
	}
}

// AtOrBefore returns the seq of the newest snapshot that is not after the entry
// seq, 0 if there is none.
func (s *NotebookSnapshots) AtOrBefore(seq int64) int64 {
	at, _ := s.all.atOrBefore(seq)
	return at
}

// Len returns the number of snapshots.
func (s *NotebookSnapshots) Len() int { return len(s.all.all) }
