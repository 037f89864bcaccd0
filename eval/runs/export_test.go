package runs

// MaxIndexMarks exports maxIndexMarks, the number of marks that a line index has at most.
const MaxIndexMarks = maxIndexMarks

// LineIndexForTest is a lineIndex that does not belong to a file.
type LineIndexForTest struct{ index lineIndex }

// NewLineIndexForTest returns a line index whose marks are at least spacing bytes apart.
func NewLineIndexForTest(spacing int64) *LineIndexForTest {
	return &LineIndexForTest{index: lineIndex{spacing: spacing}}
}

// AddMark exports lineIndex.addMark: it tells the index that a line begins at an offset in
// bytes.
func (x *LineIndexForTest) AddMark(line, offset int64) { x.index.addMark(lineMark{line, offset}) }

// MarkBefore exports lineIndex.markBefore: it returns number and offset of the last marked line
// that is not after a line.
func (x *LineIndexForTest) MarkBefore(line int64) (number, offset int64) {
	at := x.index.markBefore(line)
	return at.lineNumber, at.offset
}

// Len returns how many marks the line index has.
func (x *LineIndexForTest) Len() int { return len(x.index.marks) }
