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

// startAgent runs an agent with tools; cfg has its model.
func startAgent(t *testing.T, cfg tools.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error { return tools.Run(ctx, conn, cfg) })
}

// startToolsAgent runs an agent with tools on a scripted model.
func startToolsAgent(t *testing.T, lines ...string) *agenttest.Server {
	t.Helper()
	return startToolsAgentWithConfig(t, tools.Config{}, lines...)
}

// startToolsAgentWithConfig runs an agent with tools on a scripted model, which replaces the one
// of cfg.
func startToolsAgentWithConfig(t *testing.T, cfg tools.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Agent.Model = agenttest.ParseModelScript(t, lines...).Client()
	return startAgent(t, cfg)
}

// startToolsAgentRecordingRequests runs an agent with tools on a scripted model, which replaces the one of
// cfg, and also returns the recorder of the model's requests.
func startToolsAgentRecordingRequests(t *testing.T, cfg tools.Config, lines ...string) (*agenttest.Server, *agenttest.RequestRecorder) {
	t.Helper()
	r := &agenttest.RequestRecorder{Client: agenttest.ParseModelScript(t, lines...).Client()}
	cfg.Agent.Model = r
	return startAgent(t, cfg), r
}

// configWithLimits returns a configuration with limits.
func configWithLimits(limits builtin.Limits) tools.Config {
	return tools.Config{Agent: builtin.Config{Limits: limits}}
}
