package runs

import (
	"encoding/json"
	"fmt"
)

// Counts is what a run's attempts have come to so far.
type Counts struct {
	Attempts       int `json:"attempts"`
	Passed         int `json:"passed"`
	Failed         int `json:"failed"`
	Ungraded       int `json:"ungraded"`
	Infrastructure int `json:"infrastructure"`
	Skipped        int `json:"skipped"`

	// Finished says that the run has written its summary, with nothing after it.
	Finished bool `json:"finished"`
}

// counted is counts and how far they go.
type counted struct {
	Counts
	lines int64  // how many have been counted, the header included
	index *index // of the file that they are of
}

// add counts a line. Those of a type that is not known count nothing.
func (c *counted) add(line Line) error {
	var what struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
	}
	err := json.Unmarshal(line.Text, &what)
	if err == nil && line.N == 0 && (what.Type != "attempts" || what.Version != Version) {
		err = fmt.Errorf("not the attempts of a run of version %d", Version)
	}
	if err == nil && what.Type == TypeAttempt {
		err = c.addAttempt(line)
	}
	if err != nil {
		return fmt.Errorf("attempts.jsonl: line %d: %w", line.N, err)
	}
	c.lines = line.N + 1
	c.Finished = what.Type == TypeSummary
	if what.Type == TypeSkipped {
		c.Skipped++
	}
	return nil
}

// addAttempt counts an attempt by its verdict.
func (c *Counts) addAttempt(line Line) error {
	var verdict struct {
		Outcome Outcome `json:"outcome"`
		Passed  *bool   `json:"passed"`
	}
	if err := json.Unmarshal(line.Text, &verdict); err != nil {
		return err
	}
	a := Attempt{Outcome: verdict.Outcome, Passed: verdict.Passed}
	c.Attempts++
	switch {
	case a.Infrastructure():
		c.Infrastructure++
	case a.Passed == nil:
		c.Ungraded++
	case *a.Passed:
		c.Passed++
	default:
		c.Failed++
	}
	return nil
}
