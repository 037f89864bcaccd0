package grading

import (
	"math"

	"assay/testcases/grading/pyvalue"
)

// mergeLabels rounds the counts, half to even, and returns them with one row for
// each cluster and one column for each sample that is left with any: labels that
// are equal are one. It has no rows when nothing is left.
func mergeLabels(clusters, samples pyvalue.List, cells [][]float64) ([][]int, error) {
	type entry struct{ row, column, count int }
	var entries []entry
	var rowLabels, columnLabels pyvalue.List
	total := 0.0
	for i, row := range cells {
		for j, cell := range row {
			if math.IsNaN(cell) || math.IsInf(cell, 0) {
				return nil, pyvalue.ValueError("contingency[%d][%d]: want a finite count, found %s", i, j, pyvalue.FormatFloat(cell))
			}
			cell = math.RoundToEven(cell)
			if total += cell; total > math.MaxInt32 {
				return nil, &pyvalue.Error{Kind: "overflow", Text: "contingency: more than 2147483647 in all"}
			}
			if cell > 0 {
				entries = append(entries, entry{i, j, int(cell)})
				rowLabels, columnLabels = append(rowLabels, clusters[i]), append(columnLabels, samples[j])
			}
		}
	}
	rows, height, err := numberLabels("clusters", rowLabels)
	if err != nil {
		return nil, err
	}
	columns, width, err := numberLabels("samples", columnLabels)
	if err != nil {
		return nil, err
	}
	table := make([][]int, height)
	for i := range table {
		table[i] = make([]int, width)
	}
	for k, e := range entries {
		table[rows[k]][columns[k]] += e.count
	}
	return table, nil
}

// numberLabels gives the same number, from 0 on, to labels that numpy makes
// equal: when one is text it makes text of all, when one is a double, doubles.
// The error is a label that is neither number nor text, or not finite.
func numberLabels(what string, labels pyvalue.List) (numbers []int, distinct int, err error) {
	text, float := false, false
	for _, label := range labels {
		text = text || pyvalue.KindOf(label) == "string"
		float = float || pyvalue.KindOf(label) == "number"
	}
	known := map[string]int{}
	for _, label := range labels {
		key, err := labelKey(label, text, float)
		if err != nil {
			return nil, 0, pyvalue.TypeError("%s: want names or numbers, found %s", what, show(label))
		}
		if _, ok := known[key]; !ok {
			known[key] = len(known)
		}
		numbers = append(numbers, known[key])
	}
	return numbers, len(known), nil
}

func labelKey(label pyvalue.Value, asText, asFloat bool) (string, error) {
	n, ok := pyvalue.AsNumber(label)
	switch {
	case asText && (ok || pyvalue.KindOf(label) == "string"):
		return pyvalue.Text(label), nil
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
