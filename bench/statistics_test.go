//go:build bench

package bench_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// percentile is the smallest value that p percent of them all do not pass. There
// must be values.
func percentile[T cmp.Ordered](values []T, p float64) T {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

func median[T cmp.Ordered](values []T) T { return percentile(values, 50) }

// contest is two things measured in turns.
type contest struct {
	floor, ours []time.Duration
	ratios      []float64 // of the medians, by round
}

// alternate measures floor and ours in turns, so that whatever else the machine
// does meets both. The first round only warms up.
func alternate(rounds int, floor, ours func() []time.Duration) contest {
	var c contest
	for i := range rounds + 1 {
		runtime.GC() // neither pays for the other's garbage
		a := floor()
		runtime.GC()
		b := ours()
		if i > 0 {
			c.add(a, b)
		}
	}
	return c
}

func (c *contest) add(floor, ours []time.Duration) {
	c.floor, c.ours = append(c.floor, floor...), append(c.ours, ours...)
	c.ratios = append(c.ratios, float64(median(ours))/float64(median(floor)))
}

// ratio is the median of the rounds' ratios, and spread their extremes.
func (c *contest) ratio() string { return fmt.Sprintf("%.2f x", median(c.ratios)) }

func (c *contest) spread() string {
	return fmt.Sprintf("%.2f to %.2f", slices.Min(c.ratios), slices.Max(c.ratios))
}

// contestant is one of several that are measured in turns.
type contestant struct {
	turn   func() []time.Duration
	settle func()               // waits for what it still has to do; nil: nothing
	cpu    func() time.Duration // what others have used for it until now; nil: only this process works for it
}

// series is what a contestant has come to.
type series struct {
	rounds [][]time.Duration
	rates  []float64       // how many times there were a second, of each round
	cpu    []time.Duration // used for one of the times, of each round
}

// inTurns measures several in turns, as alternate does two.
func inTurns(rounds int, contestants ...contestant) []series {
	all := make([]series, len(contestants))
	for i := range rounds + 1 {
		for k, c := range contestants {
			runtime.GC()
			used, began := c.used(), time.Now()
			times := c.turn()
			took := time.Since(began)
			if c.settle != nil {
				c.settle()
			}
			if s := &all[k]; i > 0 && len(times) > 0 {
				s.rounds = append(s.rounds, times)
				s.rates = append(s.rates, float64(len(times))/took.Seconds())
				s.cpu = append(s.cpu, (c.used()-used)/time.Duration(len(times)))
			}
		}
	}
	return all
}

// namedInTurns measures in turns what has names, in the order of these.
func namedInTurns(rounds int, turn map[string]func() []time.Duration) map[string]series {
	names := slices.Sorted(maps.Keys(turn))
	contestants := make([]contestant, len(names))
	for i, name := range names {
		contestants[i].turn = turn[name]
	}
	of := map[string]series{}
	for i, s := range inTurns(rounds, contestants...) {
		of[names[i]] = s
	}
	return of
}

// used is the processor time that has been used until now.
func (c contestant) used() time.Duration {
	var self unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &self) // it knows us
	used := time.Duration(self.Utime.Nano() + self.Stime.Nano())
	if c.cpu != nil {
		used += c.cpu()
	}
	return used
}

// absent is the turn of a contestant that is not here.
func absent() []time.Duration { return nil }

// show writes a percentile of all times.
func (s series) show(p float64) string { return show(percentile(slices.Concat(s.rounds...), p)) }

// each is a percentile of every round.
func (s series) each(p float64) []float64 {
	values := make([]float64, len(s.rounds))
	for i, times := range s.rounds {
		values[i] = float64(percentile(times, p))
	}
	return values
}

// over compares round by round: the median of the ratios, and their extremes.
func over(ours, floor []float64) (ratio, spread string) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / floor[i]
	}
	return fmt.Sprintf("%.2f x", median(ratios)), fmt.Sprintf("%.2f to %.2f", slices.Min(ratios), slices.Max(ratios))
}
