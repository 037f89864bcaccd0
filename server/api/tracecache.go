package api

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"assay/eval/session"
	"assay/internal/trace"
	"assay/internal/trace/flow"
	"assay/server/endpoint"
)

const (
	// maxCachedTraces and maxCacheBytes (an estimate) limit the traceCache. The
	// trace that was used last always stays, whatever its size.
	maxCachedTraces = 8
	maxCacheBytes   = 512 << 20

	// maxCachedEntries is the number of entries of the longest trace that is kept
	// in memory.
	maxCachedEntries = 2_000_000
)

// traceCache keeps the most recently used traces in memory. The zero value is an
// empty cache. It is safe for concurrent use.
type traceCache struct {
	mu     sync.Mutex
	recent []*cachedTrace // most recently used first
}

// get returns the cached trace with this key, or adds an empty one, and evicts the
// least recently used traces if there are too many. The key is that of
// [runs.LineFile.CacheKey].
func (c *traceCache) get(key any) *cachedTrace {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.recent, func(cached *cachedTrace) bool { return cached.key == key })
	if i < 0 {
		c.recent = slices.Insert(c.recent, 0, newCachedTrace(key))
	} else if i > 0 {
		cached := c.recent[i]
		c.recent = slices.Insert(slices.Delete(c.recent, i, i+1), 0, cached)
	}
	c.evictLocked()
	return c.recent[0]
}

func (c *traceCache) evictLocked() {
	size := int64(0)
	for i, cached := range c.recent {
		size += cached.size.Load()
		if i > 0 && (i >= maxCachedTraces || size > maxCacheBytes) {
			clear(c.recent[i:])
			c.recent = c.recent[:i]
			return
		}
	}
}

// cachedTrace is what is kept in memory of one trace: its entries without their
// messages, snapshots of the notebook, and the results of text searches. All
// fields but size are used only inside [cachedTrace.update].
type cachedTrace struct {
	key        any
	updateLock chan struct{} // holds one element while update runs
	size       atomic.Int64  // estimate of the memory used, in bytes

	index     *flow.Index
	snapshots *notebookSnapshots
	searches  []*textSearch // most recently used first
}

func newCachedTrace(key any) *cachedTrace {
	return &cachedTrace{key: key, updateLock: make(chan struct{}, 1), index: flow.NewIndex(), snapshots: newNotebookSnapshots()}
}

// update reads the lines that were appended to file since the last call, and then
// calls use. It is safe for concurrent use: calls run one after the other, so that
// the first reads for all. It returns the cause of ctx if ctx ends before its
// turn comes.
func (c *cachedTrace) update(ctx context.Context, file TraceFile, use func() error) error {
	select {
	case c.updateLock <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-c.updateLock }()
	defer func() {
		c.size.Store(c.index.MemoryBytes() + c.snapshots.bytes + int64(len(c.searches))*c.index.EntryCount())
	}()
	if err := c.readNewLines(ctx, file); err != nil {
		return err
	}
	return use()
}

// readNewLines adds the complete lines that were appended to the trace file to the cached
// trace. It fails with status 422 if the trace has more than maxCachedEntries entries.
func (c *cachedTrace) readNewLines(ctx context.Context, file TraceFile) error {
	if c.index.IsFinished() {
		return nil
	}
	for line, err := range file.LinesFrom(ctx, c.index.EntryCount()+1) {
		if err != nil {
			return err
		}
		if c.index.EntryCount() >= maxCachedEntries {
			return endpoint.StatusErrorf(http.StatusUnprocessableEntity, "the trace is too long for this: it has more than %d entries", maxCachedEntries)
		}
		c.index.AddLine(line.Text)
	}
	if file.IsComplete {
		c.index.Finish()
	}
	return nil
}

// notebookAt returns the notebook after the entry seq, which must be in the index.
// It reads the entries since the closest snapshot before seq. Call it inside
// update.
func (c *cachedTrace) notebookAt(ctx context.Context, file TraceFile, seq int64) (*session.NotebookFold, error) {
	from, fold := c.snapshots.atOrBefore(seq)
	if from == seq {
		return fold, nil
	}
	for line, err := range file.LinesFrom(ctx, from+1) {
		if err != nil {
			return nil, err
		}
		if session.CanChangeNotebook(c.index.FrameAt(line.Number).Record) {
			if r, err := trace.ParseRecord(line.Text); err == nil { // an entry that cannot be parsed is skipped
				r.Seq = line.Number
				fold.Apply(r)
			}
		}
		c.snapshots.maybeAdd(line.Number, len(line.Text), fold)
		if line.Number == seq {
			break
		}
	}
	return fold, nil
}
