package server

// Past is the places of a past by themselves.
type Past struct{ past *past }

// NewPast returns one of nothing yet.
func NewPast() *Past { return &Past{newPast()} }

// Note notes entries from 1 to n, each with a line of so many bytes.
func (p *Past) Note(n int64, bytes int) {
	_, fold := p.past.before(n)
	for seq := int64(1); seq <= n; seq++ {
		p.past.note(seq, bytes, fold)
	}
}

// Before is the last place known that is not behind an entry.
func (p *Past) Before(seq int64) int64 {
	at, _ := p.past.before(seq)
	return at
}

// Len is how many places there are.
func (p *Past) Len() int { return len(p.past.points) }
