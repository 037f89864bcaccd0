package blocks_test

import (
	"context"
	"slices"
	"testing"

	"assay/agent/builtin/agenttest"
	"assay/agent/builtin/blocks"
	"assay/internal/protocol"
)

type frame = agenttest.Frame

// start runs an agent with code blocks; cfg has its model.
func start(t *testing.T, cfg blocks.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error { return blocks.Run(ctx, conn, cfg) })
}

// startBlocks runs an agent with code blocks on a scripted model.
func startBlocks(t *testing.T, cfg blocks.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Agent.Model = agenttest.ParseScript(t, lines...).Client()
	return start(t, cfg)
}

// startReplies runs an agent with code blocks on a model that gives these replies.
func startReplies(t *testing.T, cfg blocks.Config, replies ...any) (*agenttest.Server, *agenttest.ReplyModel) {
	t.Helper()
	m := agenttest.NewReplyModel(t, replies...)
	cfg.Agent.Model = m
	return start(t, cfg), m
}

// labelled returns the events that have a label.
func labelled(p *agenttest.Server) []frame {
	return slices.DeleteFunc(p.FramesOf("agent_event"), func(f frame) bool { return f.Object("metadata").Text("label") == "" })
}

// taskNames returns the names of the tasks that the replies belong to, in order.
func taskNames(p *agenttest.Server) []string {
	var names []string
	for _, f := range p.EventsOf("response") {
		names = append(names, f.Object("metadata").Text("task"))
	}
	return names
}
