// Package agent starts agents: programs that speak the wire protocol on the socket
// whose descriptor number is their last argument. The built-in agent, in agent/builtin,
// is started like any other; agent/python is an SDK for agents in Python.
//
// An agent that exits, breaks the framing, or sends no ready message in time is
// reported as an error by [Start] or Read. Its goroutines are those of package
// subprocess.
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

// DefaultReadyTimeout is how long an agent may take until it sends its ready message.
const DefaultReadyTimeout = 30 * time.Second

// Config configures [Start]: the agent's command, its working folder and environment, its
// sandbox and its limits.
type Config struct {
	Command []string // required; the number of the socket's descriptor is appended
	Workdir string   // working folder
	Session string   // id of the session
	Environ []string // the server's environment

	// Sandbox, if set, confines the agent to its Workdir and the paths of its rules.
	Sandbox *sandbox.Template

	// PassVariables names variables that the agent gets although they begin with ASSAY_.
	PassVariables []string

	// MaxFrameBytes is the largest frame that may be read. 0: the protocol's default.
	MaxFrameBytes int64

	// ReadyTimeout bounds the wait for the ready message. 0: DefaultReadyTimeout.
	ReadyTimeout time.Duration

	// Output, if set, gets what the agent prints; see [subprocess.Spec].
	Output func(stream string, chunk []byte)

	// OnForbidden, if set, is called when the agent tried to connect to where it may not; see
	// [subprocess.Spec].
	OnForbidden func(what string)
}

// Agent is a running agent and the [protocol.Conn] to it. The caller must Stop it. Its
// methods are those of [subprocess.Process].
type Agent struct {
	*subprocess.Process

	// ReadyFrame is the ready message as it was received.
	ReadyFrame []byte
}

// Start starts an agent process under sup and waits for its ready message. It returns an
// error, after it has stopped the process, if the process exits, breaks the framing or sends
// no ready message within cfg.ReadyTimeout, or if ctx ends.
func Start(ctx context.Context, sup *subprocess.Supervisor, cfg Config) (*Agent, error) {
	plan, err := cfg.Sandbox.PlanFor(cfg.Workdir)
	if err != nil {
		return nil, err
	}
	proc, err := sup.Start(subprocess.Spec{
		Name: "agent", Argv: cfg.Command, Dir: cfg.Workdir, Env: agentEnvironment(cfg),
		MaxFrameBytes: cfg.MaxFrameBytes, Output: cfg.Output, Sandbox: plan, MaxProcesses: cfg.Sandbox.MaxProcesses(),
		OnForbidden: cfg.OnForbidden,
	})
	if err != nil {
		return nil, err
	}
	timeout := cfg.ReadyTimeout
	if timeout <= 0 {
		timeout = DefaultReadyTimeout
	}
	frame, err := proc.AwaitReady(ctx, timeout)
	if err != nil {
		return nil, errors.Join(err, proc.Stop(ctx))
	}
	return &Agent{Process: proc, ReadyFrame: frame}, nil
}

// agentEnvironment returns the environment of an agent process: cfg.Environ without the
// variables whose name begins with ASSAY_ (except cfg.PassVariables), AGENT_DEBUG=1, and the
// variables that every subprocess of a session gets.
func agentEnvironment(cfg Config) []string {
	env := subprocess.FilterEnv(cfg.Environ, func(name string) bool {
		return !strings.HasPrefix(name, "ASSAY_") || slices.Contains(cfg.PassVariables, name)
	})
	env = append(env, "AGENT_DEBUG=1")
	return append(env, subprocess.StandardEnvVars(cfg.Workdir, cfg.Session)...)
}
