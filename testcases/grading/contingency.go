package grading

import "math"

// mergeLabels rounds the counts, half to even, and returns them with one row for
// each cluster and one column for each sample that is left with any: labels that
// are equal are one. It has no rows when nothing is left.
func mergeLabels(clusters, samples List, cells [][]float64) ([][]int, error) {
	type entry struct{ row, column, count int }
	var entries []entry
	var rowLabels, columnLabels List
	total := 0.0
	for i, row := range cells {
		for j, cell := range row {
			if math.IsNaN(cell) || math.IsInf(cell, 0) {
				return nil, valueError("contingency[%d][%d]: want a finite count, found %s", i, j, floatText(cell))
			}
			cell = math.RoundToEven(cell)
			if total += cell; total > math.MaxInt32 {
				return nil, &Error{Kind: "overflow", Text: "contingency: more than 2147483647 in all"}
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
func numberLabels(what string, labels List) (numbers []int, distinct int, err error) {
	text, float := false, false
	for _, label := range labels {
		text = text || KindOf(label) == "string"
		float = float || KindOf(label) == "number"
	}
	known := map[string]int{}
	for _, label := range labels {
		key, err := labelKey(label, text, float)
		if err != nil {
			return nil, 0, typeError("%s: want names or numbers, found %s", what, show(label))
		}
		if _, ok := known[key]; !ok {
			known[key] = len(known)
		}
		numbers = append(numbers, known[key])
	}
	return numbers, len(known), nil
}

func labelKey(label Value, asText, asFloat bool) (string, error) {
	n, ok := asNumber(label)
	switch {
	case asText && (ok || KindOf(label) == "string"):
		return Text(label), nil
	case !ok:
		return "", typeError("neither name nor number")
	case !asFloat:
		return n.i.String(), nil
	}
	f, err := n.float()
	if err == nil && (math.IsNaN(f) || math.IsInf(f, 0)) {
		err = valueError("not finite")
	}
	return floatText(f + 0), err
}
