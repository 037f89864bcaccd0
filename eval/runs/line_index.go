package runs

import (
	"bytes"
	"io/fs"
	"os"
	"sort"
	"sync"
)

const (
	// initialMarkSpacing is the distance in bytes between the first marks of an index. To find a
	// line, at most this many bytes and one line are read needlessly.
	initialMarkSpacing = 256 << 10

	// maxIndexMarks is how many marks an index has at most. When it is full, every second mark is
	// dropped and the spacing doubled.
	maxIndexMarks = 4096

	// fileHeadBytes is how many bytes of a file's beginning are compared to notice that another
	// file has taken its place, possibly with the same inode.
	fileHeadBytes = 256
)

// lineMark is the number of a line and the offset at which it begins.
type lineMark struct {
	lineNumber int64 // number, from 0
	offset     int64 // in bytes
}

// lineIndex remembers where some lines of one file begin. It is filled while the file is read,
// so that only the first reader of a line in the middle has to read from the beginning. It is
// safe for concurrent use.
type lineIndex struct {
	fileInfo fs.FileInfo // identifies the file

	mu       sync.Mutex
	fileHead []byte     // the first bytes of the file, at most fileHeadBytes
	marks    []lineMark // ascending; line 0 is not among them
	spacing  int64      // least distance between marks, in bytes
}

// markBefore returns the last marked line that is not after the line with this number; the
// beginning of the file if there is none.
func (x *lineIndex) markBefore(line int64) lineMark {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := sort.Search(len(x.marks), func(i int) bool { return x.marks[i].lineNumber > line })
	if i == 0 {
		return lineMark{}
	}
	return x.marks[i-1]
}

// addMark remembers where a line begins, if that is at least spacing bytes after the last mark.
// When there are maxIndexMarks, every second mark is dropped and spacing doubled.
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

// lastOffsetLocked returns the offset of the last marked line in bytes; 0 without marks. The
// caller holds mu.
func (x *lineIndex) lastOffsetLocked() int64 {
	if len(x.marks) == 0 {
		return 0
	}
	return x.marks[len(x.marks)-1].offset
}

// matches reports whether the line index belongs to the file with this info and these first
// bytes: it is the same file, which has at most grown.
func (x *lineIndex) matches(info fs.FileInfo, head []byte) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !os.SameFile(x.fileInfo, info) || x.lastOffsetLocked() > info.Size() || !bytes.HasPrefix(head, x.fileHead) {
		return false
	}
	x.fileHead = head
	return true
}
