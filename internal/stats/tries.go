package stats

// PassAtK returns the probability that at least one of k tries passes, if the k are
// drawn at random, without replacement, from tries of which passed have passed: 1 -
// C(tries-passed, k)/C(tries, k). It is the unbiased estimate of pass@k. It returns NaN
// if k is more than tries.
func PassAtK(tries, passed, k int) float64 {
	return 1 - BinomialCoefficient(tries-passed, k)/BinomialCoefficient(tries, k)
}

// PassHatK returns the probability that all of k tries pass, if the k are drawn at
// random, without replacement, from tries of which passed have passed: C(passed,
// k)/C(tries, k). It is the unbiased estimate of pass^k. It returns NaN if k is more
// than tries.
func PassHatK(tries, passed, k int) float64 {
	return BinomialCoefficient(passed, k) / BinomialCoefficient(tries, k)
}

// BinomialCoefficient returns the number of ways to choose k of n things, C(n, k), as a float.
// It returns 0 if k is more than n. Neither may be negative.
func BinomialCoefficient(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(i+1)
	}
	return c
}
