package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"assay/cmd/assay/internal/exit"
	"assay/internal/protocol"
	"assay/internal/sandbox"
	"assay/internal/subprocess"
	"assay/kernel/jupyter"
)

// exitNotSandboxed is the exit status of the launcher if it cannot start the command in a
// sandbox. It is the status of a shell that cannot execute a command.
const exitNotSandboxed = 126

// newSandboxLauncherCommand returns the hidden subcommand of the sandbox launcher, which
// confines itself and executes a command; see [sandbox.Exec].
func (p *cli) newSandboxLauncherCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "fence PLAN -- COMMAND [ARGUMENT...]",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := sandbox.Exec(args[0], args[1:], p.environ); err != nil {
				return &exit.Error{Status: exitNotSandboxed, Err: err}
			}
			return nil
		},
	}
}

// newCleanupHelperCommand returns the hidden subcommand of the helper that survives the
// server and stops what it has started; see [subprocess.RunCleanupHelper].
func (p *cli) newCleanupHelperCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "reap",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := subprocess.RunCleanupHelper(p.stdin); err != nil {
				return exit.BrokenError(err)
			}
			return nil
		},
	}
}

// newJupyterBridgeCommand returns the hidden subcommand of the bridge between the server and
// a Jupyter kernel; see [jupyter.Serve]. The server starts it as the command of the kernel.
func (p *cli) newJupyterBridgeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "jupyter KERNEL_JSON FD",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.serveJupyter(cmd.Context(), args[0], args[1])
		},
	}
}

// serveJupyter runs the Jupyter kernel of the kernelspec at specPath on the inherited
// socket fd. It ends with the kernel's exit status or signal, so that the server sees how
// the kernel died. It prints directly to the screen, because a signal leaves no time to
// flush p.err.
func (p *cli) serveJupyter(ctx context.Context, specPath, fd string) error {
	conn, err := inheritedSocket(fd)
	if err != nil {
		return exit.UsageError(err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	spec, err := jupyter.ReadSpec(specPath, p.environ)
	if err != nil {
		return exit.UsageError(errors.Join(err, conn.Close(protocol.CloseNormal, "")))
	}
	err = jupyter.Serve(ctx, conn, spec, jupyter.Config{Environ: p.environ, Stderr: p.screen})
	if died, ok := errors.AsType[*jupyter.ExitError](err); ok {
		_, _ = fmt.Fprintf(p.screen, "assay: %v\n", died) // errors of stderr have nowhere to go
		died.ReraiseSignal()
		return &exit.Error{Status: died.Status}
	}
	if err != nil {
		return exit.BrokenError(err)
	}
	return nil
}
