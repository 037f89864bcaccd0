package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/eval/runs"
)

const (
	// probeDeadline is how long each look of assay doctor may take, and
	// probeGrace the part of it in which one that is told to end must end.
	probeDeadline = 5 * time.Second
	probeGrace    = time.Second
)

// Statuses of a finding.
const (
	foundOK      = "ok"
	foundMissing = "missing" // Do says what to do
	foundNote    = "note"    // nothing to mend, but good to know
)

// finding is what assay doctor has found out about one thing.
type finding struct {
	Status string `json:"status"`
	Name   string `json:"name"`
	Detail string `json:"detail"`
	Do     string `json:"do,omitempty"`
}

func isOK(format string, args ...any) finding {
	return finding{Status: foundOK, Detail: fmt.Sprintf(format, args...)}
}

func isNote(format string, args ...any) finding {
	return finding{Status: foundNote, Detail: fmt.Sprintf(format, args...)}
}

func isMissing(err error, do string) finding {
	return finding{Status: foundMissing, Detail: oneLine(printable(strings.Join(strings.Fields(err.Error()), " "))), Do: do}
}

// line is a finding for people.
func (f finding) line() string {
	text := fmt.Sprintf("%-7s  %-18s  %s", f.Status, f.Name, f.Detail)
	if f.Do != "" {
		text += " (" + f.Do + ")"
	}
	return text
}

// probe looks for one thing.
type probe struct {
	name   string
	needed bool // no case can be run without it
	look   func(context.Context) finding
}

// diagnosis is everything that was found.
type diagnosis struct {
	OK     bool      `json:"ok"` // cases can be run
	Checks []finding `json:"checks"`
}

func (p *process) doctorCommand() *cobra.Command {
	var python string
	var machine bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and report what is missing",
		Long: `Looks for what Assay works with, and starts a kernel. There is a line for each
thing: ok, missing with what to do about it, or note; its name; what was found.
Most of what may be missing is needed for one feature only. Nothing takes longer
than ` + probeDeadline.String() + `. Of keys it says whether they are set, never what they are.

Exit status: 0 cases can be run, 1 they cannot, 2 bad usage.`,
		Example: "  assay doctor --python /usr/bin/python3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.doctor(cmd.Context(), python, machine)
		},
	}
	cmd.Flags().StringVar(&python, "python", "python3", "Python `interpreter` of the kernel")
	cmd.Flags().BoolVar(&machine, "json", false, "print one JSON object")
	return cmd
}

func (p *process) doctor(ctx context.Context, python string, machine bool) error {
	found := diagnose(ctx, p.probes(python))
	var err error
	if machine {
		err = runs.EncodeLine(p.out, found)
	} else {
		for _, f := range found.Checks {
			if err == nil {
				_, err = fmt.Fprintln(p.out, f.line())
			}
		}
	}
	switch {
	case err != nil:
		return broken(err)
	case !found.OK:
		return &statusError{status: exitFailed}
	default:
		return nil
	}
}

// diagnose looks for everything at once.
func diagnose(ctx context.Context, probes []probe) diagnosis {
	results := make([]chan finding, len(probes))
	for i, probe := range probes {
		results[i] = make(chan finding, 1)
		go func() { results[i] <- within(ctx, probe.look) }()
	}
	found := diagnosis{OK: true}
	for i, probe := range probes {
		f := <-results[i]
		f.Name = probe.name
		if probe.needed && f.Status == foundMissing {
			found.OK = false
		}
		found.Checks = append(found.Checks, f)
	}
	slices.SortStableFunc(found.Checks, func(a, b finding) int { return rank(a) - rank(b) })
	return found
}

// rank puts what is missing to the end, where it is read.
func rank(f finding) int { return slices.Index([]string{foundOK, foundNote, foundMissing}, f.Status) }

// within gives a look its time. One that does not end even then, at a disk that
// does not answer, is left to the end of the program.
func within(ctx context.Context, look func(context.Context) finding) finding {
	ctx, cancel := context.WithTimeout(ctx, probeDeadline-probeGrace)
	defer cancel()
	found := make(chan finding, 1)
	go func() { found <- look(ctx) }()
	select {
	case f := <-found:
		return f
	case <-ctx.Done():
	}
	select {
	case <-found: // what it had started is gone
	case <-time.After(probeGrace):
	}
	return isMissing(fmt.Errorf("no answer within %v", probeDeadline-probeGrace), "find out what it waits for")
}
