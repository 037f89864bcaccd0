// Package mcp is an agent process that an external program controls through the Model
// Context Protocol (MCP). To the server it is an agent like any other. To MCP clients it is
// a server of tools, those of a notebook, on a Unix socket: over streamable HTTP, and over a
// WebSocket with one message per frame. [Bridge] joins such a WebSocket to standard streams,
// because most clients start a server as a subprocess.
//
//	assay server ── wire protocol ── [Run] ── Unix socket ── [Bridge] ── stdio ── client
//	                                   └── /mcp of the assay server ── HTTP ── client
//
// The calls of the clients are run by a [tools.ExternalAgent].
//
// Run starts one goroutine for the HTTP server, which has one per connection, besides those
// of the external agent; a command has one that waits for its exit. All have ended when Run
// returns.
package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"assay/agent/builtin"
	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

// Config configures an agent that is controlled by an MCP client. Only Socket is required.
type Config struct {
	Socket string // path of the Unix socket for clients; see [SocketPath]

	// Command is started for each query; see [Run]. Without one, clients that connect by
	// themselves get the task.
	Command []string

	Program string   // path of the assay program, for the configuration of the Command
	WorkDir string   // working directory of the Command, where its configuration is written; "" means the current one
	Environ []string // environment of the Command

	// CloseTimeout is how long the Command may go on after it has submitted; 0 means 30 s.
	CloseTimeout time.Duration

	Version string         // of the assay program
	Agent   builtin.Config // see [tools.NewExternalAgent]
	Stderr  io.Writer      // gets the output of the Command line by line; nil discards
	Log     *slog.Logger   // nil discards
}

// Run runs an agent on conn. It returns as [builtin.Run] does, closes conn and leaves nothing
// running.
//
// With a Command, Run starts it for each query, in its own process group, with a file
// .mcp.json in its folder that says how to reach the tools. {task} in an argument is replaced
// by the query; without {task} the query is the Command's standard input. The exit of the
// Command ends the query. The Command and its group are killed when the query is cancelled,
// when the agent ends, and CloseTimeout after the Command has submitted.
//
// In an evaluation, a Command that fails without a submission ends the agent: Run returns a
// [*command.Error].
//
// Without a Command, the submission of a client ends the query.
func Run(ctx context.Context, conn protocol.Conn, cfg Config) error {
	if cfg.CloseTimeout <= 0 {
		cfg.CloseTimeout = 30 * time.Second
	}
	agent, err := tools.NewExternalAgent(conn, cfg.Agent)
	if err != nil {
		return err
	}
	server, err := StartToolServer(ctx, agent, ToolServerConfig{
		Socket: cfg.Socket, Version: cfg.Version, OffersGetTask: len(cfg.Command) == 0, Log: cfg.Log,
	})
	if err != nil {
		return errors.Join(err, conn.Close(protocol.CloseNormal, ""))
	}
	defer server.Stop()
	work := server.task.awaitSubmission
	if len(cfg.Command) > 0 {
		var end context.CancelCauseFunc
		ctx, end = context.WithCancelCause(ctx)
		defer end(nil)
		config, err := newClientConfig(cfg.WorkDir, cfg.Program, cfg.Socket)
		if err != nil {
			return errors.Join(err, conn.Close(protocol.CloseNormal, ""))
		}
		defer config.folder.Close()
		work = (&commandRunner{cfg: cfg, agent: agent, task: server.task, end: end, clientConfig: config}).run
	}
	return agent.Run(ctx, work)
}
