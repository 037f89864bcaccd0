package ticks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"assay/internal/protocol"
)

const (
	// A line of the monologue shows at most this many columns of the code and of its result.
	maxSourceColumns = 50
	maxResultColumns = 30
)

// evalRecord is the outcome of running the code of one tick: a printed value or a failure,
// or that it was skipped because the reply had no code.
type evalRecord struct {
	language  string
	source    string // clipped
	result    string // the printed value, clipped
	failure   string
	skipped   bool
	tick      int
	formCount int // number of forms or statements in the source; 0 if it could not be parsed
}

// promptObject returns the record of an eval as a prompt shows it. The eval must not have been
// skipped.
func (r *evalRecord) promptObject() lispObject {
	return append(r.outcomeFields(), lispField{"tick", r.tick})
}

// savedObject returns the record of an eval as it is saved in the state file.
func (r *evalRecord) savedObject() lispObject {
	return append(r.outcomeFields(), lispField{"skipped", r.skipped}, lispField{"tick", r.tick}, lispField{"forms", r.formCount})
}

// outcomeFields returns the fields that prompt and saved state have in common.
func (r *evalRecord) outcomeFields() lispObject {
	textOrNull := func(s string, present bool) any {
		if !present {
			return nil
		}
		return s
	}
	failed := r.failure != ""
	return lispObject{
		{sourceFieldName(r.language), textOrNull(r.source, !r.skipped)},
		{"success", !failed},
		{"result", textOrNull(r.result, !r.skipped && !failed)},
		{"error", textOrNull(clipText(r.failure), failed)},
	}
}

// sourceFieldName returns the name of the JSON field that has the source of an eval.
func sourceFieldName(language string) string {
	if language == "elisp" {
		return "elisp"
	}
	return "code"
}

// monologueLine returns the record of an eval as a line of the monologue, "" if the eval was
// skipped.
func (r *evalRecord) monologueLine() string {
	source := cutColumns(escapeLine(r.source), maxSourceColumns)
	switch {
	case r.skipped:
		return ""
	case r.failure != "":
		return "EVAL ERROR: " + source + " => " + escapeLine(r.failure)
	default:
		return "EVAL: " + source + " => " + cutColumns(escapeLine(r.result), maxResultColumns)
	}
}

// runEval runs the code in a reply and returns the record of its outcome. A failure of the code
// is in the record; the only error is the cause of ctx.
func (s *strategy) runEval(ctx context.Context, eval json.RawMessage) (*evalRecord, error) {
	source, fault := parseEvalSource(eval)
	r := &evalRecord{language: s.conversation.Language, source: clipText(source), tick: s.state.tick, failure: fault}
	if fault == "" && strings.TrimSpace(source) == "" {
		r.source, r.skipped = "", true
	} else if fault == "" {
		s.runCode(ctx, source, r)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r, nil
}

// parseEvalSource returns the code in the eval field of a reply, "" if the field is missing,
// null or false. If the field is not a string, it returns the JSON and a fault for the
// model.
func parseEvalSource(eval json.RawMessage) (source, fault string) {
	switch {
	case isAbsentField(eval):
		return "", ""
	case json.Unmarshal(eval, &source) == nil:
		return source, ""
	}
	types := map[byte]string{'[': "a list", '{': "an object", 't': "a boolean"}
	eval = bytes.TrimSpace(eval)
	return string(eval), "eval must be a string of code, not " + cmp.Or(types[eval[0]], "a number")
}

// runCode runs code in the kernel and puts its outcome into the record.
func (s *strategy) runCode(ctx context.Context, source string, r *evalRecord) {
	notebook := s.conversation.Notebook
	timeout := notebook.CellTimeout()
	s.conversation.SendStatus(protocol.AgentExecuting)
	response, err := notebook.ExecuteCode(ctx, map[string]any{"code": source, "timeout_s": timeout.Seconds()}, timeout)
	r.formCount = response.Forms
	switch {
	case err != nil:
		r.failure = err.Error()
	case response.EName != "" || response.Exception != "" || response.Status == protocol.StatusInterrupted:
		r.failure = cmp.Or(exceptionText(r.language, response), cmp.Or(response.EName, protocol.StatusInterrupted))
	case response.Result != nil:
		r.result = clipText(*response.Result)
	default:
		r.result = noValueText(r.language)
	}
}

// noValueText returns how the REPL of a language prints the value of code that has none,
// such as None or nil.
func noValueText(language string) string {
	switch language {
	case "python":
		return "None"
	case "elisp":
		return "nil"
	}
	return "(no value)"
}

// exceptionText returns the exception in a kernel's response as the language's users know
// it: in Lisp its message, otherwise class and message as in the last lines of the
// traceback.
func exceptionText(language string, response protocol.ExecuteCodeResponse) string {
	if language == "elisp" || response.EName == "" {
		return cmp.Or(response.Error, strings.TrimSpace(response.Exception))
	}
	text := response.EName
	if response.Error != "" {
		text += ": " + response.Error
	}
	trace := "\n" + strings.TrimSpace(response.Exception)
	if at := strings.LastIndex(trace, "\n"+response.EName); at >= 0 && !strings.HasSuffix(trace, "\n"+text) {
		return trace[at+1:]
	}
	return text
}
