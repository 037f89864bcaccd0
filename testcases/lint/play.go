package lint

import "assay/testcases"

// PlayResult is the result of one attempt at a case by an agent that does not think: the case's
// own solution, or an agent that does nothing.
type PlayResult struct {
	SkipReason string // why the case could not be played here; "" if it was
	IsPassed   bool
	Failure    string // why the attempt did not pass
}

// PlayableCases returns the cases of the report without errors that have a solution and a
// grader. To the results of the others it adds W110.
func (r *Report) PlayableCases() (cases []testcases.Case) {
	for i, result := range r.Results {
		switch c := result.Case; {
		case c == nil:
		case c.Oracle == nil:
			r.AddIssue(i, "W110", "oracle", "not played: the case has no oracle")
		case len(c.Graders) == 0:
			r.AddIssue(i, "W110", "oracle", "not played: the case has no grader")
		default:
			cases = append(cases, *c)
		}
	}
	return cases
}

// AddPlayResults adds what playing the cases has shown: W111 to a case that was skipped, E110
// to one whose solution does not pass, and E111 to one that passes although the agent
// did nothing. The keys of both maps are those of [FileResult.File]. It returns the number of
// cases whose solution was played.
func (r *Report) AddPlayResults(solution, nothing map[string]PlayResult) (played int) {
	for i, result := range r.Results {
		play, ok := solution[result.File]
		switch {
		case !ok:
			continue
		case play.SkipReason != "":
			r.AddIssue(i, "W111", "requires", "not played: "+play.SkipReason)
			continue
		case !play.IsPassed:
			r.AddIssue(i, "E110", "oracle", "its own solution does not pass: "+play.Failure)
		}
		played++
		if nothing[result.File].IsPassed {
			r.AddIssue(i, "E111", "grader", "doing nothing passes: the graders accept an empty notebook and the files that were there before")
		}
	}
	return played
}
