package progress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/cmd/assay/internal/terminal"
	"assay/eval/batch"
)

// maxLiveAttempts is the number of running attempts that have a line in the live display.
const maxLiveAttempts = 10

// coloredVerdict returns a verdict in its color, as a terminal shows it.
func coloredVerdict(word string) string {
	switch strings.TrimSpace(word) {
	case "PASS":
		return "\x1b[32m" + word + "\x1b[m"
	case "FAIL":
		return "\x1b[31m" + word + "\x1b[m"
	case "ERROR":
		return "\x1b[33m" + word + "\x1b[m"
	default:
		return word
	}
}

// bottomLines returns the live display for a terminal of that size: one line for each
// of the attempts that have run longest, and one with counts.
func (r *Reporter) bottomLines(columns, rows int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	running := slices.SortedFunc(maps.Values(r.running), func(a, b batch.RunningAttempt) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.CaseID, b.CaseID), a.Epoch-b.Epoch)
	})
	shown := running[:max(0, min(len(running), maxLiveAttempts, rows-4))]
	var lines []string
	for _, attempt := range shown {
		activity, since := attempt.Activity()
		lines = append(lines, fmt.Sprintf("  %s  %6s%s  %s (%s)", paddedName(attempt, shown, columns/4),
			formatSeconds(time.Since(attempt.StartedAt)), withIndent(usageOfAttempt(attempt.Usage()).String()), terminal.Printable(activity), formatSeconds(since)))
	}
	if more := len(running) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return append(lines, r.countsLine(time.Since(r.started)))
}

// paddedName returns the name of attempt, padded to the widest name of all. A name
// wider than maxColumns is cut.
func paddedName(attempt batch.RunningAttempt, all []batch.RunningAttempt, maxColumns int) string {
	widest := 0
	for _, other := range all {
		widest = max(widest, terminal.Width(printableName(other)))
	}
	name := terminal.Fit(printableName(attempt), maxColumns)
	return name + strings.Repeat(" ", max(0, min(widest, maxColumns)-terminal.Width(name)))
}

func printableName(attempt batch.RunningAttempt) string {
	return terminal.Printable(AttemptName(attempt.CaseID, attempt.Epoch))
}

// countsLine returns the last line of the live display: how many attempts have ended and
// how, after that time, and how fast.
func (r *Reporter) countsLine(elapsed time.Duration) string {
	line := fmt.Sprintf("%d/%d done  %d passed  %d failed  %d errors  %s", r.done, r.cfg.LineCount, r.passed, r.failed, r.infrastructureFailures, formatSeconds(elapsed))
	if r.done > 0 && elapsed > 0 {
		line += fmt.Sprintf("  %.1f/min", float64(r.done)/elapsed.Minutes())
	}
	return line + r.totalUsage()
}

// totalUsage returns what all attempts have used, including the running ones, behind two
// spaces; "" if they have used nothing.
func (r *Reporter) totalUsage() string {
	total := r.endedUsage
	for _, running := range r.running {
		total.add(running.Usage())
	}
	return withIndent(total.String())
}

func formatSeconds(d time.Duration) string { return d.Truncate(time.Second).String() }
