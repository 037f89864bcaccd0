package grading

import (
	"fmt"
	"slices"

	"assay/testcases/grading/pyvalue"
)

// gradeDistribution passes if the percentage of every cell type of the ground truth is
// in the answer within one tolerance for all types, in percentage points, whatever type
// the tolerance has. The total number of cells is compared too if both sides have one.
// Other fields and types of the answer have no effect.
func gradeDistribution(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	g, err := newDistributionGrader(config)
	if err != nil {
		return Result{}, err
	}
	given, missing, err := splitMissingFields(answer, "cell_type_distribution")
	if err != nil || missing != nil {
		return g.report.missingFieldsResult(answer, missing...), err
	}
	if err := g.gradeTotal(given); err != nil {
		return Result{}, err
	}
	expected, err := getConfigSection(g.truth, "cell_type_distribution")
	if err != nil {
		return Result{}, err
	}
	found, err := getConfigSection(given, "cell_type_distribution")
	if err != nil {
		return Result{}, err
	}
	for name, percentage := range expected.All() {
		if err := g.gradeCellType(name, percentage, found.Get(name)); err != nil {
			return Result{}, err
		}
	}
	g.reportExtraTypes(expected, found)
	return g.report.binaryResult(), nil
}

// distributionGrader grades one distribution answer against the ground truth of a
// config.
type distributionGrader struct {
	report            *graderReport
	truth, tolerances *pyvalue.Object
	tolerance         pyvalue.Value // for percentages
}

// newDistributionGrader reads the config of a distribution grader. The default
// tolerance is 3 percentage points. A malformed config is an error.
func newDistributionGrader(config *pyvalue.Object) (g distributionGrader, err error) {
	g.report = newGraderReport("Distribution")
	if g.truth, err = getConfigSection(config, "ground_truth"); err != nil {
		return g, err
	}
	if g.tolerances, err = getConfigSection(config, "tolerances"); err != nil {
		return g, err
	}
	percentages, err := getConfigSection(g.tolerances, "cell_type_percentages")
	g.tolerance = getOrDefault(percentages, "value", pyvalue.Float(3))
	return g, err
}

// gradeTotal compares the total number of cells if both the answer and the ground truth
// have one. Only then does it read the total's tolerance.
func (g distributionGrader) gradeTotal(given *pyvalue.Object) error {
	expected, found := getOrDefault(g.truth, "total_cells", pyvalue.Null{}), getOrDefault(given, "total_cells", pyvalue.Null{})
	if expected == (pyvalue.Null{}) || found == (pyvalue.Null{}) {
		return nil
	}
	tolerance, err := getConfigSection(g.tolerances, "total_cells")
	if err != nil {
		return err
	}
	_, err = g.gradeNumber("total_cells", found, expected, getOrDefault(tolerance, "value", pyvalue.NewInt(0)))
	return err
}

// gradeCellType compares the percentage of one cell type; found is nil if the answer
// lacks it. It is an error if one of the numbers does not fit a double, even the
// expected one when nothing is compared.
func (g distributionGrader) gradeCellType(name string, expected, found pyvalue.Value) error {
	if err := checkFitsFloat(expected); err != nil {
		return err
	}
	if found == nil {
		g.setMetrics(name, pyvalue.Null{}, expected, pyvalue.Null{}, false)
		g.report.addFailure(name + ": missing from the answer, expected " + formatValue(expected))
		return nil
	}
	off, err := g.gradeNumber(name, found, expected, g.tolerance)
	if err != nil {
		return err
	}
	return checkFitsFloat(found, off)
}

// gradeNumber compares found with expected, adds the result to the report and returns
// the absolute difference. Values that are not numbers are a type error.
func (g distributionGrader) gradeNumber(name string, found, expected, tolerance pyvalue.Value) (off pyvalue.Value, err error) {
	if off, err = pyvalue.AbsDifference(found, expected); err != nil {
		return nil, err
	}
	ok, err := pyvalue.LessOrEqual(off, tolerance)
	if err != nil {
		return nil, err
	}
	g.setMetrics(name, found, expected, off, ok)
	wanted := fmt.Sprintf("expected %s within %s", formatValue(expected), formatValue(tolerance))
	g.report.addLine(ok, fmt.Sprintf("%s: %s, %s", name, formatValue(found), wanted))
	if !ok {
		g.report.addFailure(fmt.Sprintf("%s: found %s, %s: off by %s", name, formatValue(found), wanted, formatSixDigits(off)))
	}
	return off, nil
}

// setMetrics sets the metrics of one compared number: actual, expected, diff and pass.
func (g distributionGrader) setMetrics(name string, found, expected, off pyvalue.Value, ok bool) {
	metrics := g.report.metrics
	metrics.Set(name+"_actual", found)
	metrics.Set(name+"_expected", expected)
	metrics.Set(name+"_diff", off)
	metrics.Set(name+"_pass", pyvalue.Bool(ok))
}

// reportExtraTypes adds to the report the cell types that only the answer has. They do
// not affect the verdict.
func (g distributionGrader) reportExtraTypes(expected, found *pyvalue.Object) {
	var names []string
	for name := range found.All() {
		if !expected.Has(name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return
	}
	slices.Sort(names)
	g.report.metrics.Set("extra_cell_types", toStringValues(names))
	g.report.addListLine(true, "more, which do not count", toStringValues(names))
}
