package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/eval/session"
	"assay/internal/model"
	"assay/internal/protocol"
	"assay/internal/trace"
	"assay/router"
)

// longestCall is how much of the input of a tool is shown, in columns.
const longestCall = 100

// observeAll takes in what has happened in the session.
func (c *chat) observeAll(follow *trace.Follower) error {
	for entry := follow.TryNext(); entry != nil; entry = follow.TryNext() {
		var err error
		switch {
		case entry.Hop == trace.AgentToServer && entry.Note == "":
			err = c.fromAgent(entry)
		case entry.Hop == trace.HopSession:
			err = c.fromSession(entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fromSession tells of the ends of kernel and agent.
func (c *chat) fromSession(entry *trace.Entry) error {
	var note struct {
		Peer   string `json:"peer"`
		Reason string `json:"reason"`
		session.KernelFailure
	}
	if err := json.Unmarshal(entry.Body, &note); err != nil {
		return broken(err) // it is our own
	}
	switch {
	case entry.Type == session.TypeKernelStuck:
		c.replaced = true
		c.view.complain("the kernel is killed, and another takes its place: " + note.Error)
	case entry.Type == session.TypeKernelLost:
		c.view.complain("there is no kernel, and :restart starts one: " + note.Error)
	case entry.Type != router.TypePeerEnded:
	case note.Peer == "agent":
		return broken(fmt.Errorf("the agent has ended: %s", note.Reason))
	case note.Peer == "kernel" && !c.replaced:
		c.view.complain("the kernel has ended, and :restart starts another: " + note.Reason)
	case note.Peer == "kernel":
		c.replaced = false
	}
	return nil
}

// fromAgent shows a frame of the agent.
func (c *chat) fromAgent(entry *trace.Entry) error {
	switch entry.Type {
	case protocol.TypeAgentHistoryUpdated:
		return read(entry, c.history)
	case protocol.TypeAgentEvent:
		return read(entry, c.event)
	case protocol.TypeAgentUsageUpdate:
		return read(entry, func(u protocol.UsageUpdate) { c.usage = usageLine(u) })
	case protocol.TypeAgentError:
		return read(entry, func(e protocol.AgentError) { c.view.complain(e.Error) })
	default:
		return nil
	}
}

func read[T any](entry *trace.Entry, show func(T)) error {
	var message T
	if err := json.Unmarshal(entry.Body, &message); err != nil {
		return broken(fmt.Errorf("%s of the agent: %w", entry.Type, err))
	}
	show(message)
	return nil
}

// event shows what the agent wants shown.
func (c *chat) event(e protocol.AgentEvent) {
	text := func(name string) string { s, _ := e.Metadata[name].(string); return s }
	t := c.turnOf(text("request_id"), text("label"))
	label := text("label")
	if label == "" && t != nil {
		label = t.label
	}
	switch kind := text("type"); kind {
	case "ended":
		if t != nil {
			c.end(t)
			c.tellUsage()
		}
	case "ai_exec":
		c.say(t, c.view.out.faint(labelled(label, codeLine(e.Text)))...)
	case "response", "ai_exec_result", "tick":
		c.say(t, labelled(label, e.Text)...)
	default:
		if e.Text != "" {
			c.view.remark(labelled(label, e.Text)...)
		}
	}
}

// turnOf is the prompt of that id, or without one the first that is under way
// under that label, where there are labels; nil: there is none.
func (c *chat) turnOf(request, label string) *turn {
	for _, t := range c.turns {
		its := t.request == request
		if request == "" {
			its = t.label == label || c.strategy != "blocks"
		}
		if its && !t.ended && t.request != "" {
			return t
		}
	}
	return nil
}

// history shows that a prompt was taken up, and of an agent that works with tools
// what it says and does.
func (c *chat) history(h protocol.HistoryUpdated) {
	t := c.turnOf(h.RequestID, "")
	if t == nil || h.RequestID == "" {
		return
	}
	if !t.begun {
		t.begun = true
		c.say(t, c.view.out.faint([]string{printable(t.name)})...)
	}
	if c.strategy != "tools" {
		return
	}
	var entry protocol.HistoryEntry
	var content []model.Block
	if errors.Join(json.Unmarshal(h.Entry, &entry), json.Unmarshal(entry.Content, &content)) != nil {
		return
	}
	for _, block := range content {
		if text := blockText(entry.Role, block); text != "" {
			c.say(t, labelled(t.label, text)...)
		}
	}
}

// blockText is a block of a conversation with tools, as it is shown; empty: it is
// not.
func blockText(role string, b model.Block) string {
	switch {
	case b.Type == model.BlockText && role == model.RoleAssistant:
		return b.Text
	case b.Type == model.BlockToolUse && b.Name == "submit_response":
		var input struct{ Summary string }
		_ = json.Unmarshal(b.Input, &input) // a faulty one has a result that says so
		return input.Summary
	case b.Type == model.BlockToolUse:
		return fit(fmt.Sprintf(">>> %s %s", b.Name, b.Input), longestCall)
	case b.Type == model.BlockToolResult:
		return model.JoinTextBlocks(b.Content)
	default:
		return ""
	}
}

// tellUsage tells tokens and cost, if they have changed.
func (c *chat) tellUsage() {
	if c.usage != c.told {
		c.view.remark(c.usage)
		c.told = c.usage
	}
}

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

// codeLine is a block of code in one line: the reply has it whole.
func codeLine(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	if len(lines) == 1 {
		return ">>> " + lines[0]
	}
	return fmt.Sprintf(">>> %s … (%d lines)", lines[0], len(lines))
}
