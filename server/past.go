package server

import (
	"slices"
	"sort"

	"assay/eval/session"
)

const (
	// pointEvery and pointBytes are how far apart the points of a past are at
	// first, in entries and in bytes of their lines: what is read at most, less
	// one line, to come to a moment.
	pointEvery = 2000
	pointBytes = 1 << 20

	// mostPoints is how many points a past has at most, and pastBytes what they
	// take in memory. When there are more, every second goes and they stand twice
	// as far apart.
	mostPoints = 128
	pastBytes  = 128 << 20

	// shared is the part of a notebook's size that another copy of it takes, as
	// what it shows is shared: one in so many.
	shared = 16
)

// past is a notebook as it was at some entries of its trace, for those who want to
// see it at others. It is for one goroutine.
type past struct {
	points []point // ascending
	every  int64   // entries
	reach  int64   // bytes
	bytes  int64   // that all points take, about

	last point // the point before the entry that was noted last, and the bytes since
}

// point is the notebook after an entry. Nothing is added to its fold.
type point struct {
	seq   int64
	bytes int64
	fold  *session.NotebookFold
}

func newPast() *past { return &past{every: pointEvery, reach: pointBytes} }

// before is the notebook at the last known place that is not behind the entry
// seq, to go on with.
func (p *past) before(seq int64) (at int64, fold *session.NotebookFold) {
	p.last = point{}
	if i := p.behind(seq); i > 0 {
		p.last.seq = p.points[i-1].seq
		return p.last.seq, p.points[i-1].fold.Clone()
	}
	return 0, session.NewNotebookFold()
}

// behind is the place of the first point behind an entry.
func (p *past) behind(seq int64) int {
	return sort.Search(len(p.points), func(i int) bool { return p.points[i].seq > seq })
}

// note remembers the notebook after an entry, whose line had so many bytes, if it
// is far enough behind the point before it. Entries are noted one after the
// other, from before on.
func (p *past) note(seq int64, bytes int, fold *session.NotebookFold) {
	p.last.bytes += int64(bytes)
	if seq-p.last.seq < p.every && p.last.bytes < p.reach {
		return
	}
	kept := point{seq: seq, fold: fold.Clone()}
	size := int64(fold.MemoryBytes())
	kept.bytes = min(size, p.last.bytes+size/shared)
	p.points = slices.Insert(p.points, p.behind(seq), kept)
	p.bytes += kept.bytes
	p.last = point{seq: seq}
	for len(p.points) > 1 && (len(p.points) > mostPoints || p.bytes > pastBytes) {
		p.thin()
	}
}

// thin lets every second point go.
func (p *past) thin() {
	kept := p.points[:0]
	p.bytes = 0
	for i, at := range p.points {
		if i%2 == 1 {
			kept = append(kept, at)
			p.bytes += at.bytes
		}
	}
	clear(p.points[len(kept):])
	p.points = kept
	p.every, p.reach = 2*p.every, 2*p.reach
}
