package main

import (
	"github.com/spf13/cobra"

	"assay/internal/sandbox"
)

// exitFenced is the status of a command that could not be put behind a fence, as
// of one that cannot be executed.
const exitFenced = 126

// fenceCommand is the door to a fence for what is executed; see fence.Exec.
func (p *process) fenceCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "fence PLAN -- COMMAND [ARGUMENT...]",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := sandbox.Exec(args[0], args[1:], p.environ); err != nil {
				return &statusError{exitFenced, err}
			}
			return nil
		},
	}
}
