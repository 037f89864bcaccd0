package endpoint

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Parameters reads the query parameters of one request. Read every parameter
// first and then check [Parameters.Err]: it keeps the first error.
type Parameters struct {
	values url.Values
	err    error
}

// ReadParameters parses the query of a request. It is an error (see
// [Parameters.Err]) if a parameter occurs twice or is neither listed in known nor
// "token", which every request may carry: a misspelt filter must not be ignored.
func ReadParameters(r *http.Request, known ...string) *Parameters {
	values, err := url.ParseQuery(r.URL.RawQuery)
	p := &Parameters{values: values}
	if err != nil {
		p.Failf("cannot parse the query: %v", err)
	}
	for name, all := range values {
		switch {
		case name != "token" && !slices.Contains(known, name):
			p.Failf("unknown parameter %q: this endpoint has %s", name, strings.Join(append(known, "token"), ", "))
		case len(all) > 1:
			p.Failf("%s is given %d times", name, len(all))
		}
	}
	return p
}

// Err returns the first error, nil if all parameters are valid. [Handler] answers
// it with status 400.
func (p *Parameters) Err() error { return p.err }

// Failf records an error, formatted like fmt.Sprintf, unless there is one already.
func (p *Parameters) Failf(format string, args ...any) {
	if p.err == nil {
		p.err = StatusErrorf(http.StatusBadRequest, format, args...)
	}
}

// Text returns a parameter, "" if the query lacks it.
func (p *Parameters) Text(name string) string { return p.values.Get(name) }

// Number returns a parameter that must be a whole number from least to most, or
// fallback if the query lacks it.
func (p *Parameters) Number(name string, fallback, least, most int64) int64 {
	if !p.values.Has(name) {
		return fallback
	}
	n, err := strconv.ParseInt(p.Text(name), 10, 64)
	if err != nil || n < least || n > most {
		p.Failf("%s=%s: want a whole number from %d to %d", name, p.Text(name), least, most)
	}
	return n
}

// OneOf returns a parameter that must be one of words, or "" if the query lacks
// it.
func (p *Parameters) OneOf(name string, words ...string) string {
	if p.values.Has(name) && !slices.Contains(words, p.Text(name)) {
		p.Failf("%s=%s: want one of %s", name, p.Text(name), strings.Join(words, ", "))
	}
	return p.Text(name)
}
