package grading

// graders is the one place that lists them. The types that other harnesses know
// too have no check, so that their cases run as they are.
func graders() map[string]grader {
	return map[string]grader{
		"exact":             {check: checkExact, grade: ofAnswer(exact)},
		"kernel_check":      {check: checkKernelCheck, grade: kernelCheck},
		"multiple_choice":   {grade: ofAnswer(multipleChoice)},
		"numeric_tolerance": {grade: ofAnswer(numericTolerance)},
	}
}
