package server

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"

	"assay/eval/runs"
)

// briefMost is how many attempts an answer has at most that says little of each.
const briefMost = 10_000

// attempts is GET /api/runs/{run}/attempts.
func (a *runsAPI) attempts(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	q := readParameters(r, "after", "limit", "outcome", "passed", "case", "brief")
	most, item := int64(runsMost), writeAttempt
	if q.oneOf("brief", "true", "false") == "true" {
		most, item = briefMost, writeBriefAttempt
	}
	page := linePage{last: q.number("after", 0, 0, math.MaxInt64-1), limit: int(q.number("limit", runsLimit, 1, most)), leaveOut: true}
	pick := attemptFilter{outcome: q.text("outcome"), passed: q.oneOf("passed", "true", "false", "null"), caseID: q.text("case")}
	if q.err != nil {
		return q.err
	}
	lines, err := run.AttemptLines()
	if err == nil {
		defer lines.Close()
		err = page.read(lines.LinesFrom(r.Context(), page.last+1), pick.matches, item)
	}
	if err != nil && !errors.Is(err, runs.ErrNotFound) { // without a file the run begins just now
		return err
	}
	page.answer(w, "attempts", page.last)
	return nil
}

// attemptFilter picks lines of attempts.jsonl; what is empty picks all.
type attemptFilter struct{ outcome, passed, caseID string }

func (f attemptFilter) matches(line []byte) bool {
	if f == (attemptFilter{}) {
		return true
	}
	isAttempt := gjson.GetBytes(line, "type").String() == runs.TypeAttempt
	return (f.outcome == "" || isAttempt && gjson.GetBytes(line, "outcome").String() == f.outcome) &&
		(f.passed == "" || isAttempt && gjson.GetBytes(line, "passed").Raw == f.passed) &&
		(f.caseID == "" || strings.Contains(gjson.GetBytes(line, "case_id").String(), f.caseID))
}

// writeAttempt writes a line of attempts.jsonl with its number, and the name of
// the attempt's folder if it is of an attempt, in front.
func writeAttempt(out *bytes.Buffer, line runs.Line) {
	writeNumbered(out, line, line.Text)
}

// writeBriefAttempt is writeAttempt for a list of many: of an attempt there is no
// more than it shows. Other lines are whole.
func writeBriefAttempt(out *bytes.Buffer, line runs.Line) {
	all := gjson.ParseBytes(line.Text)
	if all.Get("type").String() != runs.TypeAttempt {
		writeNumbered(out, line, line.Text)
		return
	}
	brief := []byte("{")
	all.ForEach(func(name, value gjson.Result) bool {
		if inBrief(name.String()) {
			if len(brief) > 1 {
				brief = append(brief, ',')
			}
			brief = append(append(append(brief, name.Raw...), ':'), value.Raw...)
		}
		return true
	})
	writeNumbered(out, line, append(brief, '}'))
}

// inBrief tells whether a field of an attempt stands in a list of many.
func inBrief(name string) bool {
	switch name {
	case "type", "case_id", "tags", "epoch", "try", "outcome", "outcome_detail", "passed", "score",
		"started", "ended", "duration_ms", "phases", "usage", "tamper", "interventions":
		return true
	default:
		return false
	}
}

// writeNumbered writes text, a JSON object, as that of a line.
func writeNumbered(out *bytes.Buffer, line runs.Line, text []byte) {
	fmt.Fprintf(out, `{"n":%d`, line.Number)
	if name := runs.AttemptFolderName(line.Text); name != "" {
		quoted, _ := jsontext.AppendQuote(nil, name) // what is not UTF-8 is replaced, and told of as an error
		fmt.Fprintf(out, `,"name":%s`, quoted)
	}
	if rest := bytes.TrimSpace(text[1:]); len(rest) > 1 {
		out.WriteByte(',')
	}
	out.Write(text[1:])
}
