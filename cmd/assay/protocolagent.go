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
			return p.serveProtocolAgent(cmd.Context(), agentFlagMCP, args[:last], args[last])
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
			return p.serveProtocolAgent(cmd.Context(), agentFlagACP, args[:last], args[last])
		},
	}
	cmd.Flags().SetInterspersed(false) // flags after COMMAND belong to it
	return cmd
}

// serveProtocolAgent runs the agent that speaks this protocol to command, on the inherited socket fd. The notebook's
// tools are at a Unix socket in the agent's private folder. An empty command, with MCP only, leaves the work to clients
// that connect by themselves.
func (p *cli) serveProtocolAgent(ctx context.Context, name string, command []string, fd string) error {
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
	socket, log := mcp.SocketPath(agentDir), p.newLogger()
	agent := builtin.Config{Stderr: p.stderr, Log: log}
	if name == agentFlagACP {
		err = acp.Run(ctx, conn, acp.Config{
			Socket: socket, Command: command, Program: p.self, Environ: p.environ, Version: version, Agent: agent, Stderr: p.stderr, Log: log,
		})
	} else {
		err = mcp.Run(ctx, conn, mcp.Config{
			Socket: socket, Command: command, Program: p.self, Environ: p.environ, Version: version, Agent: agent, Stderr: p.stderr, Log: log,
		})
	}
	if err != nil && ctx.Err() == nil {
		return exit.BrokenError(err)
	}
	return nil
}
