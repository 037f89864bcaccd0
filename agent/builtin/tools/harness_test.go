package tools_test

import (
	"context"
	"testing"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

type frame = agenttest.Frame

// start runs an agent with tools; cfg has its model.
func start(t *testing.T, cfg tools.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error { return tools.Run(ctx, conn, cfg) })
}

// startTools runs an agent with tools on a scripted model.
func startTools(t *testing.T, lines ...string) *agenttest.Server {
	t.Helper()
	return startConfigured(t, tools.Config{}, lines...)
}

// startConfigured is startTools with a configuration, whose model is replaced.
func startConfigured(t *testing.T, cfg tools.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Agent.Model = agenttest.ParseScript(t, lines...).Client()
	return start(t, cfg)
}

// startRecorded is startConfigured; it also returns the recorder of the model's requests.
func startRecorded(t *testing.T, cfg tools.Config, lines ...string) (*agenttest.Server, *agenttest.RequestRecorder) {
	t.Helper()
	r := &agenttest.RequestRecorder{Client: agenttest.ParseScript(t, lines...).Client()}
	cfg.Agent.Model = r
	return start(t, cfg), r
}

// limited returns a configuration with limits.
func limited(limits builtin.Limits) tools.Config {
	return tools.Config{Agent: builtin.Config{Limits: limits}}
}
