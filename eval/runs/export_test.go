package runs

// MaxIndexMarks exports maxIndexMarks for tests.
const MaxIndexMarks = maxIndexMarks

// LineIndexForTest is a lineIndex without a file.
type LineIndexForTest struct{ index lineIndex }

// NewLineIndexForTest returns an index whose marks are at least spacing bytes apart.
func NewLineIndexForTest(spacing int64) *LineIndexForTest {
	return &LineIndexForTest{index: lineIndex{spacing: spacing}}
}

// AddMark exports lineIndex.addMark: a line begins at an offset in bytes.
func (x *LineIndexForTest) AddMark(line, offset int64) { x.index.addMark(lineMark{line, offset}) }

// MarkBefore exports lineIndex.markBefore: it returns number and offset of the marked line.
func (x *LineIndexForTest) MarkBefore(line int64) (number, offset int64) {
	at := x.index.markBefore(line)
	return at.lineNumber, at.offset
}

// Len returns the number of marks.
func (x *LineIndexForTest) Len() int { return len(x.index.marks) }
