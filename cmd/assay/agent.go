package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"assay/agent/builtin"
	"assay/agent/builtin/oracle"
	"assay/agent/human"
	"assay/cmd/assay/internal/exit"
	"assay/internal/protocol"
)

func (p *cli) newAgentCommand() *cobra.Command {
	f := &builtinAgentFlags{}
	solution := ""
	cmd := &cobra.Command{
		Use:   "agent FD",
		Short: "Run the built-in agent on the socket with file descriptor FD",
		Long: `Run the built-in agent as a process. The server starts every agent like this,
with the number of an inherited socket as the last argument.

Exit status: 0 the socket was closed, 2 bad usage, 3 the agent failed.`,
		Example: "  assay agent --model script:turns.jsonl 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.serveAgent(cmd.Context(), f, solution, args[0])
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&solution, "solution", "", "`file` with the solution that --model oracle plays")
	cmd.AddCommand(p.newAskCommand(), p.newChatCommand(), p.newAgentMCPCommand(), p.newAgentACPCommand(), p.newAgentCheckCommand())
	return cmd
}

// serveAgent runs the agent of the flags on the inherited socket fd. solution is the file
// that the oracle plays.
func (p *cli) serveAgent(ctx context.Context, f *builtinAgentFlags, solution, fd string) error {
	// Open the socket first: on any error the server must see it closed.
	conn, err := inheritedSocket(fd)
	if err != nil {
		return exit.UsageError(err)
	}
	runAgent, err := p.selectAgent(f, solution)
	if err != nil {
		return exit.UsageError(errors.Join(err, conn.Close(protocol.CloseNormal, "")))
	}
	if err := runAgent(ctx, conn); err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// inheritedSocket returns the connection on the inherited socket fd, a file descriptor
// from 3.
func inheritedSocket(fd string) (protocol.Conn, error) {
	number, err := strconv.Atoi(fd)
	if err != nil || number < 3 {
		return nil, fmt.Errorf("agent %s: want the number of an inherited socket: assay run and assay serve start this command", fd)
	}
	file := os.NewFile(uintptr(number), "server")
	defer file.Close()
	socket, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("agent: fd %d is not a socket: %w", number, err)
	}
	return protocol.NewStream(socket, 0), nil
}

// selectAgent returns a function that runs the agent of --model: noop, oracle with the
// solution in that file, human, or a model with a strategy.
func (p *cli) selectAgent(f *builtinAgentFlags, solution string) (func(context.Context, protocol.Conn) error, error) {
	switch f.model {
	case "noop":
		return func(ctx context.Context, conn protocol.Conn) error {
			return oracle.RunNoop(ctx, conn, builtin.Config{Stderr: p.stderr, Log: p.newLogger()})
		}, nil
	case agentFlagHuman:
		return func(ctx context.Context, conn protocol.Conn) error {
			return human.Run(ctx, conn, builtin.Config{Stderr: p.stderr, Log: p.newLogger()})
		}, nil
	case "oracle":
		solution, err := oracle.ReadSolution(solution)
		return func(ctx context.Context, conn protocol.Conn) error {
			return oracle.Run(ctx, conn, solution, builtin.Config{Stderr: p.stderr, Log: p.newLogger()})
		}, err
	}
	cfg, err := f.config(p)
	if err != nil {
		return nil, err
	}
	stop, err := f.startRecording(p, &cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, conn protocol.Conn) error {
		return errors.Join(f.runStrategy(ctx, conn, cfg), stop())
	}, nil
}
