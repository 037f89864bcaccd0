package rescore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"assay/eval/runs"
	"assay/internal/stats"
	"assay/testcases"
	"assay/testcases/grading"
	"assay/testcases/grading/pyvalue"
)

// regradeResult is the result of grading one stored attempt again: the line to write, or an
// error.
type regradeResult struct {
	RegradedAttempt
	keptResults int   // results of graders that are copies of old ones
	err         error // a file of the attempt could not be read; the rest is unset then
}

// regradeAttempt grades the stored attempt a again by the graders that its case has now. If the
// case is not given, or the outcome is one that is not graded, the result has a reason instead
// of a verdict. If a file of the attempt cannot be read, the result has an error.
func (s *regrader) regradeAttempt(ctx context.Context, a storedAttempt) regradeResult {
	r := regradeResult{RegradedAttempt: RegradedAttempt{
		Type: TypeRescore, Run: s.run.Name, CaseID: a.CaseID, Epoch: a.Epoch, Try: a.Try, AttemptFolder: a.folderName, Outcome: a.Outcome,
		Old: Verdict{Passed: a.Passed, Score: a.Score, Graders: a.Graders, Grading: a.Grading},
	}}
	c, isGiven := s.cases[a.CaseID]
	isGraded, isAnswerGraded := gradability(a.Attempt)
	switch {
	case !isGiven:
		r.isNotRegraded, r.Reason = true, "the case is not among those given"
		return r
	case !isGraded:
		r.Reason = fmt.Sprintf("an attempt that ended as %s is not graded", a.Outcome)
	case len(c.Graders) == 0:
		r.Reason = "the case has no graders now"
	default:
		in, err := s.gradingInput(a, c, isAnswerGraded)
		if err != nil {
			r.err = fmt.Errorf("attempt %s: %w", a.folderName, err)
			return r
		}
		r.grade(ctx, c.Graders, in)
	}
	if !r.isNotRegraded {
		r.setIsChanged()
	}
	return r
}

// gradability returns whether an attempt with its outcome is graded at all, and whether the
// graders get its answer.
func gradability(a runs.Attempt) (isGraded, isAnswerGraded bool) {
	if a.IsInfrastructureFailure() {
		return false, false
	}
	return true, a.Outcome == runs.OutcomeCompleted || a.Outcome == runs.OutcomeLimit
}

// gradingInput reads the files of the stored attempt a and returns the input for the graders of
// case c. It fails if a file cannot be read or parsed.
func (s *regrader) gradingInput(a storedAttempt, c testcases.Case, isAnswerGraded bool) (grading.Input, error) {
	e := storedEvidence{run: s.run, attemptFolder: a.folderName}
	recording := e.judgeRecording()
	if a.Grading != nil {
		recording = nil // its calls have failed: ask again
	}
	in := grading.Input{
		Task: c.Task, Notebook: e.notebook(), Conversation: e.conversation(), Dir: c.Source.Dir(),
		Environ: s.cfg.Environ, Judge: s.judgeOpener(recording),
	}
	if e.err != nil {
		return in, e.err
	}
	var err error
	if isAnswerGraded {
		in.Answer, in.NoAnswerReason, err = storedAnswer(a.Attempt)
	} else {
		in.NoAnswerReason = "the attempt ended as " + string(a.Outcome)
	}
	if err == nil {
		in.Record, err = s.commandGraderRecord(a, c, isAnswerGraded)
	}
	return in, err
}

// commandGraderRecord returns the JSON that a command grader reads on stdin: the attempt's line
// without the verdict, the task, and the attempt's folder. It is the same as at the end of the
// attempt, but without the path of the working folder, which no longer exists. It fails if
// encoding fails.
func (s *regrader) commandGraderRecord(a storedAttempt, c testcases.Case, isAnswerGraded bool) (json.RawMessage, error) {
	line := a.Attempt
	line.Passed, line.Score, line.Graders = nil, nil, nil
	if !isAnswerGraded {
		line.Answer = nil
	}
	return encodeLine(struct {
		runs.Attempt
		Task   string `json:"task"`
		Folder string `json:"folder"`
	}{line, c.Task, filepath.Join(s.dir, "attempts", a.folderName)})
}

// storedAnswer returns the answer of a stored attempt, or the reason why it has none. It takes
// the answer and the summary from the attempt's line, not from the conversation, which may have
// later submissions that did not count. It fails if the stored answer cannot be parsed.
func storedAnswer(a runs.Attempt) (answer pyvalue.Value, noAnswer string, err error) {
	if len(a.Answer) > 0 && string(a.Answer) != "null" {
		answer, err = pyvalue.Decode(string(a.Answer))
		if err != nil {
			return nil, "", fmt.Errorf("answer: %w", err)
		}
		return pyvalue.RestoreNonFiniteFloats(answer), "", nil
	}
	found, _ := grading.ExtractAnswerFromSummary(a.Summary) // an error of the extraction is also its Reason
	return found.Answer, found.Reason, nil
}

// grade runs all graders and sets the new verdict. If a grader fails because the kernel or the
// working folder no longer exists, its old result is kept; if it has none, the attempt gets no
// new verdict.
func (r *regradeResult) grade(ctx context.Context, specs []grading.Spec, in grading.Input) {
	passed := true
	var scores []float64
	for _, spec := range specs {
		result := grading.Grade(ctx, spec, in)
		text, err := encodeLine(result)
		if old := r.oldGraderResult(spec.Digest()); old != nil && mayHaveFailedWithoutSession(result) && !isGradingFailure(old) {
			result.Passed, result.Score = isTrueValue(old.Get("passed")), floatValue(old.Get("score"))
			old.Set("kept", pyvalue.Bool(true))
			text, err = old.MarshalJSON()
			r.keptResults++
		} else if failedWithoutKernelOrNotebook(result) {
			r.isNotRegraded, r.Reason = true, fmt.Sprintf("%s has no earlier result, and what it reads is gone: %s", spec.Type, result.Error.Text)
		} else if kind := result.FailureKind(); kind != "" && r.New.Grading == nil {
			r.New.Grading, r.Reason = &runs.GradingFailure{ErrorKind: kind, Text: result.Error.Text}, "the grading failed: "+result.Error.Text
		}
		if err != nil {
			r.err = fmt.Errorf("attempt %s: result of %s: %w", r.AttemptFolder, spec.Type, err)
			return
		}
		r.New.Graders = append(r.New.Graders, text)
		passed = passed && result.Passed
		scores = append(scores, result.Score)
	}
	if score := stats.Mean(scores); !r.isNotRegraded && r.New.Grading == nil {
		r.New.Passed, r.New.Score = &passed, &score
	}
}

// encodeLine returns v as JSON in the form of [runs.EncodeLine], without the newline. It fails
// if v has no JSON.
func encodeLine(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	err := runs.EncodeLine(&text, v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// isGradingFailure reports whether a stored result says that the grading itself has failed.
func isGradingFailure(result *pyvalue.Object) bool {
	failure, _ := result.Get("error").(*pyvalue.Object)
	kind, _ := failure.Get("kind").(pyvalue.String)
	return grading.Result{Error: &pyvalue.Error{Kind: string(kind)}}.FailureKind() != ""
}

// failedWithoutKernelOrNotebook reports whether a grader failed because it had no kernel or no
// notebook.
func failedWithoutKernelOrNotebook(result grading.Result) bool {
	return result.Error != nil && (result.Error.Kind == "kernel" || result.Error.Kind == "notebook")
}

// mayHaveFailedWithoutSession reports whether a grader may have failed because the attempt's
// session has ended: it had no kernel or notebook, or it is a command, which may need the
// working folder.
func mayHaveFailedWithoutSession(result grading.Result) bool {
	return failedWithoutKernelOrNotebook(result) || result.Error != nil && (result.Error.Kind == grading.ErrorKindCommand || result.Error.Kind == "command_crash")
}

// oldGraderResult returns the stored result of the grader whose spec has this digest, or nil if the
// attempt has none.
func (r *regradeResult) oldGraderResult(digest string) *pyvalue.Object {
	for _, text := range r.Old.Graders {
		v, _ := pyvalue.Decode(string(text))
		object, _ := v.(*pyvalue.Object)
		if object.Get("spec") == pyvalue.Value(pyvalue.String(digest)) {
			return object
		}
	}
	return nil
}

// isTrueValue reports whether v is the boolean value true.
func isTrueValue(v pyvalue.Value) bool { return v == pyvalue.Value(pyvalue.Bool(true)) }

// floatValue returns an integer or floating-point value as a float64, and 0 for any other
// value.
func floatValue(v pyvalue.Value) float64 {
	switch v := v.(type) {
	case pyvalue.Int:
		f, _ := v.Big().Float64()
		return f
	case pyvalue.Float:
		return float64(v)
	default:
		return 0
	}
}
