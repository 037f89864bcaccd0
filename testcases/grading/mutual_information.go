package grading

import (
	"fmt"
	"math"

	"assay/internal/stats"
	"assay/testcases/grading/pyvalue"
)

// gradeMutualInformation passes if clusters and samples are related, but not too much:
// the adjusted mutual information of the answer's contingency table is between two
// thresholds. The default of the lower one is 0, which perfectly mixed clusters miss by
// a little; the upper one is optional.
func gradeMutualInformation(config *pyvalue.Object, answer pyvalue.Value) (Result, error) {
	thresholds, err := getPassThresholds(config)
	if err != nil {
		return Result{}, err
	}
	r := newGraderReport("Adjusted mutual information")
	given, missing, err := splitMissingFields(answer, "clusters", "samples", "contingency")
	if err != nil || missing != nil {
		return r.missingFieldsResult(answer, missing...), err
	}
	clusters, _ := given.Get("clusters").(pyvalue.List)
	samples, _ := given.Get("samples").(pyvalue.List)
	cells, fault := readContingency(given.Get("contingency"), len(clusters), len(samples))
	if fault != "" {
		r.addFailure(fault)
		return r.binaryResult(), nil
	}
	table, err := mergeEqualLabels(clusters, samples, cells)
	if err != nil {
		return Result{}, err
	}
	if len(table) == 0 {
		r.addFailure("contingency: every count is 0")
		return r.binaryResult(), nil
	}
	least, most := getOrDefault(thresholds, "ami_min", pyvalue.Float(0)), getOrDefault(thresholds, "ami_max", pyvalue.Null{})
	if err := checkContingencyTableSteps(table); err != nil {
		return Result{}, err
	}
	ami := pyvalue.Float(stats.AdjustedMutualInformation(table))
	if err := r.checkMutualInformation(ami, least, most); err != nil {
		return Result{}, err
	}
	r.metrics.Set("ami", ami)
	r.metrics.Set("ami_min_threshold", least)
	r.metrics.Set("ami_max_threshold", most)
	r.metrics.Set("clusters", clusters)
	r.metrics.Set("samples", samples)
	return r.binaryResult(), nil
}

// checkContingencyTableSteps returns an error if a contingency table has so many rows, columns and
// counts that calculating its mutual information would take too long.
func checkContingencyTableSteps(table [][]int) error {
	if stats.EstimateAdjustedMutualInformationSteps(table) <= 2*maxGraderSteps {
		return nil
	}
	sum := 0
	for _, row := range table {
		for _, count := range row {
			sum += count
		}
	}
	return pyvalue.ValueError("contingency: a table of %d by %d with a sum of %d takes more steps than a grader may", len(table), len(table[0]), sum)
}

// checkMutualInformation compares the adjusted mutual information with the thresholds
// least and most and adds the results to the report. most is null if there is no upper
// threshold.
func (r *graderReport) checkMutualInformation(ami, least, most pyvalue.Value) error {
	const what = "adjusted mutual information"
	if _, err := r.requireAtLeast(what, ami, least); err != nil {
		return err
	}
	if most == (pyvalue.Null{}) {
		return checkFitsFloat(least)
	}
	if _, err := r.requireAtMost(what, ami, most); err != nil {
		return err
	}
	return checkFitsFloat(least, most)
}

// readContingency returns the contingency table of an answer as numbers. It must have
// this many rows and columns, no negative counts and at least one count above 0. Counts
// may be strings; null is NaN. fault describes what is wrong with the table, or is ""
// if nothing is.
func readContingency(v pyvalue.Value, rows, columns int) (cells [][]float64, fault string) {
	list, _ := v.(pyvalue.List)
	if rows == 0 || columns == 0 || len(list) != rows {
		return nil, fmt.Sprintf("contingency: want a list of clusters, of samples, and a table of one row for each cluster; found %d, %d and %d rows", rows, columns, len(list))
	}
	some := false
	for i, item := range list {
		row, _ := item.(pyvalue.List)
		if len(row) != columns {
			return nil, fmt.Sprintf("contingency[%d]: want a list of %d counts, found %s", i, columns, formatValue(item))
		}
		cells = append(cells, make([]float64, columns))
		for j, cell := range row {
			f, ok := readCount(cell)
			if !ok || f < 0 {
				return nil, fmt.Sprintf("contingency[%d][%d]: want a count, found %s", i, j, formatValue(cell))
			}
			cells[i][j] = f
			some = some || f != 0
		}
	}
	if !some {
		return nil, "contingency: every count is 0"
	}
	return cells, ""
}

// readCount returns a cell of a contingency table as a number, or false if it is not a
// number.
func readCount(cell pyvalue.Value) (float64, bool) {
	if cell == (pyvalue.Null{}) {
		return math.NaN(), true
	}
	number, ok := readNumber(cell)
	n, isNumber := pyvalue.AsNumber(number)
	f, err := n.Float()
	return f, ok && isNumber && err == nil
}

// mergeEqualLabels rounds the counts in cells, half to even, and returns them with one
// row per distinct cluster and one column per distinct sample that has a count above 0.
// The result has no rows if all counts are 0. A count that is not finite is a value
// error, and a sum above 2147483647 an error of kind overflow.
func mergeEqualLabels(clusters, samples pyvalue.List, cells [][]float64) ([][]int, error) {
	var usedRows, usedColumns []int
	isUsedColumn := make([]bool, len(samples))
	total := 0.0
	for i, row := range cells {
		isUsedRow := false
		for j, cell := range row {
			if math.IsNaN(cell) || math.IsInf(cell, 0) {
				return nil, pyvalue.ValueError("contingency[%d][%d]: want a finite count, found %s", i, j, pyvalue.FormatFloat(cell))
			}
			row[j] = math.RoundToEven(cell)
			if total += row[j]; total > math.MaxInt32 {
				return nil, &pyvalue.Error{Kind: "overflow", Text: "contingency: more than 2147483647 in all"}
			}
			if row[j] > 0 {
				isUsedRow = true
				if !isUsedColumn[j] {
					isUsedColumn[j], usedColumns = true, append(usedColumns, j)
				}
			}
		}
		if isUsedRow {
			usedRows = append(usedRows, i)
		}
	}
	rows, height, err := assignLabelNumbers("clusters", clusters, usedRows)
	if err != nil {
		return nil, err
	}
	columns, width, err := assignLabelNumbers("samples", samples, usedColumns)
	if err != nil {
		return nil, err
	}
	table := make([][]int, height)
	for i := range table {
		table[i] = make([]int, width)
	}
	for _, i := range usedRows {
		for _, j := range usedColumns {
			table[rows[i]][columns[j]] += int(cells[i][j])
		}
	}
	return table, nil
}

// assignLabelNumbers numbers the distinct labels at the indices used, from 0 on in that order,
// and returns the number of each of them by its index. Labels are equal if numpy makes
// them equal: if one of them is a text, it converts all to texts; else if one is a
// float, all to floats. A label that is neither a number nor a text, or not finite, is
// a type error.
func assignLabelNumbers(what string, labels pyvalue.List, used []int) (numbers []int, distinct int, err error) {
	text, float := false, false
	for _, i := range used {
		text = text || pyvalue.KindOf(labels[i]) == "string"
		float = float || pyvalue.KindOf(labels[i]) == "number"
	}
	numbers, known := make([]int, len(labels)), map[string]int{}
	for _, i := range used {
		key, err := labelKey(labels[i], text, float)
		if err != nil {
			return nil, 0, pyvalue.TypeError("%s: want names or numbers, found %s", what, formatValue(labels[i]))
		}
		if _, ok := known[key]; !ok {
			known[key] = len(known)
		}
		numbers[i] = known[key]
	}
	return numbers, len(known), nil
}

// labelKey returns the text by which a label of a contingency table is compared with
// the others.
func labelKey(label pyvalue.Value, asText, asFloat bool) (string, error) {
	n, ok := pyvalue.AsNumber(label)
	switch {
	case asText && (ok || pyvalue.KindOf(label) == "string"):
		return pyvalue.Str(label), nil
	case !ok:
		return "", pyvalue.TypeError("neither name nor number")
	case !asFloat:
		return n.Int().String(), nil
	}
	f, err := n.Float()
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = pyvalue.ValueError("not finite")
	}
	return pyvalue.FormatFloat(f + 0), err
}
