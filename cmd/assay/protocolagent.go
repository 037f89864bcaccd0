package main

import (
	"context"
	"errors"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"assay/agent/acp"
	"assay/agent/builtin"
	"assay/agent/mcp"
	"assay/cmd/assay/internal/exit"
	"assay/internal/protocol"
)

// protocolAgentCommand returns the command that starts the agent of --agent 'PROTOCOL: COMMAND'.
func (h *kernelAndAgentHost) protocolAgentCommand(name string) []string {
	return slices.Concat([]string{h.p.self, "agent", name}, h.agentCommand)
}

func (p *cli) newAgentMCPCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp [COMMAND [ARGUMENT...]] FD",
		Short: "Run an agent that is controlled by an MCP client",
		Long: `Run an agent that offers the tools of a notebook at a Unix socket in the folder
ASSAY_AGENT_DIR, to which assay mcp connects a client. The server starts it for
--agent mcp and --agent 'mcp: COMMAND', with the number of an inherited socket
as the last argument.

The command is started for each query. It finds .mcp.json in its folder and
the path of the Unix socket in ASSAY_SOCKET. {task} in an argument is replaced by
the query; if no argument has {task}, the query is the command's stdin.

Exit status: 0 the socket was closed, 2 bad usage, 3 the agent failed.`,
		Example: "  ASSAY_AGENT_DIR=/tmp/private assay agent mcp claude -p {task} --mcp-config .mcp.json 3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return p.serveAgentMCP(cmd.Context(), args[:last], args[last])
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after COMMAND belong to it
	return cmd
}

func (p *cli) newAgentACPCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "acp COMMAND [ARGUMENT...] FD",
		Short: "Run an agent that is a program which speaks ACP",
		Long: `Run a command that speaks the Agent Client Protocol (ACP), version 1, on its
standard streams, as an agent. The notebook's tools are at a Unix socket in the
folder ASSAY_AGENT_DIR; the command is told to start assay mcp for them. The
server starts this for --agent 'acp: COMMAND', with the number of an inherited
socket as the last argument.

Exit status: 0 the socket was closed, 2 bad usage, 3 the agent failed.`,
		Example: "  ASSAY_AGENT_DIR=/tmp/private assay agent acp gemini --acp 3",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return p.serveAgentACP(cmd.Context(), args[:last], args[last])
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after COMMAND belong to it
	return cmd
}

// serveAgentMCP runs an agent that is controlled by an MCP client, on the inherited socket fd. It starts
// command for each query unless command is empty.
func (p *cli) serveAgentMCP(ctx context.Context, command []string, fd string) error {
	return p.serveProtocolAgent(ctx, agentFlagMCP, fd, func(ctx context.Context, conn protocol.Conn, socket string) error {
		return mcp.Run(ctx, conn, mcp.Config{
			Socket: socket, Command: command, Program: p.self, Environ: p.environ,
			Version: version, Agent: builtin.Config{Stderr: p.stderr, Log: p.newLogger()}, Stderr: p.stderr, Log: p.newLogger(),
		})
	})
}

// serveAgentACP runs an agent whose work command does, which speaks ACP, on the inherited socket fd.
func (p *cli) serveAgentACP(ctx context.Context, command []string, fd string) error {
	return p.serveProtocolAgent(ctx, agentFlagACP, fd, func(ctx context.Context, conn protocol.Conn, socket string) error {
		return acp.Run(ctx, conn, acp.Config{
			Socket: socket, Command: command, Program: p.self, Environ: p.environ,
			Version: version, Agent: builtin.Config{Stderr: p.stderr, Log: p.newLogger()}, Stderr: p.stderr, Log: p.newLogger(),
		})
	})
}

// serveProtocolAgent calls run with the connection on the inherited socket fd and the path of a Unix socket
// in the agent's private folder for the notebook's tools.
func (p *cli) serveProtocolAgent(ctx context.Context, name, fd string, run func(ctx context.Context, conn protocol.Conn, socket string) error) error {
	conn, err := inheritedSocket(fd)
	if err != nil {
		return exit.UsageError(err)
	}
	agentDir, isSet := p.getenv("ASSAY_AGENT_DIR")
	if !isSet {
		return exit.UsageError(errors.Join(errors.New("agent "+name+": ASSAY_AGENT_DIR is not set"), conn.Close(protocol.CloseNormal, "")))
	}
	// The command has its own process group, so a signal must be passed on to it.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, conn, mcp.SocketPath(agentDir)); err != nil && ctx.Err() == nil {
		return exit.BrokenError(err)
	}
	return nil
}
