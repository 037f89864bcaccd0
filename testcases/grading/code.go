package grading

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// codeOf returns what is code in source: for python and elisp without comments,
// and with nothing between the quotes of strings but the expressions of
// f-strings. Python's names are as Python takes them, in normal form KC and
// without white space around dots. The source of other languages stays as it is.
func codeOf(language, source string) string {
	s := &scanner{rest: source}
	switch language {
	case "python":
		s.rest = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(source) // both end a line
		s.python("")
		return regexp.MustCompile(`(\s|\\\n)*\.(\s|\\\n)*`).ReplaceAllString(norm.NFKC.String(s.code.String()), ".")
	case "elisp":
		s.elisp()
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
		longer := inName(language, first) && inName(language, before) || inName(language, last) && inName(language, after)
		if !longer {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
	}
}

// inName says whether names of the language may have r in them; RuneError is
// where a text has ended.
func inName(language string, r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	if language == "elisp" {
		return !unicode.IsSpace(r) && !strings.ContainsRune("()[]\"';`,#", r)
	}
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// scanner goes through a source once and keeps what is code.
type scanner struct {
	rest   string
	code   strings.Builder
	nested int // f-strings inside of one another
}

// take moves n bytes on, which are code.
func (s *scanner) take(n int) {
	s.code.WriteString(s.rest[:n])
	s.rest = s.rest[n:]
}

// skip moves n bytes on, or to the end, which are none.
func (s *scanner) skip(n int) { s.rest = s.rest[min(n, len(s.rest)):] }

// skipLine moves to the end of the line.
func (s *scanner) skipLine() {
	if end := strings.IndexByte(s.rest, '\n'); end >= 0 {
		s.skip(end)
		return
	}
	s.rest = ""
}

// elisp keeps what is not behind a semicolon or between double quotes; of ?" and
// ?; too, which are characters.
func (s *scanner) elisp() {
	for s.rest != "" {
		switch {
		case s.rest[0] == ';':
			s.skipLine()
		case s.rest[0] == '"':
			s.code.WriteString(`""`)
			s.skip(1)
			s.toQuote(`"`, false)
		case strings.HasPrefix(s.rest, `?\`):
			s.take(min(3, len(s.rest)))
		case strings.HasPrefix(s.rest, `?"`), strings.HasPrefix(s.rest, "?;"):
			s.take(2)
		default:
			s.take(1)
		}
	}
}

// toQuote moves behind the closing quote of a string, or, where one line is all
// it may have, to the line's end.
func (s *scanner) toQuote(quote string, oneLine bool) {
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
