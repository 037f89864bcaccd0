package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"assay/agent/mcp"
)

type mcpFlags struct {
	address mcp.Address
	own     ownFlags
}

func (p *process) mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve a notebook's tools to an MCP client",
		Long: `Speaks the Model Context Protocol on stdin and stdout, as a client expects of a
server that it starts. What it offers are the tools by which an agent works in a
notebook: of a session of its own, which ends with it; with --url, of a session
of a running assay serve --agent mcp; with --socket, of the agent that has
started the client. --url goes before --socket.

Exit status: 0 stdin has ended, 2 bad usage, 3 the session could not be reached
or has ended, 130 or 143 interrupted.`,
		Example: "  claude mcp add notebook -- assay mcp",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.mcp(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.address.Socket, "socket", "", "`path` of an agent's Unix socket")
	flags.StringVar(&f.address.URL, "url", "", "`address` of a running server, such as http://localhost:8765")
	flags.StringVar(&f.address.Session, "session", "", "with --url: `id` of the session (default: the server's default session)")
	flags.StringVar(&f.address.Token, "token", "", "with --url: access `token` of the server")
	f.own.add(cmd)
	return cmd
}

func (p *process) mcp(ctx context.Context, f *mcpFlags) error {
	to := f.address
	if err := to.Check(); err != nil {
		return usage(err)
	}
	if to.URL == "" && (to.Session != "" || to.Token != "") {
		return usage(errors.New("--session and --token are for --url, the address of a running server"))
	}
	if to.URL == "" && to.Socket == "" {
		return p.mcpOwn(ctx, &f.own)
	}
	return p.bridge(ctx, to)
}

func (p *process) bridge(ctx context.Context, to mcp.Address) error {
	if err := mcp.Bridge(ctx, to, p.in, p.out); err != nil {
		return broken(err)
	}
	return nil
}

// mcpOwn offers the tools of a session of its own.
func (p *process) mcpOwn(ctx context.Context, f *ownFlags) error {
	ctx, interrupted := p.untilSignal(ctx)
	defer interrupted.stop()
	f.host.agent = agentMCP
	const id = "mcp"
	o, err := p.startOwn(ctx, id, f)
	if err == nil {
		err = p.bridge(ctx, mcp.Address{Socket: o.host.mcpSocket(id)})
		err = errors.Join(err, o.close("its client has gone"))
	}
	if status := interrupted.status(); status != 0 {
		return &statusError{status: status}
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}
	if err != nil {
		return broken(err)
	}
	return nil
}
