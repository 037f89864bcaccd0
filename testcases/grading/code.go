package grading

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// extractCode returns the code in a cell's source: Python and Elisp without comments,
// and with strings reduced to their quotes and the expressions of f-strings. Python's
// names are normalised as Python does (NFKC), and white space around dots is removed.
// Source in other languages is returned unchanged.
func extractCode(language, source string) string {
	s := &codeScanner{rest: source}
	switch language {
	case "python":
		s.rest = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source) // each of them ends a line
		s.scanPython("")
		return regexp.MustCompile(`(\s|\\\n)*\.(\s|\\\n)*`).ReplaceAllString(norm.NFKC.String(s.code.String()), ".")
	case "elisp":
		s.scanElisp()
		return s.code.String()
	default:
		return source
	}
}

// containsWord reports whether text contains name as a whole word, not as a part of a
// longer name of the language. If name begins or ends with a sign, as %timeit does, any
// character may be next to that sign.
func containsWord(language, text, name string) bool {
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

// isNameRune reports whether r can be part of a name in the language. It is false for
// RuneError, which stands for the end of a text.
func isNameRune(language string, r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	if language == "elisp" {
		return !unicode.IsSpace(r) && !strings.ContainsRune("()[]\"';`,#", r)
	}
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// codeScanner goes through the source of a cell once and collects what is code.
type codeScanner struct {
	rest         string
	code         strings.Builder
	fStringDepth int // depth of f-strings inside of f-strings
}

// keepBytes adds the next n bytes of the source to the code and moves past them.
func (s *codeScanner) keepBytes(n int) {
	s.code.WriteString(s.rest[:n])
	s.rest = s.rest[n:]
}

// skipBytes moves past the next n bytes of the source, or to its end, without adding
// them to the code.
func (s *codeScanner) skipBytes(n int) { s.rest = s.rest[min(n, len(s.rest)):] }

// skipLine moves to the end of the line, without adding anything to the code.
func (s *codeScanner) skipLine() {
	if end := strings.IndexByte(s.rest, '\n'); end >= 0 {
		s.skipBytes(end)
		return
	}
	s.rest = ""
}

// scanElisp adds Elisp source to the code, without comments and without the contents of
// strings. ?" and ?; are character literals.
func (s *codeScanner) scanElisp() {
	for s.rest != "" {
		switch {
		case s.rest[0] == ';':
			s.skipLine()
		case s.rest[0] == '"':
			s.code.WriteString(`""`)
			s.skipBytes(1)
			s.skipString(`"`, false)
		case strings.HasPrefix(s.rest, `?\`):
			s.keepBytes(min(3, len(s.rest)))
		case strings.HasPrefix(s.rest, `?"`), strings.HasPrefix(s.rest, "?;"):
			s.keepBytes(2)
		default:
			s.keepBytes(1)
		}
	}
}

// skipString moves past the closing quote of a string. If oneLine is set, the string
// ends at the end of the line at the latest.
func (s *codeScanner) skipString(quote string, oneLine bool) {
	for s.rest != "" {
		switch {
		case strings.HasPrefix(s.rest, quote):
			s.skipBytes(len(quote))
			return
		case s.rest[0] == '\\':
			s.skipBytes(2)
		case s.rest[0] == '\n' && oneLine:
			return
		default:
			s.skipBytes(1)
		}
	}
}

// scanPython adds Python source to the code, without comments and without the contents
// of strings, up to one of the characters in stops outside all brackets, or to the end.
func (s *codeScanner) scanPython(stops string) {
	depth := 0
	for s.rest != "" {
		c := s.rest[0]
		switch {
		case strings.HasPrefix(s.rest, "!="):
			s.keepBytes(2)
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
		s.keepNameOrByte()
	}
}

// keepNameOrByte adds the next name in the source, or one byte of anything else, to the
// code.
func (s *codeScanner) keepNameOrByte() {
	n := 0
	for n < len(s.rest) && isWordByte(s.rest[n]) {
		n++
	}
	s.keepBytes(max(n, 1))
}

// isWordByte reports whether the byte c can be part of a name. Bytes outside ASCII
// count as letters.
func isWordByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// scanPythonString moves past a Python string if one begins here, and adds two quotes
// and the expressions of an f-string to the code. It reports whether there was a
// string.
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
	s.skipBytes(n + len(quote))
	s.code.WriteString(`""`)
	if strings.ContainsAny(prefix, "fFtT") {
		s.scanFString(quote)
	} else {
		s.skipString(quote, len(quote) == 1)
	}
	return true
}

// maxFStringNesting is the largest number of f-strings inside each other that is
// scanned. Python accepts no more than 150 levels, so deeper ones cannot be in a cell
// that ran.
const maxFStringNesting = 200

// scanFString moves past the closing quote of an f-string and adds the expressions
// between its braces to the code, including those in format specifications.
func (s *codeScanner) scanFString(quote string) {
	open := 0 // number of braces in whose format specifications this is
	for s.rest != "" {
		switch {
		case strings.HasPrefix(s.rest, quote):
			s.skipBytes(len(quote))
			return
		case s.rest[0] == '\\':
			s.skipBytes(2)
		case s.rest[0] == '\n' && len(quote) == 1:
			return
		case strings.HasPrefix(s.rest, "{{") && open == 0:
			s.skipBytes(2)
		case s.rest[0] == '{' && s.fStringDepth < maxFStringNesting:
			s.skipBytes(1)
			s.code.WriteByte(' ')
			s.fStringDepth++
			s.scanPython("}:!")
			s.fStringDepth--
			s.code.WriteByte(' ')
			if strings.HasPrefix(s.rest, ":") || strings.HasPrefix(s.rest, "!") {
				open++
			}
			s.skipBytes(1)
		case s.rest[0] == '}' && open > 0:
			open--
			s.skipBytes(1)
		default:
			s.skipBytes(1)
		}
	}
}
