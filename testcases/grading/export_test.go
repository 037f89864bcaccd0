package grading

import "assay/internal/model"

// What the tests compare with Python directly.

// CommandVerdict is what comes of an answer on stdout and an exit status.
func CommandVerdict(stdout string, status int) (passed bool, score float64, err error) {
	said, err := parseCommandAnswer(exitState{status: status, stdout: stdout})
	if err != nil {
		return false, 0, err
	}
	result := commandResult("grade", said)
	return result.Passed, result.Score, nil
}

// JudgeVerdict is what comes of a judge's reply.
func JudgeVerdict(reply *model.Response) (passed bool, score float64, err error) {
	said, err := readVerdict(reply)
	if err != nil {
		return false, 0, err
	}
	score, err = floatValue(said.score)
	return said.passed, score, err
}
