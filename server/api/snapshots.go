package api

import (
	"slices"
	"sort"

	"assay/eval/session"
)

const (
	// initialSnapshotEntries and initialSnapshotBytes (of trace lines) are the
	// distance between two snapshots at first: the most that has to be read, but
	// for one line, to reach any entry.
	initialSnapshotEntries = 2000
	initialSnapshotBytes   = 1 << 20

	// maxSnapshots and maxSnapshotBytes (an estimate of memory) limit the snapshots
	// of one trace. Beyond them every second snapshot is dropped and the distance
	// doubled.
	maxSnapshots     = 128
	maxSnapshotBytes = 128 << 20

	// copyDivisor estimates the memory of a copy of a notebook: copies share the
	// outputs, so that one takes a 16th of the notebook's size.
	copyDivisor = 16
)

// notebookSnapshots are the states of a notebook after some entries of its trace, from
// which those after other entries are computed. It is not safe for concurrent use.
type notebookSnapshots struct {
	all   []notebookSnapshot // ascending by seq
	bytes int64              // estimate of the memory used by all

	minEntries int64 // distance at which the next snapshot is taken
	minBytes   int64 // the same, in bytes of trace lines

	lastSeq   int64 // of the newest snapshot before the entry offered last
	lineBytes int64 // of the lines since then
}

// notebookSnapshot is the notebook after one entry. Its fold is never changed.
type notebookSnapshot struct {
	seq   int64
	bytes int64 // estimate of the memory used
	fold  *session.NotebookFold
}

func newNotebookSnapshots() *notebookSnapshots {
	return &notebookSnapshots{minEntries: initialSnapshotEntries, minBytes: initialSnapshotBytes}
}

// atOrBefore returns the newest snapshot that is not after the entry seq, as a copy
// that the caller may change, and the seq that it belongs to. Without a snapshot it
// returns the empty notebook and 0.
func (s *notebookSnapshots) atOrBefore(seq int64) (at int64, fold *session.NotebookFold) {
	s.lastSeq, s.lineBytes = 0, 0
	if i := s.indexAfter(seq); i > 0 {
		s.lastSeq = s.all[i-1].seq
		return s.lastSeq, s.all[i-1].fold.Clone()
	}
	return 0, session.NewNotebookFold()
}

// indexAfter returns the index of the first snapshot after the entry seq.
func (s *notebookSnapshots) indexAfter(seq int64) int {
	return sort.Search(len(s.all), func(i int) bool { return s.all[i].seq > seq })
}

// maybeAdd takes a snapshot of the notebook after the entry seq if the previous snapshot is
// far enough away. lineBytes is the length of the entry's line. After a call of atOrBefore,
// maybeAdd must be called for every entry in turn.
func (s *notebookSnapshots) maybeAdd(seq int64, lineBytes int, fold *session.NotebookFold) {
	s.lineBytes += int64(lineBytes)
	if seq-s.lastSeq < s.minEntries && s.lineBytes < s.minBytes {
		return
	}
	size := int64(fold.MemoryBytes())
	taken := notebookSnapshot{seq: seq, bytes: min(size, s.lineBytes+size/copyDivisor), fold: fold.Clone()}
	s.all = slices.Insert(s.all, s.indexAfter(seq), taken)
	s.bytes += taken.bytes
	s.lastSeq, s.lineBytes = seq, 0
	for len(s.all) > 1 && (len(s.all) > maxSnapshots || s.bytes > maxSnapshotBytes) {
		s.dropEverySecond()
	}
}

func (s *notebookSnapshots) dropEverySecond() {
	kept := s.all[:0]
	s.bytes = 0
	for i, taken := range s.all {
		if i%2 == 1 {
			kept = append(kept, taken)
			s.bytes += taken.bytes
		}
	}
	clear(s.all[len(kept):])
	s.all = kept
	s.minEntries, s.minBytes = 2*s.minEntries, 2*s.minBytes
}
