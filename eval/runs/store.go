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

// ErrNotFound is wrapped by errors about a run, an attempt or a file that does not exist. Names
// that are "." or "..", or have a path separator, count as not existing.
var ErrNotFound = errors.New("not found")

// Store reads the runs in the subfolders of one folder, whether they are finished or still
// running, in this process or another. It reads nothing outside of that folder, even through
// symbolic links. It caches line positions and counts of recently read runs, and keeps no file
// open. It is safe for concurrent use.
type Store struct {
	runsDir        string
	lineFiles      LineFileOpener              // keys are paths relative to dir
	attemptIndexes boundedCache[*attemptIndex] // by run name
}

// NewStore returns a Store that reads the runs in the folder dir, which need not exist yet.
func NewStore(dir string) *Store { return &Store{runsDir: dir} }

// ListedRun is the JSON of one run in a list of runs. If the run cannot be read, only Name and
// Problem are set.
type ListedRun struct {
	Name    string          `json:"name"` // of the folder
	Started time.Time       `json:"started,omitzero"`
	Config  json.RawMessage `json:"config,omitempty"` // of run.json
	Host    json.RawMessage `json:"host,omitempty"`   // of run.json
	Summary *Counts         `json:"summary,omitempty"`
	Problem string          `json:"problem,omitempty"` // why it cannot be read
}

// List returns up to limit runs, newest first, and whether there are more. If after is not
// empty, it is the name of a run, and the list begins with the run after it. Folders without a
// run.json are ignored. It fails with ErrNotFound if there is no run with the name after, if
// the folder cannot be read, and with the cause of ctx.
func (s *Store) List(ctx context.Context, after string, limit int) (page []ListedRun, hasMore bool, err error) {
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

// listAll returns all runs, newest first, without their Summary. It fails if the folder of runs
// cannot be read, and with the cause of ctx.
func (s *Store) listAll(ctx context.Context) ([]ListedRun, error) {
	entries, err := os.ReadDir(s.runsDir)
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
		if listed, isRun := s.readListedRun(entry); isRun {
			all = append(all, listed)
		}
	}
	slices.SortFunc(all, func(a, b ListedRun) int {
		return cmp.Or(b.Started.Compare(a.Started), strings.Compare(b.Name, a.Name))
	})
	return all, nil
}

// readListedRun reads the run.json in one subfolder of the folder of runs. isRun is false if the
// subfolder is no run; if the run cannot be read, its Problem is set.
func (s *Store) readListedRun(entry fs.DirEntry) (listed ListedRun, isRun bool) {
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

// addSummary sets the Summary of a listed run, or its Problem if its attempts.jsonl cannot be
// read. It fails only with the cause of ctx.
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

// runCounts opens the run with this folder name and returns its counts. It fails if the run
// cannot be read, and with the cause of ctx.
func (s *Store) runCounts(ctx context.Context, name string) (Counts, error) {
	run, err := s.Open(name)
	if err != nil {
		return Counts{}, err
	}
	defer run.Close()
	return run.Counts(ctx)
}

// isFileName reports whether name can be the name of a file within a folder: it is not empty,
// "." or "..", and has no path separator or zero byte.
func isFileName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00")
}

// maxCacheEntries is how many entries a boundedCache holds at most.
const maxCacheEntries = 256

// boundedCache is a map with at most maxCacheEntries entries: when it is full, each new entry
// replaces an arbitrary one. The zero value is empty. It is safe for concurrent use.
type boundedCache[V any] struct {
	mu      sync.Mutex
	entries map[string]V
}

// get returns the cached value of a key, and whether there is one.
func (c *boundedCache[V]) get(key string) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok = c.entries[key]
	return value, ok
}

// put caches the value of a key. It drops an arbitrary other entry if the cache is full.
func (c *boundedCache[V]) put(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]V{}
	}
	if _, known := c.entries[key]; !known && len(c.entries) >= maxCacheEntries {
		for oldKey := range c.entries {
			delete(c.entries, oldKey)
			break
		}
	}
	c.entries[key] = value
}
