package grading

import "assay/testcases/grading/pyvalue"

// mostSteps bounds the work of graders that grows with the product of two
// lengths: some seconds of it. What a case asks for is far below; it is an answer
// made to keep the grader busy, or to fill the memory, that is beyond.
const mostSteps = 50_000_000

// affordable is an error if a times b steps are too many. What describes them.
func affordable(what string, a, b int) error {
	if a > 0 && b > mostSteps/a {
		return pyvalue.ValueError("%s: %d times %d steps are more than a grader may take (%d)", what, a, b, mostSteps)
	}
	return nil
}
