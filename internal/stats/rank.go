package stats

import (
	"cmp"
	"slices"
)

// RankDescending returns the indexes of scores, ordered from the highest score to the
// lowest. Equal scores keep their order. NaN cannot be ordered; among fewer than 64
// scores it ends up where Python's sorted(..., reverse=True) puts it.
func RankDescending(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = len(scores) - 1 - i // Python sorts the reversed list, and reverses the result
	}
	less := func(i, j int) bool { return scores[i] < scores[j] }
	if len(scores) < 64 {
		binaryInsertionSort(order, less)
	} else {
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	}
	slices.Reverse(order)
	return order
}

// binaryInsertionSort sorts items as Python sorts short lists, with the same result
// even if less is not a consistent order: it makes the run at the beginning ascending,
// and inserts each further item, by bisection, after those that are not greater.
func binaryInsertionSort(items []int, less func(i, j int) bool) {
	for start := makeLeadingRunAscending(items, less); start < len(items); start++ {
		item := items[start]
		low, high := 0, start
		for low < high {
			if mid := (low + high) / 2; less(item, items[mid]) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		copy(items[low+1:start+1], items[low:start])
		items[low] = item
	}
}

// makeLeadingRunAscending returns the length of the ascending or strictly descending run at the
// beginning of items. It reverses a descending run in place.
func makeLeadingRunAscending(items []int, less func(i, j int) bool) int {
	if len(items) < 2 {
		return len(items)
	}
	descends := less(items[1], items[0])
	n := 2
	for n < len(items) && less(items[n], items[n-1]) == descends {
		n++
	}
	if descends {
		slices.Reverse(items[:n])
	}
	return n
}
