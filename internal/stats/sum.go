package stats

// PairwiseSum returns the sum of values, added in the order in which NumPy adds them,
// so that the result agrees with NumPy's to the last bit: eight partial sums side by
// side, and the two halves of more than 128 values separately. The sum of no values is
// 0.
func PairwiseSum(values []float64) float64 {
	if len(values) > 128 {
		half := len(values)/2 - len(values)/2%8
		return PairwiseSum(values[:half]) + PairwiseSum(values[half:])
	}
	total := 0.0
	if len(values) >= 8 {
		whole := len(values) - len(values)%8
		r := [8]float64(values)
		for i := 8; i < whole; i++ {
			r[i%8] += values[i]
		}
		total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		values = values[whole:]
	}
	for _, f := range values {
		total += f
	}
	return total
}
