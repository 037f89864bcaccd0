package runs

import (
	"bytes"
	"io/fs"
	"os"
	"sort"
	"sync"
)

const (
	// initialMarkSpacing is how far apart the marks of an index are at first, in bytes:
	// what is read at most, less one line, to come to a line.
	initialMarkSpacing = 256 << 10

	// maxIndexMarks is how many marks an index has at most. When there are more,
	// every second goes and they stand twice as far apart.
	maxIndexMarks = 4096

	// fileHeadBytes is by how much of its beginning a file is told from another that
	// has taken its place and, as may be, its number on the disk.
	fileHeadBytes = 256
)

// lineMark is where a line begins.
type lineMark struct {
	line   int64 // from 0
	offset int64 // in bytes
}

// lineIndex knows where some of a file's lines begin, because somebody has read
// there. It is made while reading, so that only the first who wants the middle
// of a long file comes by its beginning. It is safe for concurrent use.
type lineIndex struct {
	file fs.FileInfo // of the file that it is of

	mu      sync.Mutex
	head    []byte     // the beginning of the file, as far as it has been seen
	marks   []lineMark // ascending; the beginning is not among them
	spacing int64
}

// markBefore returns the last place known that is not behind a line.
func (x *lineIndex) markBefore(line int64) lineMark {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].line > line })
	if i == 0 {
		return lineMark{}
	}
	return x.marks[i-1]
}

// addMark remembers a place, if it is far enough behind those known.
func (x *lineIndex) addMark(at lineMark) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if at.offset-x.lastOffsetLocked() < x.spacing {
		return
	}
	if len(x.marks) == maxIndexMarks {
		for i := range maxIndexMarks / 2 {
			x.marks[i] = x.marks[2*i+1]
		}
		x.marks = x.marks[:maxIndexMarks/2]
		x.spacing *= 2
	}
	x.marks = append(x.marks, at)
}

func (x *lineIndex) lastOffsetLocked() int64 {
	if len(x.marks) == 0 {
		return 0
	}
	return x.marks[len(x.marks)-1].offset
}

// matches tells whether the index is of the file that info tells of, which begins
// with head and has then only grown.
func (x *lineIndex) matches(info fs.FileInfo, head []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !os.SameFile(x.file, info) || x.lastOffsetLocked() > info.Size() || !bytes.HasPrefix(head, x.head) {
		return false
	}
	x.head = head
	return true
}
