package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"assay/eval/batch"
)

// runningMost is how many running attempts have a line of their own.
const runningMost = 10

// progress is how a run shows itself on stderr: live, plain or none.
func (p *process) progress(f *runFlags) string {
	kind, _ := p.getenv("TERM")
	switch {
	case f.quiet:
		return "none"
	case f.progress != "auto":
		return f.progress
	case !isTerminal(p.screen.out), kind == "", kind == "dumb":
		return "plain"
	case f.json && isTerminal(p.out): // its objects would fall between the lines
		return "plain"
	default:
		return "live"
	}
}

// colourful tells whether a terminal may be sent colours.
func (p *process) colourful() bool {
	no, _ := p.getenv("NO_COLOR")
	return no == ""
}

// tint colours the word of a verdict.
func tint(word string) string {
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

// bottom is what stands below the results while a run goes on: a line for each
// of the attempts that have run longest, and one that counts.
func (r *report) bottom(columns, rows int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	running := slices.SortedFunc(maps.Values(r.running), func(a, b batch.RunningAttempt) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), strings.Compare(a.CaseID, b.CaseID), a.Epoch-b.Epoch)
	})
	shown := running[:max(0, min(len(running), runningMost, rows-4))]
	var lines []string
	for _, attempt := range shown {
		text, lasting := attempt.Activity()
		lines = append(lines, fmt.Sprintf("  %s  %6s%s  %s (%s)", column(attempt, shown, columns/4),
			seconds(time.Since(attempt.StartedAt)), usedBy(attempt.Usage()), printable(text), seconds(lasting)))
	}
	if more := len(running) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return append(lines, r.counts(time.Since(r.began)))
}

// column is the name of an attempt, as wide as the widest of all, up to a limit.
func column(attempt batch.RunningAttempt, all []batch.RunningAttempt, most int) string {
	wide := 0
	for _, other := range all {
		wide = max(wide, columnsOf(nameOf(other)))
	}
	name := fit(nameOf(attempt), most)
	return name + strings.Repeat(" ", max(0, min(wide, most)-columnsOf(name)))
}

func nameOf(attempt batch.RunningAttempt) string {
	return printable(named(attempt.CaseID, attempt.Epoch))
}

// counts is the last line: how far the run is, and how fast.
func (r *report) counts(took time.Duration) string {
	line := fmt.Sprintf("%d/%d done  %d passed  %d failed  %d errors  %s", r.done, r.all, r.passed, r.failed, r.broken, seconds(took))
	if r.done > 0 && took > 0 {
		line += fmt.Sprintf("  %.1f/min", float64(r.done)/took.Minutes())
	}
	return line + r.total()
}

// total is what all attempts have used, those that go on too.
func (r *report) total() string {
	all := r.used
	for _, running := range r.running {
		all.add(running.Usage())
	}
	return behind(all.String())
}

func seconds(d time.Duration) string { return d.Truncate(time.Second).String() }
