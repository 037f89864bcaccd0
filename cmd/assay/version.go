package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the version of the next release.
const version = "0.1.0"

func (p *cli) newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Long: `Print version, commit and Go version on one line.

Exit status: 0.`,
		Example: "  assay version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(p.stdout, versionLine())
			return err
		},
	}
}

// versionLine returns the line that assay version and assay --version print.
func versionLine() string {
	return fmt.Sprintf("assay %s (commit %s, %s)\n", version, buildCommit(), runtime.Version())
}

// buildCommit returns the commit that the program was built from, and whether there were
// uncommitted changes; "unknown" if the build has not recorded it.
func buildCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, changed := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value[:min(len(setting.Value), 12)]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = " with changes"
		}
	}
	return revision + changed
}
