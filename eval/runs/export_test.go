package runs

// MostMarks is how many marks an index has at most.
const MostMarks = indexMarks

// Marks is an index by itself.
type Marks struct{ index index }

// NewMarks returns an index whose marks stand at least step bytes apart.
func NewMarks(step int64) *Marks { return &Marks{index: index{step: step}} }

// Note remembers where a line begins.
func (m *Marks) Note(line, offset int64) { m.index.note(mark{line, offset}) }

// Before returns the last place known that is not behind a line.
func (m *Marks) Before(line int64) (n, offset int64) {
	at := m.index.before(line)
	return at.line, at.offset
}

// Len is how many marks there are.
func (m *Marks) Len() int { return len(m.index.marks) }
