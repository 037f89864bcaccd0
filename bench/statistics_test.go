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

// percentile returns the p-th percentile of values by nearest rank (p from 0 to 100): the
// smallest value that at least p percent of the values do not exceed. It panics if values
// is empty.
func percentile[T cmp.Ordered](values []T, p float64) T {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[max(rank, 1)-1]
}

// median returns the 50th percentile of values by nearest rank. It panics if values is
// empty.
func median[T cmp.Ordered](values []T) T { return percentile(values, 50) }

// pairedMeasurement holds the times of Assay and of the reference it is compared with
// (the floor), measured in alternating rounds.
type pairedMeasurement struct {
	floorTimes, assayTimes []time.Duration
	roundRatios            []float64 // ratio of the medians, per round
}

// measureAlternately runs floor and ours in turns, so that other load on the machine
// affects both. It does so rounds+1 times; the first round is a warm-up and does not
// count. Each function returns the durations that it measured.
func measureAlternately(rounds int, floor, ours func() []time.Duration) pairedMeasurement {
	var c pairedMeasurement
	for i := range rounds + 1 {
		runtime.GC() // so that neither collects the other's garbage
		a := floor()
		runtime.GC()
		b := ours()
		if i > 0 {
			c.addRound(a, b)
		}
	}
	return c
}

// addRound adds the times of one round and the ratio of their medians.
func (c *pairedMeasurement) addRound(floor, ours []time.Duration) {
	c.floorTimes, c.assayTimes = append(c.floorTimes, floor...), append(c.assayTimes, ours...)
	c.roundRatios = append(c.roundRatios, float64(median(ours))/float64(median(floor)))
}

// formatRatio returns the median of the rounds' ratios, for example "1.58 x".
func (c *pairedMeasurement) formatRatio() string { return fmt.Sprintf("%.2f x", median(c.roundRatios)) }

// formatSpread returns the smallest and the largest ratio of a round, for example "1.43
// to 1.71".
func (c *pairedMeasurement) formatSpread() string {
	return fmt.Sprintf("%.2f to %.2f", slices.Min(c.roundRatios), slices.Max(c.roundRatios))
}

// measuredSystem is one of several systems that measureInTurns measures.
type measuredSystem struct {
	runRound           func() []time.Duration // performs one round of operations and returns their times
	waitForPendingWork func()                 // waits until the work of the round is finished; nil if it is
	otherProcessesCPU  func() time.Duration   // CPU time that other processes have used so far; nil if there are none
}

// measurement holds what measureInTurns measured of one candidate, per round.
type measurement struct {
	timesByRound    [][]time.Duration
	ratesPerSecond  []float64       // operations per second, per round
	cpuPerOperation []time.Duration // CPU time per operation, per round
}

// measureInTurns runs every candidate rounds+1 times in turns, so that other load on the
// machine affects all of them. The first round is a warm-up and does not count. Returns
// one measurement per candidate, without rounds if the candidate returned no times.
func measureInTurns(rounds int, candidates ...measuredSystem) []measurement {
	all := make([]measurement, len(candidates))
	for i := range rounds + 1 {
		for k, c := range candidates {
			runtime.GC()
			used, began := c.cpuTimeUsed(), time.Now()
			times := c.runRound()
			took := time.Since(began)
			if c.waitForPendingWork != nil {
				c.waitForPendingWork()
			}
			if s := &all[k]; i > 0 && len(times) > 0 {
				s.timesByRound = append(s.timesByRound, times)
				s.ratesPerSecond = append(s.ratesPerSecond, float64(len(times))/took.Seconds())
				s.cpuPerOperation = append(s.cpuPerOperation, (c.cpuTimeUsed()-used)/time.Duration(len(times)))
			}
		}
	}
	return all
}

// measureNamedInTurns measures functions as measureInTurns does, in the order of their
// names, and returns their measurements by name.
func measureNamedInTurns(rounds int, roundsByName map[string]func() []time.Duration) map[string]measurement {
	names := slices.Sorted(maps.Keys(roundsByName))
	candidates := make([]measuredSystem, len(names))
	for i, name := range names {
		candidates[i].runRound = roundsByName[name]
	}
	measured := map[string]measurement{}
	for i, s := range measureInTurns(rounds, candidates...) {
		measured[names[i]] = s
	}
	return measured
}

// cpuTimeUsed returns the CPU time (user and system) that this process and the
// candidate's other processes have used so far.
func (c measuredSystem) cpuTimeUsed() time.Duration {
	var self unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &self) // cannot fail for the own process
	used := time.Duration(self.Utime.Nano() + self.Stime.Nano())
	if c.otherProcessesCPU != nil {
		used += c.otherProcessesCPU()
	}
	return used
}

// unmeasurableRound stands for a candidate that cannot be measured on this machine: it returns no
// times.
func unmeasurableRound() []time.Duration { return nil }

// formatPercentile returns the p-th percentile of the times of all rounds, with its unit.
func (s measurement) formatPercentile(p float64) string {
	return formatDuration(percentile(slices.Concat(s.timesByRound...), p))
}

// percentileByRound returns the p-th percentile of each round, in nanoseconds.
func (s measurement) percentileByRound(p float64) []float64 {
	values := make([]float64, len(s.timesByRound))
	for i, times := range s.timesByRound {
		values[i] = float64(percentile(times, p))
	}
	return values
}

// compareRounds divides the values of ours by those of floor, round by round. It returns
// the median of the ratios, and the smallest and the largest of them, as text.
func compareRounds(ours, floor []float64) (ratio, spread string) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / floor[i]
	}
	return fmt.Sprintf("%.2f x", median(ratios)), fmt.Sprintf("%.2f to %.2f", slices.Min(ratios), slices.Max(ratios))
}
