package server

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"assay/eval/runs"
	"assay/internal/trace"
)

const (
	// traceLimit and traceMost are how many entries of a trace an answer has by
	// default and at most.
	traceLimit = 500
	traceMost  = 5000
)

// trace is GET {base}/trace: the entries as they are.
func (a *tracesAPI) trace(w http.ResponseWriter, r *http.Request, file traceFile) error {
	q := readParameters(r, "from", "limit", "hop", "type", "tx", "cell", "action", "brief")
	page := linePage{last: q.number("from", 1, 1, math.MaxInt64) - 1, limit: int(q.number("limit", traceLimit, 1, traceMost))}
	pick := newTraceFilter(q)
	item := verbatim
	if q.oneOf("brief", "true", "false") == "true" {
		item = briefly
	}
	if q.err != nil {
		return q.err
	}
	if _, err := file.header(r); err != nil {
		return err
	}
	if err := page.read(file.LinesFrom(r.Context(), page.last+1), pick.matches, item); err != nil {
		return err
	}
	page.answer(w, "entries", page.last+1)
	return nil
}

func verbatim(out *bytes.Buffer, line runs.Line) { out.Write(line.Text) }

// briefly leaves out what the frame carries. A line that somebody has edited may
// be no JSON without it, and stays whole.
func briefly(out *bytes.Buffer, line runs.Line) {
	if brief := trace.Brief(line.Text); json.Valid(brief) {
		out.Write(brief)
		return
	}
	verbatim(out, line)
}

// traceFilter picks the entries of a trace whose fields have one of these values.
type traceFilter map[string][]string

// newTraceFilter reads it of a request's parameters; an empty one is none.
func newTraceFilter(q *parameters) traceFilter {
	f := traceFilter{}
	for _, name := range []string{"hop", "type", "action"} {
		if wanted := q.text(name); wanted != "" {
			f[name] = strings.Split(wanted, ",")
		}
	}
	for name, field := range map[string]string{"tx": "tx_id", "cell": "cell_id"} {
		if wanted := q.text(name); wanted != "" {
			f[field] = []string{wanted}
		}
	}
	return f
}

func (f traceFilter) matches(line []byte) bool {
	for field, wanted := range f {
		if !slices.Contains(wanted, gjson.GetBytes(line, field).String()) {
			return false
		}
	}
	return true
}
