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

	"assay/internal/runs"
	"assay/internal/trace"
)

const (
	// traceLimit and traceMost are how many entries of a trace an answer has by
	// default and at most.
	traceLimit = 500
	traceMost  = 5000
)

// attempts is GET /api/runs/{run}/attempts.
func (a *runsAPI) attempts(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	q := readParameters(r, "after", "limit", "outcome", "passed", "case")
	page := linePage{last: q.number("after", 0, 0, math.MaxInt64-1), limit: int(q.number("limit", runsLimit, 1, runsMost))}
	pick := attemptFilter{outcome: q.text("outcome"), passed: q.oneOf("passed", "true", "false", "null"), caseID: q.text("case")}
	if q.err != nil {
		return q.err
	}
	lines, err := run.Lines()
	if err == nil {
		defer lines.Close()
		err = page.read(lines.From(r.Context(), page.last+1), pick.matches, writeAttempt)
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
	fmt.Fprintf(out, `{"n":%d`, line.N)
	if name := runs.AttemptName(line.Text); name != "" {
		quoted, _ := jsontext.AppendQuote(nil, name) // what is not UTF-8 is replaced, and told of as an error
		fmt.Fprintf(out, `,"name":%s`, quoted)
	}
	if rest := bytes.TrimSpace(line.Text[1:]); len(rest) > 1 {
		out.WriteByte(',')
	}
	out.Write(line.Text[1:])
}

// trace is GET /api/runs/{run}/attempts/{attempt}/trace.
func (a *runsAPI) trace(w http.ResponseWriter, r *http.Request, run *runs.Run) error {
	q := readParameters(r, "from", "limit", "hop", "type", "tx", "cell", "action")
	page := linePage{last: q.number("from", 1, 1, math.MaxInt64) - 1, limit: int(q.number("limit", traceLimit, 1, traceMost))}
	pick := traceFilter{}
	for parameter, field := range map[string]string{"hop": "hop", "type": "type", "tx": "tx_id", "cell": "cell_id", "action": "action"} {
		if want := q.text(parameter); want != "" {
			pick[field] = want
		}
	}
	if q.err != nil {
		return q.err
	}
	lines, err := run.Trace(r.PathValue("attempt"))
	if err != nil {
		return err
	}
	defer lines.Close()
	if err := checkTrace(r, lines); err != nil {
		return err
	}
	verbatim := func(out *bytes.Buffer, line runs.Line) { out.Write(line.Text) }
	if err := page.read(lines.From(r.Context(), page.last+1), pick.matches, verbatim); err != nil {
		return err
	}
	page.answer(w, "entries", page.last+1)
	return nil
}

// checkTrace refuses a file that is no trace. One without a header is one that
// begins just now.
func checkTrace(r *http.Request, lines *runs.Lines) error {
	for line, err := range lines.From(r.Context(), 0) {
		if err != nil {
			return err
		}
		_, err := trace.Read(bytes.NewReader(append(line.Text, '\n')), nil)
		return err
	}
	return nil
}

// traceFilter picks the entries of a trace whose fields have these values.
type traceFilter map[string]string

func (f traceFilter) matches(line []byte) bool {
	for field, want := range f {
		if gjson.GetBytes(line, field).String() != want {
			return false
		}
	}
	return true
}
