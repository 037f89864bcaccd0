package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ChiSquareResult is the result of [ChiSquareIndependence]: the statistic, its degrees of
// freedom and P.
type ChiSquareResult struct {
	Statistic, P     float64
	DegreesOfFreedom int
}

// ChiSquareIndependence makes Pearson's chi-square test of whether rows and columns of a
// table are independent, with Yates' correction if there is one degree of freedom. The
// table has at least one row and one column, all rows of one length, and no negative
// cells. The result is that of scipy.stats.chi2_contingency, except for the last digits
// of P. Infinite cells and a table of zeros give NaN. It is an error if a row or a column
// has the sum 0, so that nothing is expected in a cell.
func ChiSquareIndependence(table [][]float64) (ChiSquareResult, error) {
	expected, err := expectedCounts(table)
	if err != nil {
		return ChiSquareResult{}, err
	}
	freedom := (len(table) - 1) * (len(table[0]) - 1)
	if freedom == 0 {
		return ChiSquareResult{P: 1}, nil
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
	statistic := PairwiseSum(terms)
	return ChiSquareResult{statistic, chiSquareTail(statistic, freedom), freedom}, nil
}

// expectedCounts returns the counts that each cell of a table would have if rows and
// columns were independent: row sum times column sum divided by the total.
func expectedCounts(table [][]float64) ([][]float64, error) {
	columns := make([]float64, len(table[0]))
	var all []float64
	for _, row := range table {
		for j, cell := range row {
			columns[j] += cell
		}
		all = append(all, row...)
	}
	total := PairwiseSum(all)
	expected := make([][]float64, len(table))
	for i, row := range table {
		sum := PairwiseSum(row)
		for j, column := range columns {
			cell := sum * column / total
			if cell == 0 {
				return nil, fmt.Errorf("a chi-square test needs something in each row and column, row %d or column %d has nothing", i+1, j+1)
			}
			expected[i] = append(expected[i], cell)
		}
	}
	return expected, nil
}

// chiSquareTail returns the probability that a chi-square variable with this many
// degrees of freedom exceeds statistic. Like scipy it returns 0 where the density
// underflows.
func chiSquareTail(statistic float64, freedom int) float64 {
	const minExponent = -709.782712893384 // math.Exp of less underflows
	a, x := float64(freedom)/2, statistic/2
	if math.IsNaN(x) {
		return x
	}
	logGamma, _ := math.Lgamma(a)
	if x > a && a*math.Log(x)-x-logGamma < minExponent {
		return 0
	}
	return mathext.GammaIncRegComp(a, x)
}
