package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"assay/internal/protocol"
)

const (
	maxSourceColumns = 50 // of the code in a line of the monologue
	maxResultColumns = 30 // of its result there
)

// record is what came of the eval of a tick. Skipped means that there was nothing
// to run; otherwise there is a result or a failure.
type record struct {
	language string
	source   string // cut to maxOutput
	result   string // printed, cut to maxOutput
	failure  string
	skipped  bool
	tick     int
	forms    int // how many the source has, 0 when it could not be read
}

// shown is the record as a prompt shows it, where it has been run.
func (r *record) shown() lispObject {
	return append(r.outcome(), lispField{"tick", r.tick})
}

// kept is all of the record.
func (r *record) kept() lispObject {
	return append(r.outcome(), lispField{"skipped", r.skipped}, lispField{"tick", r.tick}, lispField{"forms", r.forms})
}

func (r *record) outcome() lispObject {
	text := func(s string, is bool) any {
		if !is {
			return nil
		}
		return s
	}
	failed := r.failure != ""
	return lispObject{
		{sourceName(r.language), text(r.source, !r.skipped)},
		{"success", !failed},
		{"result", text(r.result, !r.skipped && !failed)},
		{"error", text(clip(r.failure, maxOutput), failed)},
	}
}

// sourceName is how a record calls its source.
func sourceName(language string) string {
	if language == "elisp" {
		return "elisp"
	}
	return "code"
}

// line is what the monologue says of the record, "" where nothing was run.
func (r *record) line() string {
	source := cutColumns(escaped(r.source), maxSourceColumns)
	switch {
	case r.skipped:
		return ""
	case r.failure != "":
		return "EVAL ERROR: " + source + " => " + escaped(r.failure)
	default:
		return "EVAL: " + source + " => " + cutColumns(escaped(r.result), maxResultColumns)
	}
}

// evaluate runs the eval of a reply. Whatever it does is in the record; the error
// is the cause of ctx.
func (t *ticks) evaluate(ctx context.Context, eval json.RawMessage) (*record, error) {
	source, fault := evalSource(eval)
	r := &record{language: t.conversation.language, source: clip(source, maxOutput), tick: t.mind.tick, failure: fault}
	if fault == "" && strings.TrimSpace(source) == "" {
		r.source, r.skipped = "", true
	} else if fault == "" {
		t.run(ctx, source, r)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r, nil
}

// evalSource is the code of an eval, "" for nothing. A value that is no text has a
// fault, and is its own source.
func evalSource(eval json.RawMessage) (source, fault string) {
	switch {
	case isNothing(eval):
		return "", ""
	case json.Unmarshal(eval, &source) == nil:
		return source, ""
	}
	kinds := map[byte]string{'[': "a list", '{': "an object", 't': "a boolean"}
	eval = bytes.TrimSpace(eval)
	return string(eval), "eval must be a string of code, not " + cmp.Or(kinds[eval[0]], "a number")
}

// run has the kernel run code, and puts what came of it into the record.
func (t *ticks) run(ctx context.Context, source string, r *record) {
	notebook := t.conversation.notebook
	limit := notebook.limits.Cell
	t.conversation.wire.status(protocol.AgentExecuting)
	end, err := notebook.execute(ctx, params{"code": source, "timeout_s": limit.Seconds()}, limit).executed()
	r.forms = end.Forms
	switch {
	case err != nil:
		r.failure = err.Error()
	case end.EName != "" || end.Exception != "" || end.Status == protocol.StatusInterrupted:
		r.failure = cmp.Or(failureText(r.language, end), cmp.Or(end.EName, protocol.StatusInterrupted))
	case end.Result != nil:
		r.result = clip(*end.Result, maxOutput)
	default:
		r.result = nothingPrinted(r.language)
	}
}

// nothingPrinted is how a language prints the value of code that has none.
func nothingPrinted(language string) string {
	switch language {
	case "python":
		return "None"
	case "elisp":
		return "nil"
	}
	return "(no value)"
}

// failureText is what people call an error: in Lisp its message, elsewhere its
// class and message, as the last lines of a traceback have them.
func failureText(language string, end protocol.ExecuteCodeResponse) string {
	if language == "elisp" || end.EName == "" {
		return cmp.Or(end.Error, strings.TrimSpace(end.Exception))
	}
	text := end.EName
	if end.Error != "" {
		text += ": " + end.Error
	}
	trace := "\n" + strings.TrimSpace(end.Exception)
	if at := strings.LastIndex(trace, "\n"+end.EName); at >= 0 && !strings.HasSuffix(trace, "\n"+text) {
		return trace[at+1:]
	}
	return text
}
