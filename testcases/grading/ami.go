package grading

import "math"

// adjustedMutualInformation of a table of counts, in which no row and no column
// is all 0, is how much more rows and columns tell of each other than by chance:
// 1 when they are the same, around 0 when they are independent. It is normalised
// by the mean of their entropies. A single row and a single column are the same.
func adjustedMutualInformation(table [][]int) float64 {
	rows, columns, n := marginals(table)
	switch {
	case len(rows) == 1 && len(columns) == 1:
		return 1
	case len(rows) == 1 || len(columns) == 1:
		return 0
	case len(rows) == n && len(columns) == n:
		return 0 // 0/0, which rounding would make anything
	}
	const epsilon = 0x1p-52
	expected := expectedInformation(rows, columns, n)
	most := (entropy(rows, n)+entropy(columns, n))/2 - expected
	if most < 0 {
		most = min(most, -epsilon)
	} else {
		most = max(most, epsilon)
	}
	return (information(table, rows, columns, n) - expected) / most
}

// affordableInformation is an error if expectedInformation would take too long:
// each row takes with each column about so many steps as the counts that are
// likely for them, which lie within a few deviations.
func affordableInformation(table [][]int) error {
	rows, columns, n := marginals(table)
	roots := func(counts []int) (sum float64) {
		for _, count := range counts {
			sum += math.Sqrt(float64(count))
		}
		return sum
	}
	const deviations, least = 24, 40
	steps := deviations*roots(rows)*roots(columns)/math.Sqrt(float64(n)) + least*float64(len(rows)*len(columns))
	if steps > 2*mostSteps {
		return valueError("contingency: a table of %d by %d with a sum of %d takes more steps than a grader may", len(rows), len(columns), n)
	}
	return nil
}

func marginals(table [][]int) (rows, columns []int, n int) {
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

// information is the mutual information, in nats. What rounding leaves of a term
// that should be 0 is taken as 0.
func information(table [][]int, rows, columns []int, n int) float64 {
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
			term := float64(share*(math.Log(float64(count))-whole)) + float64(share*independent)
			if math.Abs(term) >= epsilon {
				terms = append(terms, term)
			}
		}
	}
	return max(0, sumFloats(terms))
}

func entropy(counts []int, n int) float64 {
	terms := make([]float64, len(counts))
	for i, count := range counts {
		terms[i] = float64(count) / float64(n) * (math.Log(float64(count)) - math.Log(float64(n)))
	}
	return -sumFloats(terms)
}

// expectedInformation is the mean of the mutual information over all tables with
// these sums of rows and columns.
func expectedInformation(rows, columns []int, n int) float64 {
	sum := 0.0
	for _, a := range rows {
		for _, b := range columns {
			sum += expectedTerm(a, b, n)
		}
	}
	return sum
}

// expectedTerm is what a row of sum a and a column of sum b add to it: over all
// counts k they may share, the hypergeometric probability of k times what k tells.
// It begins with the likeliest k, goes down and up, and leaves out what is too
// unlikely to be seen in the sum.
func expectedTerm(a, b, n int) float64 {
	const invisible = 1e-30
	least, most := max(1, a+b-n), min(a, b)
	likeliest := min(max((a+1)*(b+1)/(n+2), least), most)
	start := probability(a, b, n, likeliest)

	sum := 0.0
	for k, p := likeliest, start; k <= most && p > invisible; k++ {
		sum += p * tells(a, b, n, k)
		p *= float64(a-k) / float64(k+1) * (float64(b-k) / float64(n-a-b+k+1))
	}
	for k, p := likeliest, start; k > least && p > invisible; k-- {
		p *= float64(k) / float64(a-k+1) * (float64(n-a-b+k) / float64(b-k+1))
		sum += p * tells(a, b, n, k-1)
	}
	return sum
}

// tells is the term of the mutual information for a count k.
func tells(a, b, n, k int) float64 {
	return float64(k) / float64(n) * math.Log(float64(k)/float64(a)*(float64(n)/float64(b)))
}

// probability is the hypergeometric one that a and b of n share k.
func probability(a, b, n, k int) float64 {
	return math.Exp(logFactorial(a) + logFactorial(b) + logFactorial(n-a) + logFactorial(n-b) - logFactorial(n) -
		logFactorial(k) - logFactorial(a-k) - logFactorial(b-k) - logFactorial(n-a-b+k))
}

// logFactorial is the logarithm of n!.
func logFactorial(n int) float64 {
	f, _ := math.Lgamma(float64(n) + 1)
	return f
}
