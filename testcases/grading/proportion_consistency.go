package grading

import (
	"fmt"
	"math"

	"assay/internal/stats"
	"assay/testcases/grading/pyvalue"
)

// gradeProportionConsistency passes if the samples of the answer have similar
// proportions of cell types: a chi-square test finds no difference, and Cramér's V is
// small. The proportions are tested as they are, as if they were counts.
func gradeProportionConsistency(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	thresholds, err := getPassThresholds(config)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Proportion consistency")
	given, missing, err := splitMissingFields(answer, "cell_types", "samples")
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	types, _ := given.Get("cell_types").(pyvalue.List)
	samples, _ := given.Get("samples").(pyvalue.List)
	if len(types) == 0 || len(samples) < 2 {
		r.addFailure(fmt.Sprintf("want lists of at least 1 cell type and 2 samples, found %d and %d", len(types), len(samples)))
		return r.binaryResult(), nil
	}
	if err := checkGraderSteps("cell_types and samples", len(types), len(samples)); err != nil {
		return Result{}, err
	}
	p, fault, err := readProportions(types, samples)
	if err != nil {
		return Result{}, err
	}
	if fault != "" {
		r.addFailure(fault)
		return r.binaryResult(), nil
	}
	test, err := runChiSquareTest(p.table)
	if err != nil {
		r.addFailure(err.Error())
		return r.binaryResult(), nil
	}
	for _, name := range append(append(pyvalue.List{}, types...), p.names...) {
		if pyvalue.KindOf(name) != "string" {
			return Result{}, pyvalue.TypeError("the name of a sample or cell type: want a string, found %s", formatValue(name))
		}
	}
	return r.checkProportionConsistency(p, test, getOrDefault(thresholds, "chi2_q_min", pyvalue.Float(0.05)), getOrDefault(thresholds, "cramers_v_max", pyvalue.Float(0.15)))
}

// proportionTable is a table with a row for each sample and a column for each cell type.
type proportionTable struct {
	types, names pyvalue.List
	table        [][]float64
}

// readProportions returns the table of cell type proportions of an answer. A cell type
// that a sample lacks is 0. fault describes what is wrong with the samples, or is "" if
// nothing is.
func readProportions(types, samples pyvalue.List) (p proportionTable, fault string, err error) {
	p.types = types
	for i, item := range samples {
		sample, _ := item.(*pyvalue.Object)
		if !sample.Has("sample") || !sample.Has("proportions") {
			return p, fmt.Sprintf("samples[%d]: want an object with sample and proportions, found %s", i, formatValue(item)), nil
		}
		parts, err := getConfigSection(sample, "proportions")
		if err != nil {
			return p, "", err
		}
		row := make([]float64, len(types))
		for j, name := range types {
			v, err := pythonItemIfContained(parts, name)
			if err != nil {
				return p, "", err
			}
			if v == nil {
				continue
			}
			n, ok := pyvalue.AsNumber(v)
			if row[j], err = n.Float(); !ok || err != nil {
				fault = fmt.Sprintf("samples[%d]: the proportion of %s is not a number but %s", i, formatValue(name), formatValue(v))
			}
		}
		p.names = append(p.names, sample.Get("sample"))
		p.table = append(p.table, row)
	}
	return p, fault, nil
}

// runChiSquareTest makes the chi-square test of independence for a table. A negative
// cell, and a row or column that is all zeros, are value errors.
func runChiSquareTest(table [][]float64) (stats.ChiSquareResult, error) {
	for _, row := range table {
		for _, cell := range row {
			if cell < 0 {
				return stats.ChiSquareResult{}, pyvalue.ValueError("a chi-square test needs a table without negative values, found %s", pyvalue.FormatFloat(cell))
			}
		}
	}
	test, err := stats.ChiSquareIndependence(table)
	if err != nil {
		return test, pyvalue.ValueError("%v", err)
	}
	return test, nil
}

// cramersV returns Cramér's V, the strength of the difference between the samples'
// proportions, from 0 to 1.
func (p proportionTable) cramersV(statistic float64) float64 {
	var all []float64
	for _, row := range p.table {
		all = append(all, row...)
	}
	total, smaller := stats.PairwiseSum(all), min(len(p.table), len(p.types))-1
	if smaller == 0 || !(total > 0) {
		return 0
	}
	return math.Sqrt(statistic / (total * float64(smaller)))
}

// checkProportionConsistency sets the metrics and compares q and Cramér's V with their
// thresholds.
func (r *graderReport) checkProportionConsistency(p proportionTable, test stats.ChiSquareResult, least, most pyvalue.Value) (Result, error) {
	v := pyvalue.Float(p.cramersV(test.Statistic))
	q := pyvalue.Float(test.P) // the correction of Benjamini and Hochberg leaves a single p unchanged
	r.metrics.Set("num_samples", listLengthValue(p.names))
	r.metrics.Set("num_cell_types", listLengthValue(p.types))
	r.metrics.Set("chi2_statistic", pyvalue.Float(test.Statistic))
	r.metrics.Set("p_value", pyvalue.Float(test.P))
	r.metrics.Set("q_value", q)
	r.metrics.Set("degrees_of_freedom", pyvalue.NewInt(int64(test.DegreesOfFreedom)))
	r.metrics.Set("cramers_v", v)
	r.metrics.Set("chi2_q_min_threshold", least)
	r.metrics.Set("cramers_v_max_threshold", most)
	likely, err := r.requireAtLeast("q of the chi-square test", q, least)
	if err != nil {
		return Result{}, err
	}
	small, err := r.requireAtMost("Cramér's V", v, most)
	if err != nil {
		return Result{}, err
	}
	r.metrics.Set("q_pass", pyvalue.Bool(likely))
	r.metrics.Set("cramers_pass", pyvalue.Bool(small))
	r.metrics.Set("cell_types", p.types)
	r.metrics.Set("sample_names", p.names)
	return r.binaryResult(), nil
}
