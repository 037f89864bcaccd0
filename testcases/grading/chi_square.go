package grading

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// chiSquare is the result of a test whether rows and columns are independent.
type chiSquare struct {
	statistic, p float64
	freedom      int // degrees of freedom
}

// testIndependence is Pearson's chi-square test of a table of at least one row
// and one column, with Yates' correction when there is one degree of freedom.
// It computes as scipy does, except for the last digits of p; where NaN comes in,
// by an infinite cell or a table of nothing but 0, NaN comes out. The error is
// that a cell is negative or nothing would be expected in one.
func testIndependence(table [][]float64) (chiSquare, error) {
	for _, row := range table {
		for _, cell := range row {
			if cell < 0 {
				return chiSquare{}, valueError("a chi-square test needs a table without negative values, found %s", floatText(cell))
			}
		}
	}
	expected, err := expectedCells(table)
	if err != nil {
		return chiSquare{}, err
	}
	freedom := (len(table) - 1) * (len(table[0]) - 1)
	if freedom == 0 {
		return chiSquare{p: 1}, nil
	}
	var terms []float64
	for i, row := range table {
		for j, observed := range row {
			off := expected[i][j] - observed
			if freedom == 1 {
				observed += math.Copysign(math.Min(0.5, math.Abs(off)), off)
			}
			off = observed - expected[i][j]
			terms = append(terms, off*off/expected[i][j])
		}
	}
	statistic := sumFloats(terms)
	return chiSquare{statistic, chiSquareTail(statistic, freedom), freedom}, nil
}

// expectedCells are what the sums of rows and columns let expect in each cell.
func expectedCells(table [][]float64) ([][]float64, error) {
	columns := make([]float64, len(table[0]))
	var all []float64
	for _, row := range table {
		for j, cell := range row {
			columns[j] += cell
		}
		all = append(all, row...)
	}
	total := sumFloats(all)
	expected := make([][]float64, len(table))
	for i, row := range table {
		sum := sumFloats(row)
		for j, column := range columns {
			cell := sum * column / total
			if cell == 0 {
				return nil, valueError("a chi-square test needs something in each row and column, row %d or column %d has nothing", i+1, j+1)
			}
			expected[i] = append(expected[i], cell)
		}
	}
	return expected, nil
}

// chiSquareTail is the probability of a greater statistic, as scipy has it: 0
// where the density underflows.
func chiSquareTail(statistic float64, freedom int) float64 {
	const deepest = -709.782712893384 // below it exp underflows
	a, x := float64(freedom)/2, statistic/2
	if math.IsNaN(x) {
		return x
	}
	logGamma, _ := math.Lgamma(a)
	if x > a && a*math.Log(x)-x-logGamma < deepest {
		return 0
	}
	return mathext.GammaIncRegComp(a, x)
}
