package grading

import (
	"cmp"
	"slices"
)

// rank returns the indexes of scores from the highest to the lowest; equal ones
// keep their order. NaN has no place in an order, but Python sorts it all the
// same: among fewer than 64 scores it ends where Python puts it, by insertion.
func rank(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = len(scores) - 1 - i // Python sorts the reverse, and reverses that
	}
	below := func(i, j int) bool { return scores[i] < scores[j] }
	if len(scores) < 64 {
		insertionSort(order, below)
	} else {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	}
	slices.Reverse(order)
	return order
}

// insertionSort sorts as Python does what is short: it takes the run with which
// the items begin, turns it round if it descends, and inserts the others, each
// behind those that are not above it, by bisection.
func insertionSort(items []int, below func(i, j int) bool) {
	start := firstRun(items, below)
	for ; start < len(items); start++ {
		item := items[start]
		low, high := 0, start
		for low < high {
			if mid := (low + high) / 2; below(item, items[mid]) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		copy(items[low+1:start+1], items[low:start])
		items[low] = item
	}
}

// firstRun makes the run with which the items begin ascend, and returns its
// length.
func firstRun(items []int, below func(i, j int) bool) int {
	if len(items) < 2 {
		return len(items)
	}
	descends := below(items[1], items[0])
	n := 2
	for n < len(items) && below(items[n], items[n-1]) == descends {
		n++
	}
	if descends {
		slices.Reverse(items[:n])
	}
	return n
}
