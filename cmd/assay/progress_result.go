package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"assay/eval/runs"
)

// named is the name of an attempt at a case.
func named(caseID string, epoch int) string {
	if epoch > 1 {
		return fmt.Sprintf("%s (epoch %d)", caseID, epoch)
	}
	return caseID
}

// describe is an attempt in one line, behind its verdict: what took how long, and
// what stands behind one that is not a pass.
func describe(a runs.Attempt) string {
	took := time.Duration(a.DurationMS) * time.Millisecond
	text := fmt.Sprintf("%s  %.1fs%s", named(a.CaseID, a.Epoch), took.Seconds(), usedBy(a.Usage))
	if a.Outcome != runs.OutcomeCompleted {
		text += "  " + string(a.Outcome) + ": " + oneLine(a.Detail)
	} else if a.Passed != nil && !*a.Passed {
		text += "  " + oneLine(whyNot(a))
	}
	return text
}

// whyNot is what the first grader that failed says.
func whyNot(a runs.Attempt) string {
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

// oneLine puts a text on one line. Of a long one the beginning and the end stay: an
// error often ends with what matters.
func oneLine(text string) string {
	const head, tail = 100, 200
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > head+tail {
		return string(runes[:head]) + " … " + string(runes[len(runes)-tail:])
	}
	return text
}
