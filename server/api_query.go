package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// parameterError is a fault in the query of a request.
type parameterError struct{ text string }

func (e *parameterError) Error() string { return e.text }

// parameters are those of a request's query. They are read one by one; the
// first fault stays in err.
type parameters struct {
	values url.Values
	err    error
}

// readParameters reads a request's query. Each parameter may occur once, and
// none but those that are known, and token, which every request may carry: a
// filter that is misspelt must not pass for none.
func readParameters(r *http.Request, known ...string) *parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &parameters{values: values}
	if err != nil {
		p.fail("the query cannot be read: %v", err)
	}
	for name, all := range values {
		switch {
		case name != "token" && !slices.Contains(known, name):
			p.fail("unknown parameter %q: this endpoint has %s", name, strings.Join(append(known, "token"), ", "))
		case len(all) > 1:
			p.fail("%s is given %d times", name, len(all))
		}
	}
	return p
}

func (p *parameters) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &parameterError{fmt.Sprintf(format, args...)}
	}
}

func (p *parameters) text(name string) string { return p.values.Get(name) }

// number returns a parameter that is a whole number from least to most; without
// it, otherwise.
func (p *parameters) number(name string, otherwise, least, most int64) int64 {
	if !p.values.Has(name) {
		return otherwise
	}
	n, err := strconv.ParseInt(p.text(name), 10, 64)
	if err != nil || n < least || n > most {
		p.fail("%s=%s: want a whole number from %d to %d", name, p.text(name), least, most)
	}
	return n
}

// oneOf returns a parameter that is one of these words; without it, empty.
func (p *parameters) oneOf(name string, words ...string) string {
	if p.values.Has(name) && !slices.Contains(words, p.text(name)) {
		p.fail("%s=%s: want one of %s", name, p.text(name), strings.Join(words, ", "))
	}
	return p.text(name)
}
