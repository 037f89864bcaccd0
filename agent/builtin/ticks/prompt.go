package ticks

import (
	"bytes"
	"context"
	_ "embed" // for the rules of working in ticks
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/agent/builtin"
	"assay/internal/model"
	"assay/internal/protocol"
)

//go:embed rules.md
var rulesMarkdown string

// stableSystemBlocks returns the part of the system prompt that stays the same: the agent's name,
// the rules of working in ticks and the names of the skills.
func (s *strategy) stableSystemBlocks() []model.Block {
	language := s.conversation.Language
	text := strings.NewReplacer(
		"{language}", language, "{nothing}", noValueText(language), "{ticks}", fmt.Sprint(maxTicksPerQuery),
	).Replace(strings.TrimSpace(rulesMarkdown))
	text = builtin.SystemPromptIntro(s.conversation.Config.Name) + "\n\n" + text
	if len(s.skills.names) > 0 {
		text += "\n\n## Skills\n\nA thread can be given these: " + strings.Join(s.skills.names, ", ") + "."
	}
	return []model.Block{model.Text(text)}
}

// stateSystemBlocks returns the last block of the system prompt: tick, mood, confidence and thread.
func (s *tickState) stateSystemBlocks() []model.Block {
	thread := s.activeThreadID()
	if active := s.activeThread(); active != nil && active.Concern != "" {
		thread += " (" + active.Concern + ")"
	}
	return []model.Block{model.Text(fmt.Sprintf("## State\n\ntick: %d\nmood: %s\nconfidence: %.2f\nthread: %s", s.tick, s.mood, s.confidence, thread))}
}

// tickPrompt returns the user message of a tick: the last code result, skills, buffers,
// pending threads, monologue and recent actions. Empty sections are left out.
func (s *strategy) tickPrompt(ctx context.Context) string {
	threadBuffers, globalBuffers := s.promptBuffers(ctx)
	sections := []string{
		s.state.lastEvalSection(),
		promptSection("Thread Skills", s.threadSkills()...),
		promptSection("Active Thread Buffers", threadBuffers...),
		promptSection("Global Buffers", globalBuffers...),
		promptListSection("Pending Threads", s.state.pendingThreadLines()),
		promptListSection("Recent Monologue", newestFirst(s.state.monologue)),
		promptListSection("Recent Actions", s.state.actionLines()),
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n\n")
}

// promptSection returns a heading with parts below it, or "" without parts.
func promptSection(title string, parts ...string) string {
	if len(parts) == 0 {
		return ""
	}
	return "## " + title + "\n\n" + strings.Join(parts, "\n\n")
}

// promptListSection returns a heading with a list below it, or "" without lines.
func promptListSection(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return promptSection(title, "- "+strings.Join(lines, "\n- "))
}

// lastEvalSection shows the record of the latest eval, unless that was skipped.
func (s *tickState) lastEvalSection() string {
	if s.lastEval == nil || s.lastEval.skipped {
		return ""
	}
	text, err := protocol.Marshal(s.lastEval.promptObject())
	if err != nil {
		return ""
	}
	return promptSection(fmt.Sprintf("Last Eval Result (tick %d)", s.lastEval.tick), "```json\n"+string(indentJSON(text))+"\n```")
}

// indentJSON returns JSON over several lines, or unchanged if it is invalid.
func indentJSON(text []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return text
	}
	return out.Bytes()
}

// threadSkills returns the texts of the active thread's skills.
func (s *strategy) threadSkills() []string {
	var parts []string
	if active := s.state.activeThread(); active != nil {
		for _, name := range active.Skills {
			parts = append(parts, "### "+cutColumns(escapeLine(name), maxIDColumns)+"\n\n"+s.skills.promptText(name))
		}
	}
	return parts
}

// pendingThreadLines returns a line "ID: CONCERN" per pending thread.
func (s *tickState) pendingThreadLines() []string {
	var lines []string
	for _, t := range s.threads {
		if t.Status == threadPending {
			lines = append(lines, strings.TrimSuffix(t.ID+": "+t.Concern, ": "))
		}
	}
	return lines
}

// actionLines returns a line per recent action, newest first.
func (s *tickState) actionLines() []string {
	var lines []string
	for _, a := range s.actions {
		lines = append(lines, fmt.Sprintf("[TICK %d] %s (confidence %.2f)", a.Tick, a.Action, a.Confidence))
	}
	return newestFirst(lines)
}

// newestFirst returns a copy of the lines in reverse order.
func newestFirst(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}
