package grading

// sumFloats adds in the order in which numpy does, so that the last bit agrees:
// eight partial sums side by side, and the halves of what is longer than 128.
func sumFloats(a []float64) float64 {
	if len(a) > 128 {
		half := len(a)/2 - len(a)/2%8
		return sumFloats(a[:half]) + sumFloats(a[half:])
	}
	total := 0.0
	if len(a) >= 8 {
		whole := len(a) - len(a)%8
		r := [8]float64(a)
		for i := 8; i < whole; i++ {
			r[i%8] += a[i]
		}
		total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		a = a[whole:]
	}
	for _, f := range a {
		total += f
	}
	return total
}
