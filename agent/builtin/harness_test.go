package builtin_test

import (
	"context"
	"testing"

	"assay/agent/builtin"
	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/tools"
	"assay/internal/protocol"
)

type frame = agenttest.Frame

// startAgent runs an agent with tools; cfg must have its model.
func startAgent(t *testing.T, cfg builtin.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		return tools.Run(ctx, conn, tools.Config{Agent: cfg})
	})
}

// startToolsAgent runs an agent with tools on a scripted model.
func startToolsAgent(t *testing.T, cfg builtin.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Model = agenttest.ParseModelScript(t, lines...).Client()
	return startAgent(t, cfg)
}

// startAgentOnValidatingAPI runs an agent with tools on a script that a validating mock API plays.
func startAgentOnValidatingAPI(t *testing.T, cfg builtin.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Model = agenttest.NewValidatingClient(t, lines...)
	return startAgent(t, cfg)
}

// startAgentOnReplies runs an agent with tools on a model that gives these replies. onCall, which
// may be nil, is called during each call of the model.
func startAgentOnReplies(t *testing.T, cfg builtin.Config, onCall func(context.Context), all ...any) (*agenttest.Server, *agenttest.ReplyModel) {
	t.Helper()
	m := agenttest.NewReplyModel(t, all...)
	m.OnCall = onCall
	cfg.Model = m
	return startAgent(t, cfg), m
}
