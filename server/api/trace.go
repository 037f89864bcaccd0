package api

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
	"assay/server/endpoint"
)

// How many entries of a trace a page has by default and at most.
const (
	defaultEntriesPerPage = 500
	maxEntriesPerPage     = 5000
)

// TracePage is the response of GET {base}/trace, which is written without decoding
// the entries.
type TracePage struct {
	Entries []json.RawMessage `json:"entries"` // lines of the trace (see [trace.Record]) as they are in the file
	PageEnd                   // Next is the "from" of the next page
}

// serveTraceEntries handles GET {base}/trace.
func serveTraceEntries(w http.ResponseWriter, r *http.Request, file TraceFile) error {
	q := endpoint.ReadParameters(r, "from", "limit", "hop", "type", "tx", "cell", "action", "brief")
	page := linePage{last: q.Number("from", 1, 1, math.MaxInt64) - 1, maxLines: int(q.Number("limit", defaultEntriesPerPage, 1, maxEntriesPerPage))}
	filter := newEntryFilter(q)
	writeItem := writeEntry
	if q.OneOf("brief", "true", "false") == "true" {
		writeItem = writeBriefEntry
	}
	if err := q.Err(); err != nil {
		return err
	}
	if _, err := file.header(r); err != nil {
		return err
	}
	if err := page.fill(file.LinesFrom(r.Context(), page.last+1), filter.selects, writeItem); err != nil {
		return err
	}
	return page.write(w, "entries", page.last+1)
}

func writeEntry(out *bytes.Buffer, line runs.Line) { out.Write(line.Text) }

// writeBriefEntry writes an entry without its message. It writes the whole line if
// the rest is not valid JSON, as in a trace that was edited by hand.
func writeBriefEntry(out *bytes.Buffer, line runs.Line) {
	if brief := trace.LineWithoutMessage(line.Text); json.Valid(brief) {
		out.Write(brief)
		return
	}
	writeEntry(out, line)
}

// entryFilter selects entries of a trace: each of its fields must have one of these
// values.
type entryFilter map[string][]string

// newEntryFilter reads the filter parameters of a request. An empty parameter
// selects any value.
func newEntryFilter(q *endpoint.Parameters) entryFilter {
	f := entryFilter{}
	for _, name := range []string{"hop", "type", "action"} {
		if values := q.Text(name); values != "" {
			f[name] = strings.Split(values, ",")
		}
	}
	for name, field := range map[string]string{"tx": "tx_id", "cell": "cell_id"} {
		if value := q.Text(name); value != "" {
			f[field] = []string{value}
		}
	}
	return f
}

func (f entryFilter) selects(line []byte) bool {
	for field, values := range f {
		if !slices.Contains(values, gjson.GetBytes(line, field).String()) {
			return false
		}
	}
	return true
}
