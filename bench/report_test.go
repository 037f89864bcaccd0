//go:build bench

package bench_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// formatDuration writes a duration with three digits in µs, ms or s.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return formatThreeDigits(float64(d)/1e3) + " µs"
	case d < time.Second:
		return formatThreeDigits(float64(d)/1e6) + " ms"
	default:
		return formatThreeDigits(d.Seconds()) + " s"
	}
}

// formatThreeDigits writes a number with three digits, for example 9.05, 33.0 or 123.
// Numbers from 1000 up are written in full, without decimals.
func formatThreeDigits(v float64) string {
	decimals := 0
	switch {
	case v < 10:
		decimals = 2
	case v < 100:
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// report builds the Markdown text of docs/BENCHMARKS.md.
type report struct{ strings.Builder }

// newReport returns a report that begins with the explanation of the figures.
func newReport() *report {
	r := &report{}
	r.WriteString("# Benchmarks\n\nWritten by `make bench`; do not edit it by hand. Aims stand beside the figures, whether they are met or not. p50 and p99 are\n" +
		"percentiles by nearest rank. Things that are compared were measured in turns: a ratio is the median of the rounds' ratios,\n" +
		"each of two medians, and its spread is the smallest and the largest of them.\n")
	return r
}

// addSection writes a heading and the text that explains what is compared and how.
func (r *report) addSection(title, text string) {
	fmt.Fprintf(r, "\n## %s\n\n%s\n\n", title, text)
}

// addTable writes a Markdown table whose first row is the header. It writes nothing if
// there are no other rows.
func (r *report) addTable(rows ...[]string) {
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
