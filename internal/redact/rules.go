package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

const (
	// minSecretBytes is the least length of a secret value: a shorter one would be found in
	// texts that have nothing to do with it.
	minSecretBytes = 8

	// minBeginningBytes is how much of a secret must be seen at the end of a piece to be
	// replaced before the rest is seen.
	minBeginningBytes = 6
)

// rules say what is secret. They do not change.
type rules struct {
	needles []needle
	byPair  map[[2]byte][]*needle // needles by the two bytes that they begin with

	// Sets of needles, as bits, by their first and their second byte. Needle n is bit n%64.
	first, second [256]uint64

	patterns []pattern
}

// pattern is a regular expression of the user.
type pattern struct {
	whole     *regexp.Regexp
	beginning *regexp.Regexp // matches a beginning of what whole matches, at the end of a text
}

// span is a part of a text that is secret: from the byte start to before the byte end.
type span struct {
	start, end  int
	replacement string
}

// findings are the secrets in a text.
type findings struct {
	spans []span // in order, without overlap

	// unfinished is where at the end of the text something begins that may be a secret, if
	// more text comes; the length of the text if nothing does.
	unfinished int
}

// newRules returns the rules that cfg asks for. It fails as [New] does.
func newRules(cfg Config) (*rules, error) {
	r := &rules{byPair: map[[2]byte][]*needle{}}
	for _, name := range cfg.Names {
		at := slices.IndexFunc(cfg.Environ, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		if at < 0 {
			return nil, fmt.Errorf("there is no environment variable %s", name)
		}
		value := strings.TrimPrefix(cfg.Environ[at], name+"=")
		if len(value) < minSecretBytes {
			return nil, fmt.Errorf("environment variable %s: %d bytes are too few to find it in other text; at least %d are needed", name, len(value), minSecretBytes)
		}
		r.needles = append(r.needles, secretNeedles(name, value)...)
	}
	for _, variable := range cfg.Environ {
		name, value, _ := strings.Cut(variable, "=")
		if IsSecretName(name) && looksSecret(value) && !slices.Contains(cfg.Names, name) {
			r.needles = append(r.needles, secretNeedles(name, value)...)
		}
		for _, password := range PasswordsOfURLs(value) {
			if len(password) >= minSecretBytes {
				r.needles = append(r.needles, secretNeedles(name, password)...)
			}
		}
	}
	r.needles = append(r.needles, keyForms()...)
	for i := range r.needles {
		r.index(&r.needles[i], i)
	}
	for _, whole := range cfg.Patterns {
		if whole.MatchString("") {
			return nil, fmt.Errorf("pattern %s matches the empty text", whole)
		}
		beginning, err := beginningOf(whole)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", whole, err)
		}
		r.patterns = append(r.patterns, pattern{whole, beginning})
	}
	return r, nil
}

// urlWithPassword matches the beginning of a URL with a user and a password.
var urlWithPassword = regexp.MustCompile(`://[^\s/@]*:([^\s@]+)@`)

// PasswordsOfURLs returns the passwords in the URLs of a text, such as that of https://user:password@host: each as it is
// written there and, if that is another text, without the escapes of a URL.
func PasswordsOfURLs(text string) (passwords []string) {
	for _, found := range urlWithPassword.FindAllStringSubmatch(text, -1) {
		passwords = append(passwords, found[1])
		if plain, err := url.PathUnescape(found[1]); err == nil && plain != found[1] {
			passwords = append(passwords, plain)
		}
	}
	return passwords
}

// index adds needle n, which has this number, to the tables by the first two bytes.
func (r *rules) index(n *needle, number int) {
	bit := uint64(1) << (number % 64)
	second := []byte{n.text[1]}
	switch { // what match skips
	case n.isBase64:
		second = append(second, '\n', '\r', '\\')
	case isQuotedByBackslash(n.text[1]):
		second = append(second, '\\')
	}
	r.first[n.text[0]] |= bit
	for _, b := range second {
		pair := [2]byte{n.text[0], b}
		r.byPair[pair] = append(r.byPair[pair], n)
		r.second[b] |= bit
	}
}

// find returns the secrets in text. A beginning of a secret at the end of text that is long
// enough is among the spans.
func (r *rules) find(text []byte) findings {
	found := findings{unfinished: len(text)}
	for i := 0; ; {
		if i = r.nextBeginning(text, i); i >= len(text) {
			break
		}
		m := r.matchAt(text, i)
		if m.isUnfinished {
			found.unfinished = min(found.unfinished, i)
		}
		if m.end == 0 {
			i++
			continue
		}
		found.spans = append(found.spans, span{i, m.end, m.replacement})
		i = m.end
	}
	for _, p := range r.patterns {
		found.addPattern(p, text)
	}
	if len(r.patterns) > 0 {
		found.addEncoded(r.patterns, text)
	}
	return found
}

// nextBeginning returns the index of the first byte, from text[i] on, at which a needle may begin;
// len(text) or more if there is none.
func (r *rules) nextBeginning(text []byte, i int) int {
	if i >= len(text) {
		return i
	}
	last := len(text) - 1
	for rest := text[i:]; len(rest) > 1; rest = rest[1:] {
		if r.first[rest[0]]&r.second[rest[1]] != 0 {
			return len(text) - len(rest)
		}
	}
	if r.first[text[last]] != 0 {
		return last
	}
	return len(text)
}

// match is what begins at a byte of a text.
type match struct {
	end          int // of the longest secret; 0: there is none
	replacement  string
	isUnfinished bool // a secret may go on in the text that follows
}

// matchAt returns the longest secret that begins at text[i], which nextBeginning has found.
func (r *rules) matchAt(text []byte, i int) match {
	var longest match
	if i == len(text)-1 {
		return match{isUnfinished: r.first[text[i]] != 0}
	}
	for _, n := range r.byPair[[2]byte{text[i], text[i+1]}] {
		m := n.match(text, i)
		longest.isUnfinished = longest.isUnfinished || m.isUnfinished
		if m.end > longest.end {
			longest.end, longest.replacement = m.end, n.replacement
		}
	}
	return longest
}

// addPattern adds what p matches in text.
func (f *findings) addPattern(p pattern, text []byte) {
	for _, m := range p.whole.FindAllIndex(text, -1) {
		if m[0] < m[1] {
			f.spans = append(f.spans, span{m[0], m[1], patternReplacement})
		}
	}
	if m := p.beginning.FindIndex(text); m != nil && m[0] < m[1] {
		f.unfinished = min(f.unfinished, m[0])
		if m[1]-m[0] >= minBeginningBytes {
			f.spans = append(f.spans, span{m[0], m[1], patternReplacement})
		}
	}
	f.mergeSpans()
}

// encodedText matches text in base64 and text encoded for URLs.
var encodedText = regexp.MustCompile(`[A-Za-z0-9+/_-]{8,}|[A-Za-z0-9%+._~*!-]*%[0-9A-Fa-f]{2}[A-Za-z0-9%+._~*!-]*|[A-Za-z0-9._~*!-]+(?:\+[A-Za-z0-9._~*!-]+)+`)

// addEncoded adds those encoded parts of text that have a match of a pattern when they are
// decoded.
func (f *findings) addEncoded(patterns []pattern, text []byte) {
	for _, m := range encodedText.FindAllIndex(text, -1) {
		part := string(text[m[0]:m[1]])
		var decoded []string
		if fromURL, err := url.QueryUnescape(part); err == nil {
			decoded = append(decoded, fromURL)
		}
		standard := strings.NewReplacer("-", "+", "_", "/").Replace(part)
		for start := range min(4, len(standard)) { // what is before it, such as the n of \n, may look like base64, too
			fromBase64, _ := base64.RawStdEncoding.DecodeString(standard[start:]) // all but an incomplete end
			decoded = append(decoded, string(fromBase64))
		}
		for _, p := range patterns {
			if slices.ContainsFunc(decoded, p.whole.MatchString) {
				f.spans = append(f.spans, span{m[0], m[1], patternReplacement})
				break
			}
		}
	}
	f.mergeSpans()
}

// mergeSpans sorts the spans and joins those that overlap.
func (f *findings) mergeSpans() {
	slices.SortStableFunc(f.spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	merged := f.spans[:0]
	for _, next := range f.spans {
		if n := len(merged); n > 0 && next.start < merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, next.end)
			continue
		}
		merged = append(merged, next)
	}
	f.spans = merged
}

// needle is a text that is secret, or the beginning of texts that are.
type needle struct {
	text        []byte
	replacement string
	isBase64    bool // in both alphabets, and with line breaks anywhere

	// form is the form of what follows text; nil: nothing does.
	form *form
}

// form is the form of a text: at least minBytes bytes of a set.
type form struct {
	bytes    [256]bool
	minBytes int
}

// match compares n with what begins at text[i].
func (n *needle) match(text []byte, i int) match {
	if n.form != nil && i > 0 && isWordByte(text[i-1]) && !n.isBase64 {
		return match{}
	}
	at := i
	for _, want := range n.text {
		if at = n.skipLineBreak(text, at); !n.isBase64 && isQuotedByBackslash(want) {
			at = skipBackslashes(text, at, want)
		}
		if at == len(text) {
			return n.beginning(i, at)
		}
		is := text[at]
		if n.isBase64 {
			is = toStandardBase64(is)
		}
		if is != want {
			return match{}
		}
		at++
	}
	if n.form == nil {
		return match{end: at}
	}
	length := 0
	for next := n.skipLineBreak(text, at); next < len(text) && n.form.bytes[text[next]]; next = n.skipLineBreak(text, at) {
		at = next + 1
		length++
	}
	switch isAtEnd := n.skipLineBreak(text, at) == len(text); {
	case length >= n.form.minBytes:
		return match{end: at, isUnfinished: isAtEnd}
	case isAtEnd:
		return n.beginning(i, at)
	default:
		return match{}
	}
}

// beginning returns the match of the beginning of a secret that goes from text[start] to the
// text's end. The public beginning of a key is not a secret.
func (n *needle) beginning(start, end int) match {
	enough := minBeginningBytes
	if n.form != nil {
		enough += len(n.text)
	}
	if end-start < enough {
		return match{isUnfinished: true}
	}
	return match{end: end, isUnfinished: true}
}

// skipLineBreak returns the index after the line breaks at text[at], which may be quoted as \n, if n
// may have line breaks.
func (n *needle) skipLineBreak(text []byte, at int) int {
	for n.isBase64 && at < len(text) {
		next := skipBackslashes(text, at, 0)
		switch {
		case text[at] == '\n' || text[at] == '\r':
			at++
		case next > at && next < len(text) && (text[next] == 'n' || text[next] == 'r'):
			at = next + 1
		default:
			return at
		}
	}
	return at
}

// isQuotedByBackslash reports whether b may have backslashes before it in quoted text, more of
// them the more often the text is quoted.
func isQuotedByBackslash(b byte) bool { return b == '"' || b == '\'' || b == '/' || b == '\\' }

// skipBackslashes returns the index after the backslashes at text[at], or of the last one if a
// backslash is wanted.
func skipBackslashes(text []byte, at int, want byte) int {
	start := at
	for at < len(text) && text[at] == '\\' {
		at++
	}
	if want == '\\' && at > start {
		at--
	}
	return at
}

// toStandardBase64 returns the character of base64's standard alphabet that stands for the same
// six bits as b, which may be of the alphabet for URLs.
func toStandardBase64(b byte) byte {
	switch b {
	case '-':
		return '+'
	case '_':
		return '/'
	default:
		return b
	}
}

// isWordByte reports whether b is a letter, a digit or an underscore.
func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// newForm returns the form of at least minBytes bytes of a character class, such as "A-Za-z_".
func newForm(class string, minBytes int) *form {
	f := &form{minBytes: minBytes}
	for i := 0; i < len(class); i++ {
		from, to := class[i], class[i]
		if i+2 < len(class) && class[i+1] == '-' {
			to = class[i+2]
			i += 2
		}
		for b := int(from); b <= int(to); b++ {
			f.bytes[b] = true
		}
	}
	return f
}

// replacementFor returns the text that takes the place of the secret of this name.
func replacementFor(name string) string { return "[redacted " + name + "]" }

// patternReplacement takes the place of what a pattern of the user matches.
const patternReplacement = "[redacted]"

// dedupe removes needles with the same text.
func dedupe(needles []needle) []needle {
	var kept []needle
	for _, n := range needles {
		if !slices.ContainsFunc(kept, func(k needle) bool { return bytes.Equal(k.text, n.text) && k.isBase64 == n.isBase64 }) {
			kept = append(kept, n)
		}
	}
	return kept
}
