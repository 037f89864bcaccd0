package grading

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// extractCode returns what is code in source: for python and elisp without comments,
// and with nothing between the quotes of strings but the expressions of
// f-strings. Python's names are as Python takes them, in normal form KC and
// without white space around dots. The source of other languages stays as it is.
func extractCode(language, source string) string {
	s := &codeScanner{rest: source}
	switch language {
	case "python":
		s.rest = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source) // both end a line
		s.scanPython("")
		return regexp.MustCompile(`(\s|\\\n)*\.(\s|\\\n)*`).ReplaceAllString(norm.NFKC.String(s.code.String()), ".")
	case "elisp":
		s.scanElisp()
		return s.code.String()
	default:
		return source
	}
}

// hasWord says whether text has name where it is not part of a longer name of
// the language. A name may begin or end with signs, as in %timeit: beside these
// anything may stand.
func hasWord(language, text, name string) bool {
	first, _ := utf8.DecodeRuneInString(name)
	last, _ := utf8.DecodeLastRuneInString(name)
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		longer := isNameRune(language, first) && isNameRune(language, before) || isNameRune(language, last) && isNameRune(language, after)
		if !longer {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
	}
}

// isNameRune says whether names of the language may have r in them; RuneError is
// where a text has ended.
func isNameRune(language string, r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	if language == "elisp" {
		return !unicode.IsSpace(r) && !strings.ContainsRune("()[]\"';`,#", r)
	}
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// codeScanner goes through a source once and keeps what is code.
type codeScanner struct {
	rest   string
	code   strings.Builder
	nested int // f-strings inside of one another
}

// keep moves n bytes on, which are code.
func (s *codeScanner) keep(n int) {
	s.code.WriteString(s.rest[:n])
	s.rest = s.rest[n:]
}

// skip moves n bytes on, or to the end, which are none.
func (s *codeScanner) skip(n int) { s.rest = s.rest[min(n, len(s.rest)):] }

// skipLine moves to the end of the line.
func (s *codeScanner) skipLine() {
	if end := strings.IndexByte(s.rest, '\n'); end >= 0 {
		s.skip(end)
		return
	}
	s.rest = ""
}

// scanElisp keeps what is not behind a semicolon or between double quotes; of ?" and
// ?; too, which are characters.
func (s *codeScanner) scanElisp() {
	for s.rest != "" {
		switch {
		case s.rest[0] == ';':
			s.skipLine()
		case s.rest[0] == '"':
			s.code.WriteString(`""`)
			s.skip(1)
			s.skipString(`"`, false)
		case strings.HasPrefix(s.rest, `?\`):
			s.keep(min(3, len(s.rest)))
		case strings.HasPrefix(s.rest, `?"`), strings.HasPrefix(s.rest, "?;"):
			s.keep(2)
		default:
			s.keep(1)
		}
	}
}

// skipString moves behind the closing quote of a string, or, where one line is all
// it may have, to the line's end.
func (s *codeScanner) skipString(quote string, oneLine bool) {
	for s.rest != "" {
		switch {
		case strings.HasPrefix(s.rest, quote):
			s.skip(len(quote))
			return
		case s.rest[0] == '\\':
			s.skip(2)
		case s.rest[0] == '\n' && oneLine:
			return
		default:
			s.skip(1)
		}
	}
}

// scanPython keeps Python code up to one of the stops, which stand outside of all
// brackets; without any, up to the end.
func (s *codeScanner) scanPython(stops string) {
	depth := 0
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case strings.HasPrefix(s.rest, "!="):
			s.keep(2)
			continue
		case depth == 0 && strings.IndexByte(stops, c) >= 0:
			return
		case c == '#':
			s.skipLine()
			continue
		case s.scanPythonString():
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		s.keepWord()
	}
}

// keepWord takes a name, or a byte of anything else.
func (s *codeScanner) keepWord() {
	n := 0
	for n < len(s.rest) && isWordByte(s.rest[n]) {
		n++
	}
	s.keep(max(n, 1))
}

// isWordByte says whether names may have c in them; all beyond ASCII is taken for
// letters.
func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// scanPythonString moves behind a string, if one begins here, and keeps two quotes
// of it and the expressions in it.
func (s *codeScanner) scanPythonString() bool {
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
		s.scanFString(quote)
	} else {
		s.skipString(quote, len(quote) == 1)
	}
	return true
}

// maxFStringNesting is how deep f-strings may stand inside one another. Python itself
// takes no more than 150; what is deeper is no code of a cell that ran.
const maxFStringNesting = 200

// scanFString moves behind the closing quote of an f-string, and keeps the
// expressions between its braces, those of format specifications too.
func (s *codeScanner) scanFString(quote string) {
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
		case s.rest[0] == '{' && s.nested < maxFStringNesting:
			s.skip(1)
			s.code.WriteByte(' ')
			s.nested++
			s.scanPython("}:!")
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
