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

// startAgent runs an agent that writes code blocks; cfg must have its model.
func startAgent(t *testing.T, cfg blocks.Config) *agenttest.Server {
	t.Helper()
	return agenttest.Start(t, func(ctx context.Context, conn protocol.Conn) error { return blocks.Run(ctx, conn, cfg) })
}

// startBlocksAgent runs an agent with code blocks on a scripted model.
func startBlocksAgent(t *testing.T, cfg blocks.Config, lines ...string) *agenttest.Server {
	t.Helper()
	cfg.Agent.Model = agenttest.ParseModelScript(t, lines...).Client()
	return startAgent(t, cfg)
}

// startAgentOnReplies runs an agent with code blocks on a model that gives these replies.
func startAgentOnReplies(t *testing.T, cfg blocks.Config, replies ...any) (*agenttest.Server, *agenttest.ReplyModel) {
	t.Helper()
	m := agenttest.NewReplyModel(t, replies...)
	cfg.Agent.Model = m
	return startAgent(t, cfg), m
}

// eventsWithLabels returns the events that have a label.
func eventsWithLabels(p *agenttest.Server) []frame {
	return slices.DeleteFunc(p.FramesOfType("agent_event"), func(f frame) bool { return f.ObjectField("metadata").StringField("label") == "" })
}

// replyTaskNames returns the names of the tasks that the replies belong to, in order.
func replyTaskNames(p *agenttest.Server) []string {
	var names []string
	for _, f := range p.EventsOfType("response") {
		names = append(names, f.ObjectField("metadata").StringField("task"))
	}
	return names
}
