package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"assay/agent/builtin"
	"assay/agent/mcp"
	"assay/internal/protocol"
)

func (p *process) agentMCPCommand() *cobra.Command {
	folder := ""
	cmd := &cobra.Command{
		Use:   "mcp [COMMAND [ARGUMENT...]] FD",
		Short: "Run an agent that is controlled by an MCP client",
		Long: `An agent process like any other, which the server starts for --agent mcp and
--agent 'mcp: COMMAND', with the number of an inherited socket as its last
argument. It offers the tools of a notebook at a Unix socket, which assay mcp
joins to a client.

The command is started for each query. It finds .mcp.json in its folder and
the path of the Unix socket in ASSAY_SOCKET. {task} in an argument is replaced by
the query; where there is none, the query is its stdin.

Exit status: 0 the socket was closed, 2 bad usage, 3 the agent broke.`,
		Example: "  assay agent mcp --sockets /tmp/sockets claude -p {task} --mcp-config .mcp.json 3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			return p.serveAgentMCP(cmd.Context(), folder, args[:last], args[last])
		},
	}
	cmd.Flags().SetInterspersed(false) // the command has flags of its own
	cmd.Flags().StringVar(&folder, "sockets", "", "`folder` for the Unix socket; only your user may have access to it")
	return cmd
}

func (p *process) serveAgentMCP(ctx context.Context, folder string, command []string, number string) error {
	conn, err := inherited(number)
	if err != nil {
		return usage(err)
	}
	if folder == "" {
		return usage(errors.Join(errors.New("agent mcp: --sockets is missing"), conn.Close(protocol.CloseNormal, "")))
	}
	// What was started has to be ended, and has a process group of its own.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	session, _ := p.getenv("ASSAY_SESSION")
	err = mcp.Run(ctx, conn, mcp.Config{
		Socket: mcp.SocketPath(folder, session), Command: command, Program: p.self, Environ: p.environ,
		Version: version, Agent: builtin.Config{Stderr: p.err, Log: p.log()}, Stderr: p.err, Log: p.log(),
	})
	if err != nil && ctx.Err() == nil {
		return broken(err)
	}
	return nil
}

// agentMCP is what --agent says for an agent that is a client of MCP; behind a
// colon the command of one.
const agentMCP = "mcp"

// mcpCommand is the command line of such an agent, "" if clients come by
// themselves; ok is false for any other agent.
func (f *hostFlags) mcpCommand() (line string, ok bool) {
	if f.agent == agentMCP {
		return "", true
	}
	line, ok = strings.CutPrefix(f.agent, agentMCP+":")
	return line, ok
}

// checkMCP makes sure that the command is there.
func (h *host) checkMCP(line string) (err error) {
	if h.flags.agent == agentMCP {
		return nil
	}
	h.agentWords, err = words("--agent mcp:", strings.TrimSpace(line), "mcp alone")
	return err
}

// mcpSockets is the folder in which agents offer their tools.
func (h *host) mcpSockets() string { return h.private("mcp") }

// equipMCP makes that folder.
func (h *host) equipMCP() error {
	if _, ok := h.flags.mcpCommand(); !ok {
		return nil
	}
	return os.Mkdir(h.mcpSockets(), 0o700)
}

// mcpAgent is the command that starts such an agent.
func (h *host) mcpAgent() []string {
	return slices.Concat([]string{h.p.self, "agent", "mcp", "--sockets", h.mcpSockets()}, h.agentWords)
}

// mcpSocket is where the tools of a session are offered.
func (h *host) mcpSocket(session string) string { return mcp.SocketPath(h.mcpSockets(), session) }
