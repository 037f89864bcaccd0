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

// regradeResult is an attempt that was graded again.
type regradeResult struct {
	RegradedAttempt
	keptResults int   // results
	err         error // what is stored of it cannot be read
}

func (s *regrader) regrade(ctx context.Context, a storedAttempt) regradeResult {
	r := regradeResult{RegradedAttempt: RegradedAttempt{
		Type: TypeRescore, Run: s.run.Name, CaseID: a.CaseID, Epoch: a.Epoch, Try: a.Try, Attempt: a.folderName, Outcome: a.Outcome,
		Old: Verdict{Passed: a.Passed, Score: a.Score, Graders: a.Graders},
	}}
	c, there := s.cases[a.CaseID]
	graded, withAnswer := gradability(a.Attempt)
	switch {
	case !there:
		r.lacksVerdict, r.Reason = true, "the case is not among those of today"
		return r
	case !graded:
		r.Reason = fmt.Sprintf("an attempt that ended as %s is not graded", a.Outcome)
	case len(c.Graders) == 0:
		r.Reason = "the case has no grader today"
	default:
		in, err := s.gradingInput(a, c, withAnswer)
		if err != nil {
			r.err = fmt.Errorf("attempt %s: %w", a.folderName, err)
			return r
		}
		r.grade(ctx, c.Graders, in)
	}
	if !r.lacksVerdict {
		r.setChanged()
	}
	return r
}

// gradability says whether an attempt has a verdict, and whether its answer counts,
// by how it ended.
func gradability(a runs.Attempt) (graded, withAnswer bool) {
	if a.IsInfrastructureFailure() {
		return false, false
	}
	return true, a.Outcome == runs.OutcomeCompleted || a.Outcome == runs.OutcomeLimit
}

// gradingInput is what there is of an attempt to grade.
func (s *regrader) gradingInput(a storedAttempt, c testcases.Case, withAnswer bool) (grading.Input, error) {
	e := storedEvidence{run: s.run, attempt: a.folderName}
	in := grading.Input{
		Task: c.Task, Notebook: e.notebook(), Conversation: e.conversation(), Dir: c.Source.Dir(),
		Environ: s.cfg.Environ, Judge: s.judgeOpener(e.judgeRecording()),
	}
	if e.err != nil {
		return in, e.err
	}
	var err error
	if withAnswer {
		in.Answer, in.NoAnswer, err = storedAnswer(a.Attempt)
	} else {
		in.NoAnswer = "the attempt ended as " + string(a.Outcome)
	}
	if err == nil {
		in.Record, err = s.commandRecord(a, c, withAnswer)
	}
	return in, err
}

// commandRecord is what a command is told, as when the attempt ended: its line without
// the verdict, the task, and its folder; the sandbox is gone.
func (s *regrader) commandRecord(a storedAttempt, c testcases.Case, withAnswer bool) (json.RawMessage, error) {
	line := a.Attempt
	line.Passed, line.Score, line.Graders = nil, nil, nil
	if !withAnswer {
		line.Answer = nil
	}
	return marshalLine(struct {
		runs.Attempt
		Task   string `json:"task"`
		Folder string `json:"folder"`
	}{line, c.Task, filepath.Join(s.dir, "attempts", a.folderName)})
}

// storedAnswer returns the answer that was taken down, and why there is none. Only
// what the attempt's end left of a submission is asked, not the conversation:
// that goes on behind the submission that counted.
func storedAnswer(a runs.Attempt) (answer pyvalue.Value, noAnswer string, err error) {
	if len(a.Answer) > 0 && string(a.Answer) != "null" {
		answer, err = pyvalue.Decode(string(a.Answer))
		if err != nil {
			return nil, "", fmt.Errorf("answer: %w", err)
		}
		return pyvalue.RestoreFloats(answer), "", nil
	}
	found, _ := grading.ExtractSummary(a.Summary) // where there is an error, it is the reason
	return found.Answer, found.Reason, nil
}

// grade grades by each spec. A grader that could not come to a verdict because
// what it reads is gone keeps its old result; without one there is no verdict of
// the attempt.
func (r *regradeResult) grade(ctx context.Context, specs []grading.Spec, in grading.Input) {
	passed := true
	var scores []float64
	for _, spec := range specs {
		result := grading.Grade(ctx, spec, in)
		text, err := marshalLine(result)
		if old := r.oldResult(spec.Digest()); old != nil && mayNeedLiveSession(result) {
			result.Passed, result.Score = isTrueValue(old.Get("passed")), floatValue(old.Get("score"))
			old.Set("kept", pyvalue.Bool(true))
			text, err = old.MarshalJSON()
			r.keptResults++
		} else if needsLiveSession(result) {
			r.lacksVerdict, r.Reason = true, fmt.Sprintf("%s is new or has changed, and what it reads is gone: %s", spec.Type, result.Error.Text)
		}
		if err != nil {
			r.err = fmt.Errorf("attempt %s: result of %s: %w", r.Attempt, spec.Type, err)
			return
		}
		r.New.Graders = append(r.New.Graders, text)
		passed = passed && result.Passed
		scores = append(scores, result.Score)
	}
	if score := stats.Mean(scores); !r.lacksVerdict {
		r.New.Passed, r.New.Score = &passed, &score
	}
}

// marshalLine is the JSON of v as the lines of a run folder have it.
func marshalLine(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	err := runs.EncodeLine(&text, v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// needsLiveSession says whether a grader found no kernel or no notebook to look at.
func needsLiveSession(result grading.Result) bool {
	return result.Error != nil && (result.Error.Kind == "kernel" || result.Error.Kind == "notebook")
}

// mayNeedLiveSession says whether a grader may have failed for want of what is gone: the
// kernel, a notebook to run again, or the sandbox that a command looks into.
func mayNeedLiveSession(result grading.Result) bool {
	return needsLiveSession(result) || result.Error != nil && result.Error.Kind == "command"
}

// oldResult returns the result of the grader with that digest, nil if there was none.
func (r *regradeResult) oldResult(digest string) *pyvalue.Object {
	for _, text := range r.Old.Graders {
		v, _ := pyvalue.Decode(string(text))
		object, _ := v.(*pyvalue.Object)
		if object.Get("spec") == pyvalue.Value(pyvalue.String(digest)) {
			return object
		}
	}
	return nil
}

func isTrueValue(v pyvalue.Value) bool { return v == pyvalue.Value(pyvalue.Bool(true)) }

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
