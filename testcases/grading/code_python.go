package grading

import "strings"

// python keeps Python code up to one of the stops, which stand outside of all
// brackets; without any, up to the end.
func (s *scanner) python(stops string) {
	depth := 0
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case strings.HasPrefix(s.rest, "!="):
			s.take(2)
			continue
		case depth == 0 && strings.IndexByte(stops, c) >= 0:
			return
		case c == '#':
			s.skipLine()
			continue
		case s.pythonString():
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		s.takeWord()
	}
}

// takeWord takes a name, or a byte of anything else.
func (s *scanner) takeWord() {
	n := 0
	for n < len(s.rest) && wordByte(s.rest[n]) {
		n++
	}
	s.take(max(n, 1))
}

// wordByte says whether names may have c in them; all beyond ASCII is taken for
// letters.
func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// pythonString moves behind a string, if one begins here, and keeps two quotes
// of it and the expressions in it.
func (s *scanner) pythonString() bool {
	n := 0
	for n < len(s.rest) && n < 2 && strings.IndexByte("rRbBuUfFtT", s.rest[n]) >= 0 {
		n++
	}
	if n == len(s.rest) || s.rest[n] != '"' && s.rest[n] != '\'' {
		return false
	}
	prefix, quote := s.rest[:n], s.rest[n:n+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.rest[n:], triple) {
		quote = triple
	}
	s.skip(n + len(quote))
	s.code.WriteString(`""`)
	if strings.ContainsAny(prefix, "fFtT") {
		s.fString(quote)
	} else {
		s.toQuote(quote, len(quote) == 1)
	}
	return true
}

// mostNested is how deep f-strings may stand inside one another. Python itself
// takes no more than 150; what is deeper is no code of a cell that ran.
const mostNested = 200

// fString moves behind the closing quote of an f-string, and keeps the
// expressions between its braces, those of format specifications too.
func (s *scanner) fString(quote string) {
	open := 0 // braces whose format specification this is in
	for s.rest != "" {
		switch {
		case strings.HasPrefix(s.rest, quote):
			s.skip(len(quote))
			return
		case s.rest[0] == '\\':
			s.skip(2)
		case s.rest[0] == '\n' && len(quote) == 1:
			return
		case strings.HasPrefix(s.rest, "{{") && open == 0:
			s.skip(2)
		case s.rest[0] == '{' && s.nested < mostNested:
			s.skip(1)
			s.code.WriteByte(' ')
			s.nested++
			s.python("}:!")
			s.nested--
			s.code.WriteByte(' ')
			if strings.HasPrefix(s.rest, ":") || strings.HasPrefix(s.rest, "!") {
				open++
			}
			s.skip(1)
		case s.rest[0] == '}' && open > 0:
			open--
			s.skip(1)
		default:
			s.skip(1)
		}
	}
}
