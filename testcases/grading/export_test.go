package grading

import "assay/internal/model"

// ParseCommandVerdict parses the answer of a grading command, given its exit status, for
// external tests.
func ParseCommandVerdict(stdout string, status int) (passed bool, score float64, err error) {
	said, err := parseCommandAnswer(programExit{status: status, stdout: stdout})
	if err != nil {
		return false, 0, err
	}
	result := commandResult("grade", said)
	return result.Passed, result.Score, nil
}

// ParseJudgeVerdict parses the reply of a judge model, for external tests.
func ParseJudgeVerdict(reply *model.Response) (passed bool, score float64, err error) {
	said, err := parseJudgeVerdict(reply)
	if err != nil {
		return false, 0, err
	}
	score, err = floatValue(said.score)
	return said.passed, score, err
}
