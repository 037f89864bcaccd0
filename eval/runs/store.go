package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNotFound says that there is no such run, attempt or file. Names that could
// lead elsewhere are of nothing.
var ErrNotFound = errors.New("not found")

// Store reads the runs below a folder: those that are over, and those that go
// on, in this process or another. It reads nothing outside of that folder,
// wherever symbolic links lead. It is safe for concurrent use, and keeps no
// file open.
type Store struct {
	dir            string
	lineFiles      LineFiles            // by path below dir
	attemptIndexes cache[*attemptIndex] // by the name of the run
}

// NewStore returns the store of the runs in dir, which need not exist yet.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// ListedRun is a run in a list. What cannot be read has a Problem in place of all
// else.
type ListedRun struct {
	Name    string          `json:"name"` // of its folder
	Started time.Time       `json:"started,omitzero"`
	Config  json.RawMessage `json:"config,omitempty"`
	Host    json.RawMessage `json:"host,omitempty"`
	Summary *Counts         `json:"summary,omitempty"`
	Problem string          `json:"problem,omitempty"`
}

// List returns up to limit runs, the newest first, and whether there are more.
// With after, a run's name, it begins behind that; where there is none of that
// name, the error wraps ErrNotFound. Folders without a run.json are passed over.
func (s *Store) List(ctx context.Context, after string, limit int) (page []ListedRun, more bool, err error) {
	all, err := s.listAll(ctx)
	if err != nil {
		return nil, false, err
	}
	if after != "" {
		i := slices.IndexFunc(all, func(l ListedRun) bool { return l.Name == after })
		if i < 0 {
			return nil, false, fmt.Errorf("run %q: %w", after, ErrNotFound)
		}
		all = all[i+1:]
	}
	page = all[:min(limit, len(all))]
	for i := range page {
		if err := s.addSummary(ctx, &page[i]); err != nil {
			return nil, false, err
		}
	}
	return page, len(page) < len(all), nil
}

// listAll returns every run, the newest first, without summaries.
func (s *Store) listAll(ctx context.Context) ([]ListedRun, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []ListedRun
	for _, entry := range entries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if listed, ok := s.readListed(entry); ok {
			all = append(all, listed)
		}
	}
	slices.SortFunc(all, func(a, b ListedRun) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(b.Name, a.Name))
	})
	return all, nil
}

// readListed reads a run's run.json; false: it is no run.
func (s *Store) readListed(entry fs.DirEntry) (listed ListedRun, ok bool) {
	if !entry.IsDir() && entry.Type() != fs.ModeSymlink {
		return listed, false
	}
	listed.Name = entry.Name()
	run, err := s.Open(listed.Name)
	if err != nil {
		listed.Problem = err.Error()
		return listed, !errors.Is(err, ErrNotFound)
	}
	defer run.Close()
	listed.Started, listed.Config, listed.Host = run.Started, run.RawInfo["config"], run.RawInfo["host"]
	return listed, true
}

// addSummary adds to a run what its attempts have come to. The error is that of
// ctx: what cannot be read is a problem of the run.
func (s *Store) addSummary(ctx context.Context, listed *ListedRun) error {
	if listed.Problem != "" {
		return nil
	}
	counts, err := s.runCounts(ctx, listed.Name)
	switch {
	case err == nil:
		listed.Summary = &counts
	case ctx.Err() == nil:
		*listed = ListedRun{Name: listed.Name, Problem: err.Error()}
	}
	return context.Cause(ctx)
}

func (s *Store) runCounts(ctx context.Context, name string) (Counts, error) {
	run, err := s.Open(name)
	if err != nil {
		return Counts{}, err
	}
	defer run.Close()
	return run.Counts(ctx)
}

// isFileName tells whether a name is one of something directly in a folder.
func isFileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// maxCacheEntries is how many values a memory holds at most.
const maxCacheEntries = 256

// cache is a map of what can be found out again: when it is full, something
// is forgotten for each that comes. It is safe for concurrent use.
type cache[V any] struct {
	mu      sync.Mutex
	entries map[string]V
}

func (m *cache[V]) get(key string) (value V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok = m.entries[key]
	return value, ok
}

func (m *cache[V]) put(key string, value V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = map[string]V{}
	}
	if _, known := m.entries[key]; !known && len(m.entries) >= maxCacheEntries {
		for any := range m.entries {
			delete(m.entries, any)
			break
		}
	}
	m.entries[key] = value
}
