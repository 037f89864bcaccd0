package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"assay/internal/protocol"
	"assay/kernel/jupyter"
)

// jupyterCommand is what stands between the server and a Jupyter kernel; see
// jupyter.Serve. The server starts it as the kernel's command.
func (p *process) jupyterCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "jupyter KERNEL_JSON FD",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.serveJupyter(cmd.Context(), args[0], args[1])
		},
	}
}

// serveJupyter ends as the Jupyter kernel ends, by the same status or signal, so
// that the server can tell how it died. What it says goes straight to the screen,
// as nothing comes after a signal.
func (p *process) serveJupyter(ctx context.Context, path, number string) error {
	conn, err := inherited(number)
	if err != nil {
		return usage(err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	spec, err := jupyter.ReadSpec(path, p.environ)
	if err != nil {
		return usage(errors.Join(err, conn.Close(protocol.CloseNormal, "")))
	}
	err = jupyter.Serve(ctx, conn, spec, jupyter.Config{Environ: p.environ, Stderr: p.screen})
	if died, ok := errors.AsType[*jupyter.ExitError](err); ok {
		_, _ = fmt.Fprintf(p.screen, "assay: %v\n", died) // there is nobody to tell
		died.ReraiseSignal()
		return &statusError{status: died.Status}
	}
	if err != nil {
		return broken(err)
	}
	return nil
}
