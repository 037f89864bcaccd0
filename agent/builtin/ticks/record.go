package ticks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"assay/agent/builtin/render"
	"assay/internal/protocol"
)

const (
	maxActionColumns = 50 // of each part of an action's text
	maxCommitColumns = 80 // of a commit message
)

// addMonologueLine adds a line with time and tick number to the monologue, in the state and
// in the monologue file. It adds nothing if line is "".
func (s *strategy) addMonologueLine(line string) {
	if line == "" {
		return
	}
	line = fmt.Sprintf("[%s][TICK %d] %s", s.conversation.Config.Clock().Format("2006-01-02 15:04"), s.state.tick, line)
	s.state.addMonologue(line)
	s.reportFaultOnce("the monologue is not kept", s.store.appendMonologue(line))
}

// saveState saves the state and commits it with a summary of the tick.
func (s *strategy) saveState(ctx context.Context, summary string) {
	s.reportFaultOnce("the state is not kept", s.store.save(s.state))
	message := fmt.Sprintf("[TICK %d][%s][%s] %s", s.state.tick, s.state.activeThreadID(), s.state.mood, strings.TrimSpace(summary))
	message = cutColumns(strings.TrimSpace(escapeLine(clipText(message))), maxCommitColumns)
	s.reportFaultOnce("the state is not committed", s.store.commit(ctx, message, s.conversation.Config.Clock()))
}

// reportFaultOnce sends a fault of the state folder to the server as an agent_error, unless
// err is nil or the same fault has been reported before. The agent goes on.
func (s *strategy) reportFaultOnce(fault string, err error) {
	if err != nil && !s.reportedFault[fault] {
		s.reportedFault[fault] = true
		s.conversation.SendError(fault + ": " + err.Error())
	}
}

// recordFailedModelCall records and reports a tick in which the model gave no reply, unless the
// error ends the query anyway.
func (s *strategy) recordFailedModelCall(ctx context.Context, err error) {
	if isQueryEndingError(ctx, err) {
		return
	}
	line := "[ERROR] Inference failed: " + escapeLine(err.Error())
	s.state.addAction("inference failed")
	s.addMonologueLine(line)
	s.saveState(ctx, line)
	s.conversation.SendError(line)
}

// sendTickEvent sends an event of type tick to the users. Its text is the reply of the tick,
// or the thought if there is no reply.
func (s *strategy) sendTickEvent(r tickReply, result *evalRecord) {
	s.conversation.SendEvent(protocol.AgentEvent{Text: clipText(cmp.Or(r.reply, r.thought)), Metadata: map[string]any{
		"type": "tick", "tick": s.state.tick, "mood": s.state.mood, "confidence": s.state.confidence, "thread": s.state.activeThreadID(),
		"skipped": result.skipped, "success": result.failure == "",
	}})
}

// actionText says on one short line what a tick did: its eval, its reply or its thought.
func (r tickReply) actionText(result *evalRecord) string {
	short := func(text string) string { return cutColumns(escapeLine(clipText(text)), maxActionColumns) }
	var parts []string
	switch {
	case result.failure != "":
		parts = append(parts, "eval failed: "+short(result.source))
	case !result.skipped:
		parts = append(parts, "eval: "+short(result.source))
	}
	if r.reply != "" {
		parts = append(parts, "reply: "+short(r.reply))
	}
	if len(parts) == 0 {
		return "thought: " + short(r.thought)
	}
	return strings.Join(parts, "; ")
}

// clipText clips a text to 16 KiB, the longest output that a model sees.
func clipText(text string) string { return render.Clip(text, render.MaxTextBytes) }
