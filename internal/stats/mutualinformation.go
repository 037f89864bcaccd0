package stats

import "math"

// AdjustedMutualInformation returns the adjusted mutual information of the rows and
// columns of a table of counts, normalised by the mean of their entropies, as
// scikit-learn's adjusted_mutual_info_score: 1 if rows and columns are the same
// partition, around 0 if they are independent. All rows must have the same length, and
// no row and no column may be all zeros. A single row with a single column counts as
// the same partition.
func AdjustedMutualInformation(table [][]int) float64 {
	rows, columns, n := marginalSums(table)
	switch {
	case len(rows) == 1 && len(columns) == 1:
		return 1
	case len(rows) == 1 || len(columns) == 1:
		return 0
	case len(rows) == n && len(columns) == n:
		return 0 // 0/0, of which rounding errors would make any number
	}
	const epsilon = 0x1p-52
	expected := expectedMutualInformation(rows, columns, n)
	most := (entropy(rows, n)+entropy(columns, n))/2 - expected
	if most < 0 {
		most = min(most, -epsilon)
	} else {
		most = max(most, epsilon)
	}
	return (mutualInformation(table, rows, columns, n) - expected) / most
}

// EstimateAdjustedMutualInformationSteps estimates how many loop steps
// [AdjustedMutualInformation] takes for a table, so that a caller can refuse a table
// that would take too long. Each pair of a row and a column takes about as many steps
// as there are likely counts for it, which lie within a few standard deviations.
func EstimateAdjustedMutualInformationSteps(table [][]int) float64 {
	rows, columns, n := marginalSums(table)
	sumOfRoots := func(counts []int) (sum float64) {
		for _, count := range counts {
			sum += math.Sqrt(float64(count))
		}
		return sum
	}
	const deviations, least = 24, 40
	return deviations*sumOfRoots(rows)*sumOfRoots(columns)/math.Sqrt(float64(n)) + least*float64(len(rows)*len(columns))
}

// marginalSums returns the sum of each row, the sum of each column, and the sum of the
// whole table.
func marginalSums(table [][]int) (rows, columns []int, n int) {
	rows, columns = make([]int, len(table)), make([]int, len(table[0]))
	for i, row := range table {
		for j, count := range row {
			rows[i] += count
			columns[j] += count
			n += count
		}
	}
	return rows, columns, n
}

// mutualInformation returns the mutual information of a table's rows and columns in
// nats. It leaves out terms that differ from 0 only by a rounding error.
func mutualInformation(table [][]int, rows, columns []int, n int) float64 {
	const epsilon = 0x1p-52
	whole := math.Log(float64(n))
	var terms []float64
	for i, row := range table {
		for j, count := range row {
			if count == 0 {
				continue
			}
			share := float64(count) / float64(n)
			independent := -math.Log(float64(rows[i]*columns[j])) + whole + whole
			// The conversions keep the compiler from fusing multiplication and addition,
			// which would change the last bit.
			term := float64(share*(math.Log(float64(count))-whole)) + float64(share*independent)
			if math.Abs(term) >= epsilon {
				terms = append(terms, term)
			}
		}
	}
	return max(0, PairwiseSum(terms))
}

// entropy returns the entropy, in nats, of a partition of n things into parts of these
// sizes. (gonum's stat.Entropy adds in another order and differs in the last bit.)
func entropy(counts []int, n int) float64 {
	terms := make([]float64, len(counts))
	for i, count := range counts {
		terms[i] = float64(count) / float64(n) * (math.Log(float64(count)) - math.Log(float64(n)))
	}
	return -PairwiseSum(terms)
}

// expectedMutualInformation returns the mean mutual information, in nats, over all
// random tables with these row sums and column sums.
func expectedMutualInformation(rows, columns []int, n int) float64 {
	sum := 0.0
	for _, a := range rows {
		for _, b := range columns {
			sum += expectedMutualInformationTerm(a, b, n)
		}
	}
	return sum
}

// expectedMutualInformationTerm returns the contribution of one row (sum a) and one
// column (sum b), of n in all, to the expected mutual information: the sum over all
// counts k that they may share of the hypergeometric probability of k times
// [mutualInformationTerm]. It begins with the likeliest k, goes up and down from there,
// and stops where a term no longer changes the sum.
func expectedMutualInformationTerm(a, b, n int) float64 {
	const negligible = 1e-30
	least, most := max(1, a+b-n), min(a, b)
	likeliest := min(max((a+1)*(b+1)/(n+2), least), most)
	start := hypergeometricProbability(a, b, n, likeliest)

	sum := 0.0
	for k, p := likeliest, start; k <= most && p > negligible; k++ {
		sum += p * mutualInformationTerm(a, b, n, k)
		p *= float64(a-k) / float64(k+1) * (float64(b-k) / float64(n-a-b+k+1))
	}
	for k, p := likeliest, start; k > least && p > negligible; k-- {
		p *= float64(k) / float64(a-k+1) * (float64(n-a-b+k) / float64(b-k+1))
		sum += p * mutualInformationTerm(a, b, n, k-1)
	}
	return sum
}

// mutualInformationTerm returns the term of the mutual information, in nats, for a cell
// with count k in a row with sum a and a column with sum b, of n in all.
func mutualInformationTerm(a, b, n, k int) float64 {
	return float64(k) / float64(n) * math.Log(float64(k)/float64(a)*(float64(n)/float64(b)))
}

// hypergeometricProbability returns the probability that random subsets of a and of b
// out of n things have exactly k things in common.
func hypergeometricProbability(a, b, n, k int) float64 {
	return math.Exp(logFactorial(a) + logFactorial(b) + logFactorial(n-a) + logFactorial(n-b) - logFactorial(n) -
		logFactorial(k) - logFactorial(a-k) - logFactorial(b-k) - logFactorial(n-a-b+k))
}

// logFactorial returns the natural logarithm of n!.
func logFactorial(n int) float64 {
	f, _ := math.Lgamma(float64(n) + 1)
	return f
}
