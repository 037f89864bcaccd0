package progress

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/cmd/assay/internal/terminal"
	"assay/eval/runs"
)

// AttemptName returns the case's id, with the epoch unless it is the first.
func AttemptName(caseID string, epoch int) string {
	if epoch > 1 {
		return fmt.Sprintf("%s (epoch %d)", caseID, epoch)
	}
	return caseID
}

// VerdictWord returns PASS, FAIL, ERROR (the infrastructure or the grading failed) or DONE (there is
// no verdict), padded to five characters.
func VerdictWord(a runs.Attempt) string {
	switch {
	case a.IsInfrastructureFailure(), a.Grading != nil:
		return "ERROR"
	case a.Passed == nil:
		return "DONE "
	case *a.Passed:
		return "PASS "
	default:
		return "FAIL "
	}
}

// DescribeAttempt returns an attempt in one line: its name, duration and usage, why it has not passed,
// and what else matters, such as a limit that was not enforced. The line may have control characters.
func DescribeAttempt(a runs.Attempt) string {
	took := time.Duration(a.DurationMS) * time.Millisecond
	text := fmt.Sprintf("%s  %.1fs%s", AttemptName(a.CaseID, a.Epoch), took.Seconds(), withIndent(usageOfAttempt(a.Usage).String()))
	if a.Grading != nil {
		text += "  grading failed (" + a.Grading.ErrorKind + "): " + terminal.OneLine(a.Grading.Text)
	} else if a.Outcome != runs.OutcomeCompleted {
		text += "  " + string(a.Outcome) + ": " + terminal.OneLine(a.Detail)
	} else if a.Passed != nil && !*a.Passed {
		text += "  " + terminal.OneLine(FirstFailedGrader(a))
	}
	if a.Outcome == runs.OutcomeCompleted && a.Detail != "" {
		text += "  " + terminal.OneLine(a.Detail)
	}
	return text
}

// FirstFailedGrader returns the type and the reasoning of the first grader that did not pass;
// "" if all did. It takes the failures out of a reasoning that lists them.
func FirstFailedGrader(a runs.Attempt) string {
	for _, raw := range a.Graders {
		var result struct {
			Type      string `json:"type"`
			Passed    bool   `json:"passed"`
			Reasoning string `json:"reasoning"`
		}
		if json.Unmarshal(raw, &result) == nil && !result.Passed {
			_, failures, found := strings.Cut(result.Reasoning, "Failures:")
			if !found {
				failures = result.Reasoning
			}
			return result.Type + ": " + strings.TrimPrefix(strings.TrimSpace(failures), "- ")
		}
	}
	return ""
}
