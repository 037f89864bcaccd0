// Package redact replaces secrets in what is written to files, logs and terminals.
//
// Secret are the values of environment variables whose names look like those of keys, what the
// user names with --redact, and texts that have the form of a key of a known vendor. A secret is
// found as it is, URL-encoded, escaped for JSON, and in base64, which may have line breaks in it.
// The text "[redacted NAME]" takes its place.
//
// Text often comes in pieces, such as a model's reply, and a secret may be cut anywhere. A
// [Stream] replaces what it recognises as the beginning of a secret at the end of a piece, and
// the rest at the beginning of the next. Only a beginning of fewer than six bytes is let through,
// because any text may end in that; nothing is held back, so that what is written is never late.
package redact

import (
	"io"
	"regexp"
	"slices"
	"sync/atomic"
)

// Redactor replaces secrets. The nil Redactor replaces nothing. It is safe for concurrent use.
type Redactor struct {
	rules  *rules
	count  atomic.Int64
	parent *Redactor // counts too; may be nil
}

// Config says what is secret, beside the forms of vendors' keys.
type Config struct {
	// Environ has environment variables as "NAME=value". The values of those are
	// secret for which [IsSecretName] holds, if [looksSecret] holds for the value.
	Environ []string

	// Names has the names of further variables in Environ.
	Names []string

	// Patterns match further secrets, of any length.
	Patterns []*regexp.Regexp
}

// New returns a Redactor. It fails if a variable in Names is not in Environ or its value is too
// short, and if a pattern matches the empty text.
func New(cfg Config) (*Redactor, error) {
	rules, err := newRules(cfg)
	if err != nil {
		return nil, err
	}
	return &Redactor{rules: rules}, nil
}

// NewCounter returns a Redactor with the same rules whose Count begins at 0. What it replaces, r
// counts too.
func (r *Redactor) NewCounter() *Redactor {
	if r == nil {
		return nil
	}
	return &Redactor{rules: r.rules, parent: r}
}

// Count returns how many secrets have been replaced.
func (r *Redactor) Count() int64 {
	if r == nil {
		return 0
	}
	return r.count.Load()
}

// add adds n to the counts of r and of the Redactors that it was made from.
func (r *Redactor) add(n int) {
	for ; r != nil && n > 0; r = r.parent {
		r.count.Add(int64(n))
	}
}

// Text returns text with its secrets replaced: text itself if there are none.
func (r *Redactor) Text(text []byte) []byte {
	if r == nil {
		return text
	}
	return r.NewStream().Next(text)
}

// String is Text for a string.
func (r *Redactor) String(text string) string {
	if r == nil {
		return text
	}
	return string(r.Text([]byte(text)))
}

// NewWriter returns a writer that redacts each Write as a text and passes it on to w. If r is
// nil it returns w.
func (r *Redactor) NewWriter(w io.Writer) io.Writer {
	if r == nil {
		return w
	}
	return writer{r.Text, w}
}

// writer passes what is written to it on after redact has changed it.
type writer struct {
	redact func([]byte) []byte
	to     io.Writer
}

// Write passes p, redacted, to the underlying writer. It returns len(p) and nil unless that fails.
func (w writer) Write(p []byte) (int, error) {
	if _, err := w.to.Write(w.redact(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Stream redacts a text that comes in pieces. It is not safe for concurrent use.
type Stream struct {
	redactor *Redactor

	// unfinished is the end of the last piece, if it may be the beginning of a secret.
	unfinished []byte
	isReplaced bool // unfinished was replaced already
}

// NewStream returns a Stream at the beginning of a text. The Stream of a nil Redactor replaces
// nothing.
func (r *Redactor) NewStream() *Stream { return &Stream{redactor: r} }

// Next returns the next piece of the text with its secrets replaced: piece itself if there are
// none. The result may be empty.
func (s *Stream) Next(piece []byte) []byte {
	text, _ := s.next(piece)
	return text
}

// next is Next. It also reports whether something was replaced.
func (s *Stream) next(piece []byte) (text []byte, isChanged bool) {
	if s.redactor == nil {
		return piece, false
	}
	before := len(s.unfinished)
	window := piece
	if before > 0 {
		window = slices.Concat(s.unfinished, piece)
	}
	found := s.redactor.rules.find(window)
	out, at, isFirstReplaced, added := []byte(nil), before, s.isReplaced, 0
	for _, f := range found.spans {
		if f.end <= before {
			continue
		}
		out = append(out, window[at:max(at, f.start)]...)
		if f.start >= before || !isFirstReplaced {
			out = append(out, f.replacement...)
			added++
		}
		at = f.end
	}
	s.redactor.add(added)
	s.unfinished, s.isReplaced = nil, false
	if found.unfinished < len(window) {
		s.unfinished = slices.Clone(window[found.unfinished:])
		s.isReplaced = len(found.spans) > 0 && found.spans[len(found.spans)-1].end == len(window)
	}
	if at == before && len(out) == 0 {
		return piece, false
	}
	return append(out, window[at:]...), true
}
