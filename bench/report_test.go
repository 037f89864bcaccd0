//go:build bench

package bench_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// show writes a duration with three digits.
func show(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return digits(float64(d)/1e3) + " µs"
	case d < time.Second:
		return digits(float64(d)/1e6) + " ms"
	default:
		return digits(d.Seconds()) + " s"
	}
}

func digits(v float64) string {
	decimals := 0
	switch {
	case v < 10:
		decimals = 2
	case v < 100:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// report is the text in the making.
type report struct{ strings.Builder }

func newReport() *report {
	r := &report{}
	r.WriteString("# Benchmarks\n\nWritten by `make bench`; not edited by hand. A figure that misses its aim stands beside it.\n" +
		"p50 and p99 are percentiles by nearest rank. Where two things are compared they were measured in turns; a ratio is the\n" +
		"median of the rounds' ratios, each of two medians, and its spread the smallest and the largest of them.\n")
	return r
}

// section begins a measure: its name, and what is compared and how.
func (r *report) section(title, text string) {
	fmt.Fprintf(r, "\n## %s\n\n%s\n\n", title, text)
}

// table writes rows, of which the first is the head; without others nothing.
func (r *report) table(rows ...[]string) {
	if len(rows) < 2 {
		return
	}
	for i, row := range rows {
		fmt.Fprintf(r, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(r, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
}
