package main

import (
	"context"
	"errors"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"assay/agent"
	"assay/agent/builtin"
	"assay/agent/mcp"
	"assay/cmd/assay/internal/exit"
	"assay/internal/protocol"
)

type mcpFlags struct {
	address      mcp.Address
	attach       bool
	token        tokenFlag
	localSession localSessionFlags
}

func (p *cli) newMCPCommand() *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve a notebook's tools to an MCP client",
		Long: `Speak the Model Context Protocol on stdin and stdout, as a client expects of a
server that it starts, and offer the tools by which an agent works in a notebook:
of a new session, which ends with this command; with --url, of a session of a
running assay serve --agent mcp; with --attach, of the agent that has started the
client. --url takes precedence over --attach and --socket.

Exit status: 0 stdin has ended, 2 bad usage, 3 the session could not be reached
or has ended, 130 or 143 interrupted.`,
		Example: "  claude mcp add notebook -- assay mcp",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.mcp(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.attach, "attach", false, "use the agent's Unix socket whose path is in ASSAY_SOCKET")
	flags.StringVar(&f.address.Socket, "socket", "", "`path` of an agent's Unix socket")
	flags.StringVar(&f.address.URL, "url", "", "`address` of a running server, such as http://localhost:8765")
	flags.StringVar(&f.address.Session, "session", "", "with --url: `id` of the session (default: the server's default session)")
	f.token.add(flags, "of the server at --url")
	f.localSession.add(cmd)
	return cmd
}

// mcp connects the client on stdin and stdout to the tools of an existing session, or of
// a new one if no address is given.
func (p *cli) mcp(ctx context.Context, f *mcpFlags) error {
	address := f.address
	if f.attach && address.Socket == "" {
		if address.Socket, _ = p.getenv("ASSAY_SOCKET"); address.Socket == "" {
			return exit.UsageError(errors.New("--attach: ASSAY_SOCKET is not set, which an agent of --agent 'mcp: COMMAND' sets for COMMAND"))
		}
	}
	if err := address.Check(); err != nil {
		return exit.UsageError(err)
	}
	if address.URL == "" && (address.Session != "" || f.token.file != "") {
		return exit.UsageError(errors.New("--session and --token-file are for --url, the address of a running server"))
	}
	if address.URL != "" {
		var err error
		if address.Token, err = f.token.read(p); err != nil {
			return exit.UsageError(err)
		}
	}
	if address.URL == "" && address.Socket == "" {
		return p.mcpLocalSession(ctx, &f.localSession)
	}
	return p.bridgeMCP(ctx, address)
}

// bridgeMCP copies messages between stdin and stdout and the tools at address.
func (p *cli) bridgeMCP(ctx context.Context, address mcp.Address) error {
	if err := mcp.Bridge(ctx, address, p.stdin, p.stdout); err != nil {
		return exit.BrokenError(err)
	}
	return nil
}

// mcpLocalSession starts a session, offers its tools until stdin ends, and ends the
// session.
func (p *cli) mcpLocalSession(ctx context.Context, f *localSessionFlags) error {
	ctx, interrupt := p.cancelOnSignal(ctx)
	defer interrupt.stop()
	f.host.agent = agentFlagMCP
	const id = "mcp"
	s, err := p.startLocalSession(ctx, id, f)
	if err == nil {
		err = p.bridgeMCP(ctx, mcp.Address{Socket: s.host.mcpSocket(id)})
		err = errors.Join(err, s.close("its client has gone"))
	}
	return interrupt.exitErrorOr(exit.FirstErrorOrBroken(err))
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

// serveAgentMCP runs the agent on the inherited socket fd. It creates the Unix socket for MCP clients
// in the agent's private folder, and starts command for each query unless command is empty.
func (p *cli) serveAgentMCP(ctx context.Context, command []string, fd string) error {
	conn, err := inheritedSocket(fd)
	if err != nil {
		return exit.UsageError(err)
	}
	agentDir, isSet := p.getenv("ASSAY_AGENT_DIR")
	if !isSet {
		return exit.UsageError(errors.Join(errors.New("agent mcp: ASSAY_AGENT_DIR is not set"), conn.Close(protocol.CloseNormal, "")))
	}
	// The command has its own process group, so a signal must be passed on to it.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err = mcp.Run(ctx, conn, mcp.Config{
		Socket: mcp.SocketPath(agentDir), Command: command, Program: p.self, Environ: p.environ,
		Version: version, Agent: builtin.Config{Stderr: p.stderr, Log: p.newLogger()}, Stderr: p.stderr, Log: p.newLogger(),
	})
	if err != nil && ctx.Err() == nil {
		return exit.BrokenError(err)
	}
	return nil
}

// agentFlagMCP is the value of --agent for an agent that is controlled by MCP clients. With
// a colon and a command behind it, the agent starts the client itself.
const agentFlagMCP = "mcp"

// mcpClientCommand returns the command line of the client in --agent, "" if clients
// connect by themselves. isMCP is false for any other agent.
func (f *kernelAndAgentFlags) mcpClientCommand() (line string, isMCP bool) {
	if f.agent == agentFlagMCP {
		return "", true
	}
	line, isMCP = strings.CutPrefix(f.agent, agentFlagMCP+":")
	return line, isMCP
}

// parseMCPClientCommand sets agentCommand to the parsed command line of the MCP client, or
// leaves it empty for --agent mcp, which has none. It fails if line cannot be parsed or if its
// program does not exist.
func (h *kernelAndAgentHost) parseMCPClientCommand(line string) (err error) {
	if h.flags.agent == agentFlagMCP {
		return nil
	}
	h.agentCommand, err = parseCommandLine("--agent mcp:", strings.TrimSpace(line), "mcp alone")
	return err
}

// mcpAgentCommand returns the command that starts an agent controlled by MCP clients.
func (h *kernelAndAgentHost) mcpAgentCommand() []string {
	return slices.Concat([]string{h.p.self, "agent", "mcp"}, h.agentCommand)
}

// mcpSocket returns the path of the Unix socket with the tools of a session.
func (h *kernelAndAgentHost) mcpSocket(sessionID string) string {
	return mcp.SocketPath(agent.PrivateDir(h.agentsDir(), sessionID))
}
