package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/agent/builtin/tools"
	"assay/cmd/assay/internal/exit"
	"assay/cmd/assay/internal/terminal"
	"assay/eval/session"
	"assay/internal/model"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// maxToolCallColumns is how much of the call of a tool is shown.
const maxToolCallColumns = 100

// handleNewTraceEntries handles all entries that the session's trace has by now.
func (c *chat) handleNewTraceEntries(follower *trace.Follower) error {
	for entry := follower.TryNext(); entry != nil; entry = follower.TryNext() {
		var err error
		switch {
		case entry.Hop == trace.AgentToServer && entry.Note == "":
			err = c.handleAgentMessage(entry)
		case entry.Hop == trace.HopSession:
			err = c.handleSessionEntry(entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handleSessionEntry shows that a kernel has ended, and ends the chat if the agent has.
func (c *chat) handleSessionEntry(entry *trace.Entry) error {
	var body struct {
		Peer   string `json:"peer"`
		Reason string `json:"reason"`
		session.KernelFailure
	}
	if err := json.Unmarshal(entry.Body, &body); err != nil {
		return exit.BrokenError(err) // this program wrote the entry
	}
	switch {
	case entry.Type == session.TypeKernelStuck:
		c.expectKernelEnd = true
		c.view.showError("the kernel is killed and replaced: " + body.Error)
	case entry.Type == session.TypeKernelLost:
		c.view.showError("there is no kernel; :restart starts one: " + body.Error)
	case entry.Type != router.EntryTypePeerEnded:
	case body.Peer == "agent":
		return exit.BrokenError(fmt.Errorf("the agent has ended: %s", body.Reason))
	case body.Peer == "kernel" && !c.expectKernelEnd:
		c.view.showError("the kernel has ended; :restart starts a new one: " + body.Reason)
	case body.Peer == "kernel":
		c.expectKernelEnd = false
	}
	return nil
}

// handleAgentMessage shows a message of the agent.
func (c *chat) handleAgentMessage(entry *trace.Entry) error {
	switch entry.Type {
	case protocol.TypeAgentHistoryUpdated:
		return decodeAndHandle(entry, c.handleHistory)
	case protocol.TypeAgentEvent:
		return decodeAndHandle(entry, c.handleEvent)
	case protocol.TypeAgentUsageUpdate:
		return decodeAndHandle(entry, func(u protocol.UsageUpdate) { c.usageText = usageLine(u) })
	case protocol.TypeAgentError:
		return decodeAndHandle(entry, func(e protocol.AgentError) { c.view.showError(e.Error) })
	default:
		return nil
	}
}

// decodeAndHandle decodes the message in entry and calls handle with it.
func decodeAndHandle[T any](entry *trace.Entry, handle func(T)) error {
	var message T
	if err := json.Unmarshal(entry.Body, &message); err != nil {
		return exit.BrokenError(fmt.Errorf("%s of the agent: %w", entry.Type, err))
	}
	handle(message)
	return nil
}

// handleEvent shows an agent_event: the end of a turn, a reply, code or its output, or a
// remark.
func (c *chat) handleEvent(e protocol.AgentEvent) {
	text := func(name string) string { s, _ := e.Metadata[name].(string); return s }
	t := c.findPrompt(text("request_id"), text("label"))
	label := text("label")
	if label == "" && t != nil {
		label = t.label
	}
	switch kind := text("type"); kind {
	case "ended":
		if t != nil {
			c.endTurn(t)
			c.showUsage()
		}
	case "ai_exec":
		c.showTurnLines(t, c.view.out.faintText(labeledLines(label, firstCodeLine(e.Text)))...)
	case "response", "ai_exec_result", "tick":
		c.showTurnLines(t, labeledLines(label, e.Text)...)
	default:
		if e.Text != "" {
			c.view.showRemark(labeledLines(label, e.Text)...)
		}
	}
}

// findPrompt returns the running prompt with that request id. If requestID is "" it
// returns the first running prompt with that label; the label does not matter with a
// strategy that has no labels. It returns nil if there is none.
func (c *chat) findPrompt(requestID, label string) *turn {
	for _, t := range c.turns {
		matches := t.requestID == requestID
		if requestID == "" {
			matches = t.label == label || !c.supportsLabels()
		}
		if matches && !t.isEnded && t.requestID != "" {
			return t
		}
	}
	return nil
}

// handleHistory shows that the agent has started to work on a prompt, and with the
// strategy tools also what the agent says and does.
func (c *chat) handleHistory(h protocol.HistoryUpdated) {
	t := c.findPrompt(h.RequestID, "")
	if t == nil || h.RequestID == "" {
		return
	}
	if !t.isStarted {
		t.isStarted = true
		c.showTurnLines(t, c.view.out.faintText([]string{terminal.Printable(t.title)})...)
	}
	if c.cfg.Strategy != tools.StrategyName {
		return
	}
	var entry protocol.HistoryEntry
	var content []model.Block
	if errors.Join(json.Unmarshal(h.Entry, &entry), json.Unmarshal(entry.Content, &content)) != nil {
		return
	}
	for _, block := range content {
		if text := blockText(entry.Role, block); text != "" {
			c.showTurnLines(t, labeledLines(t.label, text)...)
		}
	}
}

// blockText returns the text to show for a block of a conversation with tools; "" shows
// nothing.
func blockText(role string, b model.Block) string {
	switch {
	case b.Type == model.BlockText && role == model.RoleAssistant:
		return b.Text
	case b.Type == model.BlockToolUse && b.Name == "submit_response":
		var input struct{ Summary string }
		_ = json.Unmarshal(b.Input, &input) // the result of a malformed call says so
		return input.Summary
	case b.Type == model.BlockToolUse:
		return terminal.Fit(fmt.Sprintf(">>> %s %s", b.Name, b.Input), maxToolCallColumns)
	case b.Type == model.BlockToolResult:
		return model.JoinTextBlocks(b.Content)
	default:
		return ""
	}
}

// showUsage shows tokens and cost if they have changed.
func (c *chat) showUsage() {
	if c.usageText != c.shownUsageText {
		c.view.showRemark(c.usageText)
		c.shownUsageText = c.usageText
	}
}

// usageLine returns tokens and cost of a session so far.
func usageLine(u protocol.UsageUpdate) string {
	line := fmt.Sprintf("%d tokens in, %d out", u.InputTokens, u.OutputTokens)
	if cached := u.CacheReadInputTokens + u.CacheCreationInputTokens; cached > 0 {
		line += fmt.Sprintf(", %d from the cache, %d into it", u.CacheReadInputTokens, u.CacheCreationInputTokens)
	}
	if u.CostUSD != nil {
		line += fmt.Sprintf(", %.4f USD", *u.CostUSD)
	}
	return line + " so far"
}

// firstCodeLine returns the first line of code and the number of lines, because the
// agent's reply already has all of the code.
func firstCodeLine(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	if len(lines) == 1 {
		return ">>> " + lines[0]
	}
	return fmt.Sprintf(">>> %s … (%d lines)", lines[0], len(lines))
}
