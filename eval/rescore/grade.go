// Package grade grades without running anything: [GradeLines] what stands in lines,
// each with its own graders, and [RegradeRun] the attempts of a run that is over,
// with the cases as they are today.
package rescore
