// Package doctor checks what this machine offers to run cases: an interpreter that runs
// a kernel, folders to write in, confinement, limits, keys and programs.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/cmd/assay/internal/terminal"
)

// CheckTimeout is the longest time that a check may take, and so [Run], as checks run at once.
const CheckTimeout = 11 * time.Second

// cancelGrace is the part of CheckTimeout in which a check that was cancelled must end.
const cancelGrace = time.Second

// Statuses of a [Finding].
const (
	StatusOK      = "ok"
	StatusNote    = "note"    // works with a restriction, or is not needed for every feature
	StatusMissing = "missing" // Do says how to get it
)

// Config configures [Run].
type Config struct {
	Python          string   // interpreter of the kernel: a name on PATH, or a path
	Environ         []string // of the kernel, and where keys are looked for
	CleanupHelper   []string // see subprocess.Config
	LauncherCommand []string // see sandbox.ProbeMachine
	ChildCommand    []string // a command that ends by itself, to try process groups with
}

// Finding is the result of one check.
type Finding struct {
	Status string `json:"status"`
	Name   string `json:"name"` // of the check
	Detail string `json:"detail"`
	Remedy string `json:"do,omitempty"` // how to get what is missing
}

// Line returns the finding as a line for people.
func (f Finding) Line() string {
	text := fmt.Sprintf("%-7s  %-18s  %s", f.Status, f.Name, f.Detail)
	if f.Remedy != "" {
		text += " (" + f.Remedy + ")"
	}
	return text
}

// Report is the result of [Run]. Programs read its JSON.
type Report struct {
	OK     bool      `json:"ok"`     // cases can be run
	Checks []Finding `json:"checks"` // missing things last, otherwise in a fixed order
}

// Run makes all checks at once. It takes at most [CheckTimeout].
func Run(ctx context.Context, cfg Config) Report { return runChecks(ctx, checks(cfg)) }

// check looks for one thing.
type check struct {
	name       string
	isRequired bool // no case can be run without it
	run        func(context.Context) Finding
}

func okFinding(format string, args ...any) Finding {
	return Finding{Status: StatusOK, Detail: fmt.Sprintf(format, args...)}
}

func noteFinding(format string, args ...any) Finding {
	return Finding{Status: StatusNote, Detail: fmt.Sprintf(format, args...)}
}

// missingFinding reports err on one line. do says how to get what is missing.
func missingFinding(err error, do string) Finding {
	return Finding{Status: StatusMissing, Detail: printableLine(err.Error()), Remedy: do}
}

// printableLine returns text on one line without control characters.
func printableLine(text string) string {
	return terminal.Printable(terminal.OneLine(text))
}

// runChecks runs all checks at once and puts missing things last, where users read them.
func runChecks(ctx context.Context, checks []check) Report {
	results := make([]chan Finding, len(checks))
	for i, check := range checks {
		results[i] = make(chan Finding, 1)
		go func() { results[i] <- runWithTimeout(ctx, check.run) }()
	}
	report := Report{OK: true}
	for i, check := range checks {
		finding := <-results[i]
		finding.Name = check.name
		if check.isRequired && finding.Status == StatusMissing {
			report.OK = false
		}
		report.Checks = append(report.Checks, finding)
	}
	order := []string{StatusOK, StatusNote, StatusMissing}
	slices.SortStableFunc(report.Checks, func(a, b Finding) int {
		return slices.Index(order, a.Status) - slices.Index(order, b.Status)
	})
	return report
}

// runWithTimeout runs a check, cancels it after CheckTimeout less cancelGrace, and reports
// that as missing. A check that does not even end then, such as one of a disk that does
// not answer, is left to the end of the program.
func runWithTimeout(ctx context.Context, run func(context.Context) Finding) Finding {
	ctx, cancel := context.WithTimeout(ctx, CheckTimeout-cancelGrace)
	defer cancel()
	found := make(chan Finding, 1)
	go func() { found <- run(ctx) }()
	select {
	case f := <-found:
		return f
	case <-ctx.Done():
	}
	select {
	case <-found: // the check has stopped what it started
	case <-time.After(cancelGrace):
	}
	return missingFinding(fmt.Errorf("no answer within %v", CheckTimeout-cancelGrace), "find out what it waits for")
}

// environValue returns the value of a variable in entries NAME=VALUE, or "".
func environValue(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
