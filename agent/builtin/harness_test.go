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

// start runs an agent with tools; cfg has its model.
func start(t *testing.T, cfg builtin.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error {
		return tools.Run(ctx, conn, tools.Config{Agent: cfg})
	})
}

// startTools runs an agent with tools on a scripted model.
func startTools(t *testing.T, cfg builtin.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Model = agenttest.ParseScript(t, lines...).Client()
	return start(t, cfg)
}

// startStrict runs an agent with tools on a script that a validating mock API plays.
func startStrict(t *testing.T, cfg builtin.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Model = agenttest.StrictClient(t, lines...)
	return start(t, cfg)
}

// startReplies runs an agent with tools on a model that gives these replies. onCall, which
// may be nil, is called during each call of the model.
func startReplies(t *testing.T, cfg builtin.Config, onCall func(context.Context), all ...any) (*agenttest.Server, *agenttest.ReplyModel) {
	t.Helper()
	m := agenttest.NewReplyModel(t, all...)
	m.OnCall = onCall
	cfg.Model = m
	return start(t, cfg), m
}
