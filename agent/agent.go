// Package agent starts agents: any program that speaks the wire protocol on the
// socket whose number is its last argument. The built-in agent, in
// agent/builtin, is started like any other.
package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"assay/internal/sandbox"
	"assay/internal/subprocess"
)

// DefaultReadyTimeout is how long an agent may take until it says ready.
const DefaultReadyTimeout = 30 * time.Second

// Config says what agent to start and where.
type Config struct {
	Command []string // required; the number of the socket's fd is appended
	Workdir string   // its working folder
	Session string   // id of the session
	Environ []string // the server's environment

	// Fence, if set, confines the agent to the sandbox and what the rules name.
	Sandbox *sandbox.Template

	// Pass names variables that it gets although they begin with ASSAY_.
	PassVariables []string

	// MaxFrameBytes is the largest frame in bytes; 0 is the protocol's default.
	MaxFrameBytes int64

	// Ready is how long it may take to say ready; 0 is DefaultReadyTimeout.
	ReadyTimeout time.Duration

	// Output, if set, gets what it prints.
	Output func(stream string, chunk []byte)
}

// Agent is a running agent and the protocol.Conn to it. Whoever started it must
// Stop it.
type Agent struct {
	*subprocess.Process

	// ReadyFrame is its first frame.
	ReadyFrame []byte
}

// Start starts an agent and waits until it is ready.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Agent, error) {
	plan, err := cfg.Sandbox.PlanFor(cfg.Workdir)
	if err != nil {
		return nil, err
	}
	proc, err := sup.Start(subprocess.Spec{
		Name: "agent", Argv: cfg.Command, Dir: cfg.Workdir, Env: environment(cfg),
		MaxFrameBytes: cfg.MaxFrameBytes, Output: cfg.Output, Sandbox: plan, MaxProcesses: cfg.Sandbox.MaxProcesses(),
	})
	if err != nil {
		return nil, err
	}
	within := cfg.ReadyTimeout
	if within <= 0 {
		within = DefaultReadyTimeout
	}
	frame, err := proc.AwaitReady(ctx, within)
	if err != nil {
		return nil, errors.Join(err, proc.Stop(ctx))
	}
	return &Agent{Process: proc, ReadyFrame: frame}, nil
}

// environment is the server's own, less what configures the server.
func environment(cfg Config) []string {
	env := subprocess.FilterEnv(cfg.Environ, func(name string) bool {
		return !strings.HasPrefix(name, "ASSAY_") || slices.Contains(cfg.PassVariables, name)
	})
	env = append(env, "AGENT_DEBUG=1")
	return append(env, subprocess.StandardEnv(cfg.Workdir, cfg.Session)...)
}
