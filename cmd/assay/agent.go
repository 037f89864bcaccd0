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
	"assay/internal/protocol"
)

func (p *process) agentCommand() *cobra.Command {
	f := &builtinFlags{}
	solution := ""
	cmd := &cobra.Command{
		Use:   "agent FD",
		Short: "Run the built-in agent on the socket with file descriptor FD",
		Long: `The built-in agent: an agent process like any other, which the server starts
with the number of an inherited socket as its last argument.

Exit status: 0 the socket was closed, 2 bad usage, 3 the agent broke.`,
		Example: "  assay agent --model script:turns.jsonl 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.serveAgent(cmd.Context(), f, solution, args[0])
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&solution, "solution", "", "`file` with the solution that the oracle plays")
	cmd.AddCommand(p.askCommand(), p.chatCommand(), p.agentMCPCommand())
	return cmd
}

func (p *process) serveAgent(ctx context.Context, f *builtinFlags, solution, number string) error {
	// It comes first: who started this waits at the other end.
	conn, err := inherited(number)
	if err != nil {
		return usage(err)
	}
	serve, err := p.agentOf(f, solution)
	if err != nil {
		return usage(errors.Join(err, conn.Close(protocol.CloseNormal, "")))
	}
	if err := serve(ctx, conn); err != nil {
		return broken(err)
	}
	return nil
}

// inherited is the connection at the other end of an inherited socket.
func inherited(number string) (protocol.Conn, error) {
	fd, err := strconv.Atoi(number)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("agent %s: want the number of an inherited socket: it is assay run or assay serve that starts this", number)
	}
	file := os.NewFile(uintptr(fd), "server")
	defer file.Close()
	socket, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("agent: fd %d is no socket: %w", fd, err)
	}
	return protocol.NewStream(socket, 0), nil
}

// agentOf is the agent that the flags ask for.
func (p *process) agentOf(f *builtinFlags, solution string) (func(context.Context, protocol.Conn) error, error) {
	switch f.model {
	case "noop":
		return func(ctx context.Context, conn protocol.Conn) error {
			return oracle.RunNoop(ctx, conn, builtin.Config{Stderr: p.err, Log: p.log()})
		}, nil
	case "oracle":
		solution, err := oracle.ReadSolution(solution)
		return func(ctx context.Context, conn protocol.Conn) error {
			return oracle.Run(ctx, conn, solution, builtin.Config{Stderr: p.err, Log: p.log()})
		}, err
	}
	cfg, err := f.config(p)
	if err != nil {
		return nil, err
	}
	stop, err := f.recording(p, &cfg)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, conn protocol.Conn) error {
		return errors.Join(f.runStrategy(ctx, conn, cfg), stop())
	}, nil
}
