// Package acp is an agent process that works through a program which speaks the Agent Client Protocol
// (ACP), version 1: JSON-RPC 2.0 over the program's standard streams, one message per line. To the server
// it is an agent like any other. To the program it is a client, which gives it the queries as prompts
// and a server of tools, those of the notebook, over the Model Context Protocol.
//
//	assay server ── wire protocol ── [Run] ── ACP ── program
//	                                   │                └── starts assay mcp
//	                                   └── Unix socket ── MCP ──┘
//
// The program works on all queries in one session. What it writes, and its calls of other tools than the
// notebook's, become the conversation of a [tools.ExternalAgent], which runs the calls of the notebook's tools.
//
// The client is written by hand: the Go SDK of the protocol neither reports lines that are not JSON-RPC,
// nor takes messages of more than 10 MiB, nor waits for its goroutines. The encoding of messages is that of
// the SDK for MCP.
//
// Run starts the goroutines of the tool server and the external agent, and for a started program one that
// reads, one that writes, and those of package command. All have ended when Run returns.
package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"assay/agent/builtin"
	"assay/agent/builtin/tools"
	"assay/agent/mcp"
	"assay/internal/protocol"
)

// Config configures an agent that works through a program. Socket, Command and Program are required.
type Config struct {
	Socket  string   // path of the Unix socket with the notebook's tools; see [mcp.SocketPath]
	Command []string // the program, started for the first query
	Program string   // path of the assay program, which the Command starts for the notebook's tools
	WorkDir string   // working directory of the Command and its session; "" means the current one
	Environ []string // environment of the Command

	StartTimeout  time.Duration // for the answer to each request before the first prompt; 0 means 60 s
	CancelTimeout time.Duration // for the end of a turn that was cancelled; after it the Command is stopped; 0 means 5 s
	CloseTimeout  time.Duration // for the end of a turn that has submitted; after it the turn is cancelled; 0 means 30 s

	Version string         // of the assay program
	Agent   builtin.Config // see [tools.NewExternalAgent]
	Stderr  io.Writer      // gets what the Command prints that is no message, line by line; nil discards
	Log     *slog.Logger   // nil discards
}

func (c Config) withDefaults() Config {
	if c.StartTimeout <= 0 {
		c.StartTimeout = time.Minute
	}
	if c.CancelTimeout <= 0 {
		c.CancelTimeout = 5 * time.Second
	}
	if c.CloseTimeout <= 0 {
		c.CloseTimeout = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Run runs an agent on conn. It returns as [builtin.Run] does, closes conn and leaves nothing running.
//
// The Command is started with the first query, in its own process group, and again with a later one if it
// has ended. The end of its turn ends the query. A query that is cancelled cancels the turn; a Command that
// does not end its turn then is stopped.
//
// In an evaluation, a Command that exits without a submission ends the agent: Run returns a
// [*command.Error].
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	cfg = cfg.withDefaults()
	agent, err := tools.NewExternalAgent(conn, cfg.Agent)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	r := &runner{cfg: cfg, agent: agent, end: end, conversation: newConversation(agent, cfg.Log)}
	r.server, err = mcp.StartToolServer(ctx, agent, mcp.ToolServerConfig{Socket: cfg.Socket, Version: cfg.Version, BeforeCall: r.awaitOutput, Log: cfg.Log})
	if err != nil {
		return errors.Join(err, conn.Close(protocol.CloseNormal, ""))
	}
	defer r.server.Stop()
	defer r.stopProgram()
	return agent.Run(ctx, r.run)
}
