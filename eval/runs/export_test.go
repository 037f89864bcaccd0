package runs

// MaxIndexMarks is how many marks an index has at most.
const MaxIndexMarks = maxIndexMarks

// LineIndexForTest is an index by itself.
type LineIndexForTest struct{ index lineIndex }

// NewLineIndexForTest returns an index whose marks stand at least step bytes apart.
func NewLineIndexForTest(step int64) *LineIndexForTest {
	return &LineIndexForTest{index: lineIndex{spacing: step}}
}

// AddMark remembers where a line begins.
func (m *LineIndexForTest) AddMark(line, offset int64) { m.index.addMark(lineMark{line, offset}) }

// MarkBefore returns the last place known that is not behind a line.
func (m *LineIndexForTest) MarkBefore(line int64) (n, offset int64) {
	at := m.index.markBefore(line)
	return at.line, at.offset
}

// Len is how many marks there are.
func (m *LineIndexForTest) Len() int { return len(m.index.marks) }
