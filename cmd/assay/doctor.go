package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/doctor"
	"assay/cmd/assay/internal/exit"
	"assay/eval/runs"
	"assay/internal/subprocess"
)

func (p *cli) newDoctorCommand() *cobra.Command {
	var python string
	var asJSON, reap bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and report what is missing",
		Long: `Check what Assay needs on this machine, and start a kernel. Each check prints a
line: ok, note, or missing with what to do about it; its name; what was found.
Most of these things are needed for one feature only. All checks together take
at most ` + doctor.CheckTimeout.String() + `. API keys are reported as set or not set, and never shown.

With --reap it checks nothing, and removes what Assay has left behind where it was
killed: processes, cgroups and temporary folders. Runs that go on are left alone.

Exit status: 0 cases can be run, 1 they cannot, 2 bad usage.`,
		Example: "  assay doctor --python /usr/bin/python3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if reap {
				return p.reap()
			}
			return p.doctor(cmd.Context(), python, asJSON)
		},
	}
	cmd.Flags().StringVar(&python, "python", "python3", "Python `interpreter` of the kernel")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&reap, "reap", false, "remove what killed servers have left, and check nothing")
	return cmd
}

// reap removes what killed servers of this user have left, and prints the paths.
func (p *cli) reap() error {
	removed, err := subprocess.RemoveStale(os.TempDir(), true)
	for _, path := range removed {
		_, _ = fmt.Fprintln(p.stdout, "removed", path)
	}
	if len(removed) == 0 && err == nil {
		_, _ = fmt.Fprintln(p.stdout, "nothing is left of killed servers")
	}
	if err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// doctor prints the report about this machine, and fails if no case can be run here.
func (p *cli) doctor(ctx context.Context, python string, asJSON bool) error {
	report := doctor.Run(ctx, doctor.Config{
		Python: python, Environ: p.environ,
		CleanupHelper: p.cleanupHelperCommand(), LauncherCommand: p.sandboxLauncherCommand(), ChildCommand: []string{p.self, "version"},
	})
	var err error
	if asJSON {
		err = runs.EncodeLine(p.stdout, report)
	} else {
		for _, finding := range report.Checks {
			if err == nil {
				_, err = fmt.Fprintln(p.stdout, finding.Line())
			}
		}
	}
	switch {
	case err != nil:
		return exit.BrokenError(err)
	case !report.OK:
		return exit.FailedError()
	default:
		return nil
	}
}
