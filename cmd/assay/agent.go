package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"assay/agent/builtin"
	"assay/agent/model"
	"assay/internal/protocol"
)

// agentFlags are those of assay agent, which the server starts with them.
type agentFlags struct {
	model, strategy, solution, memoryDir string
	modelArgs                            []string
}

func (p *process) agentCommand() *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "agent FD",
		Short: "Is the built-in agent, on the socket whose number is FD",
		Long: `The built-in agent: an agent process like any other, which the server starts
with the number of an inherited socket as its last argument.

Exit status: 0 the socket was closed, 2 bad usage, 3 the agent broke.`,
		Example: "  assay agent --model script:turns.jsonl 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.serveAgent(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "anthropic/ID, script:FILE, replay:FILE, oracle or noop")
	flags.StringVar(&f.strategy, "strategy", "tools", "how it works: tools")
	flags.StringVar(&f.solution, "solution", "", "`file` with what the oracle plays")
	flags.StringVar(&f.memoryDir, "memory-dir", "", "`folder` with the five memory files")
	flags.StringArrayVar(&f.modelArgs, "model-arg", nil, "setting of the model, as `KEY=VALUE` (repeatable)")
	return cmd
}

func (p *process) serveAgent(ctx context.Context, f *agentFlags, number string) error {
	// It comes first: who started this waits at the other end.
	conn, err := inherited(number)
	if err != nil {
		return usage(err)
	}
	serve, err := p.agentOf(f)
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
func (p *process) agentOf(f *agentFlags) (func(context.Context, protocol.Conn) error, error) {
	cfg := builtin.Config{
		ModelName: f.model, MemoryDir: f.memoryDir, Stderr: p.err,
		Log: p.log(),
	}
	switch f.model {
	case "noop":
		return func(ctx context.Context, conn protocol.Conn) error { return builtin.RunNoop(ctx, conn, cfg) }, nil
	case "oracle":
		solution, err := builtin.ReadSolution(f.solution)
		return func(ctx context.Context, conn protocol.Conn) error {
			return builtin.RunOracle(ctx, conn, solution, cfg)
		}, err
	}
	var err error
	if cfg.Model, cfg.Params, err = p.openModel(f.model, f.modelArgs); err != nil {
		return nil, err
	}
	return func(ctx context.Context, conn protocol.Conn) error { return builtin.Run(ctx, conn, cfg) }, nil
}

// openModel opens a model with its settings.
func (p *process) openModel(name string, args []string) (model.Client, model.Params, error) {
	var params model.Params
	key, _ := p.getenv("ANTHROPIC_API_KEY")
	base, _ := p.getenv("ANTHROPIC_BASE_URL")
	options := model.Options{APIKey: key, BaseURL: base}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, params, fmt.Errorf("--model-arg %q: want KEY=VALUE", arg)
		}
		if name == "base_url" {
			options.BaseURL = value
			continue
		}
		if err := params.Set(name, value); err != nil {
			return nil, params, fmt.Errorf("--model-arg %s: %w", arg, err)
		}
	}
	client, err := model.Open(name, options)
	return client, params, err
}

// checkBuiltin opens the model once, so that a wrong name, a missing key or a
// faulty script is known before anything is started.
func (h *host) checkBuiltin() error {
	f := h.flags
	if f.model == "" {
		return errors.New("the built-in agent needs a --model: anthropic/ID, script:FILE or replay:FILE")
	}
	if f.strategy != "tools" {
		return fmt.Errorf("unknown strategy %q: known is tools", f.strategy)
	}
	here, err := os.Getwd() // the agent works in another folder
	if err != nil {
		return err
	}
	f.model = model.InFolder(f.model, here)
	if f.memoryDir != "" {
		path, err := filepath.Abs(f.memoryDir)
		if err != nil {
			return err
		}
		f.memoryDir = path
	}
	_, _, err = h.p.openModel(f.model, f.modelArgs)
	return err
}

func (h *host) builtinCommand() []string {
	f := h.flags
	command := []string{h.p.self, "agent", "--model", f.model, "--strategy", f.strategy}
	for _, arg := range f.modelArgs {
		command = append(command, "--model-arg", arg)
	}
	if f.memoryDir != "" {
		command = append(command, "--memory-dir", f.memoryDir)
	}
	return command
}
