package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"assay/eval/runs"
	"assay/internal/protocol"
	"assay/server/endpoint"
)

// maxBriefAttemptsPerPage is how many attempts a page with brief=true has at most.
const maxBriefAttemptsPerPage = 10_000

// AttemptPage is the response of GET /api/runs/{run}/attempts, which is written
// without decoding the lines.
type AttemptPage struct {
	// Attempts are lines of attempts.jsonl as they are in the file, with "n" (the
	// line's number) and, if the line is of an attempt, "name" (its folder) in
	// front.
	Attempts []json.RawMessage `json:"attempts"`
	PageEnd                    // Next is the "after" of the next page
}

// listAttempts handles GET /api/runs/{run}/attempts.
func listAttempts(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	q := endpoint.ReadParameters(r, "after", "limit", "outcome", "passed", "case", "brief")
	maxLines, writeItem := int64(maxRunsPerPage), writeAttempt
	if q.OneOf("brief", "true", "false") == "true" {
		maxLines, writeItem = maxBriefAttemptsPerPage, writeBriefAttempt
	}
	page := linePage{
		last: q.Number("after", 0, 0, math.MaxInt64-1), maxLines: int(q.Number("limit", defaultRunsPerPage, 1, maxLines)), skipDamaged: true,
	}
	filter := attemptFilter{outcome: q.Text("outcome"), passed: q.OneOf("passed", "true", "false", "null"), caseID: q.Text("case")}
	if err := q.Err(); err != nil {
		return err
	}
	lines, err := run.AttemptLines()
	if err == nil {
		defer lines.Close()
		err = page.fill(lines.LinesFrom(r.Context(), page.last+1), filter.selects, writeItem)
	}
	if err != nil && !errors.Is(err, runs.ErrNotFound) { // a run that is only beginning has no such file yet
		return err
	}
	return page.write(w, "attempts", page.last)
}

// attemptFilter selects lines of attempts.jsonl by the values of their fields. An
// empty string selects any value.
type attemptFilter struct {
	outcome string
	passed  string // "true", "false" or "null"
	caseID  string // a part of the case's id
}

func (f attemptFilter) selects(line []byte) bool {
	if f == (attemptFilter{}) {
		return true
	}
	isAttempt := gjson.GetBytes(line, "type").String() == runs.TypeAttempt
	return (f.outcome == "" || isAttempt && gjson.GetBytes(line, "outcome").String() == f.outcome) &&
		(f.passed == "" || isAttempt && gjson.GetBytes(line, "passed").Raw == f.passed) &&
		(f.caseID == "" || strings.Contains(gjson.GetBytes(line, "case_id").String(), f.caseID))
}

// writeAttempt writes a line of attempts.jsonl with "n" and "name" in front.
func writeAttempt(out *bytes.Buffer, line runs.Line) {
	writeNumberedLine(out, line, line.Text)
}

// writeBriefAttempt writes a line like writeAttempt but, if it is of an attempt,
// only the fields that isBriefField accepts.
func writeBriefAttempt(out *bytes.Buffer, line runs.Line) {
	all := gjson.ParseBytes(line.Text)
	if all.Get("type").String() != runs.TypeAttempt {
		writeNumberedLine(out, line, line.Text)
		return
	}
	brief := []byte("{")
	all.ForEach(func(name, value gjson.Result) bool {
		if isBriefField(name.String()) {
			if len(brief) > 1 {
				brief = append(brief, ',')
			}
			brief = append(append(append(brief, name.Raw...), ':'), value.Raw...)
		}
		return true
	})
	writeNumberedLine(out, line, append(brief, '}'))
}

// isBriefField reports whether brief=true keeps this field of an attempt.
func isBriefField(name string) bool {
	switch name {
	case "type", "case_id", "tags", "epoch", "try", "outcome", "outcome_detail", "passed", "grading", "score",
		"started", "ended", "duration_ms", "phases", "usage", "tamper", "interventions":
		return true
	default:
		return false
	}
}

// writeNumberedLine writes object, a JSON object, with the number of line and, if line
// is of an attempt, the name of the attempt's folder in front.
func writeNumberedLine(out *bytes.Buffer, line runs.Line, object []byte) {
	fmt.Fprintf(out, `{"n":%d`, line.Number)
	if name := runs.AttemptFolderName(line.Text); name != "" {
		quoted, _ := protocol.Marshal(name) // a string can always be marshalled
		fmt.Fprintf(out, `,"name":%s`, quoted)
	}
	if rest := bytes.TrimSpace(object[1:]); len(rest) > 1 {
		out.WriteByte(',')
	}
	out.Write(object[1:])
}
