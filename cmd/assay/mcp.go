package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"assay/agent"
	"assay/agent/mcp"
	"assay/cmd/assay/internal/exit"
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

// mcpSocket returns the path of the Unix socket with the tools of a session.
func (h *kernelAndAgentHost) mcpSocket(sessionID string) string {
	return mcp.SocketPath(agent.PrivateDir(h.agentsDir(), sessionID))
}
