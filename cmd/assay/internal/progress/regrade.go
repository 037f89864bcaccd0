package progress

import (
	"fmt"
	"io"
	"path/filepath"

	"assay/cmd/assay/internal/terminal"
	"assay/eval/rescore"
	"assay/eval/runs"
)

// RegradeReporter shows a stored run that is graded again. Its zero value needs an Out.
type RegradeReporter struct {
	Out  io.Writer
	JSON bool // write each attempt and the summary as JSON, one object per line

	outError error // the first error of Out
}

// AttemptRegraded shows an attempt: as JSON if JSON is set, otherwise only if its verdict
// has changed or could not be determined again.
func (r *RegradeReporter) AttemptRegraded(a rescore.RegradedAttempt) {
	lostVerdict := a.Old.Passed != nil && a.New.Passed == nil
	switch {
	case r.outError != nil:
	case r.JSON:
		r.outError = runs.EncodeLine(r.Out, a)
	case a.IsChanged || lostVerdict:
		reason := a.Reason
		if reason == "" {
			reason = FirstFailedGrader(runs.Attempt{Graders: a.New.Graders})
		}
		line := fmt.Sprintf("%s -> %s  %s  %s", shortVerdict(a.Old), shortVerdict(a.New), AttemptName(a.CaseID, a.Epoch), terminal.OneLine(reason))
		_, r.outError = fmt.Fprintln(r.Out, terminal.Printable(line))
	}
}

// shortVerdict returns a verdict and its score in nine characters, such as "PASS 1.00";
// "none" if there is no verdict.
func shortVerdict(v rescore.Verdict) string {
	word, score := "FAIL", 0.0
	switch {
	case v.Passed == nil:
		return "none     "
	case *v.Passed:
		word = "PASS"
	}
	if v.Score != nil {
		score = *v.Score
	}
	return fmt.Sprintf("%s %.2f", word, score)
}

// Finish shows the summary, with the path of the file of new verdicts in runDir. It
// returns the first error of writing to Out.
func (r *RegradeReporter) Finish(s rescore.Summary, runDir string) error {
	switch {
	case r.outError != nil:
		return r.outError
	case r.JSON:
		return runs.EncodeLine(r.Out, s)
	}
	word := "PASS"
	if s.Passed < s.GradedCount() {
		word = "FAIL"
	}
	_, err := fmt.Fprintf(r.Out, "%s %d/%d  (failed %d, ungraded %d, infrastructure %d%s, not graded again %d, kept %d)  was %d/%d  %s\n",
		word, s.Passed, s.GradedCount(), s.Failed, s.Ungraded, s.Infrastructure, gradingErrorsText(s.GradingErrors), s.NotRegraded, s.KeptResults,
		s.OldCounts.Passed, s.OldCounts.GradedCount(), filepath.Join(runDir, s.VerdictsFile))
	return err
}
