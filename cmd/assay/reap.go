package main

import (
	"github.com/spf13/cobra"

	"assay/internal/subprocess"
)

// reapCommand is the helper that survives the server; see child.Reap.
func (p *process) reapCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "reap",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := subprocess.RunCleanupHelper(p.in); err != nil {
				return broken(err)
			}
			return nil
		},
	}
}
