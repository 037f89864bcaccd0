package builtin

import (
	"bytes"
	"context"
	_ "embed" // for the rules of living in ticks
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"assay/internal/model"
	"assay/internal/protocol"
)

//go:embed rules_ticks.md
var ticksRules string

// stable is the part of the system prompt that stays: who the model is, and how it
// lives.
func (t *ticks) stable() []model.Block {
	language := t.conversation.language
	rules := strings.NewReplacer(
		"{language}", language, "{nothing}", nothingPrinted(language), "{ticks}", fmt.Sprint(maxTicks),
	).Replace(strings.TrimSpace(ticksRules))
	text := introduction(t.conversation.cfg.Name) + "\n\n" + rules
	if len(t.skills.names) > 0 {
		text += "\n\n## Skills\n\nA thread can be given these: " + strings.Join(t.skills.names, ", ") + "."
	}
	return []model.Block{model.Text(text)}
}

// state is the last block of the system prompt.
func (m *mind) state() []model.Block {
	thread := m.activeName()
	if active := m.active(); active != nil && active.Concern != "" {
		thread += " (" + active.Concern + ")"
	}
	return []model.Block{model.Text(fmt.Sprintf("## State\n\ntick: %d\nmood: %s\nconfidence: %.2f\nthread: %s", m.tick, m.mood, m.confidence, thread))}
}

// prompt is what the model is told in a tick: the sections that are not empty.
func (t *ticks) prompt(ctx context.Context) string {
	bound, free := t.buffers(ctx)
	sections := []string{
		t.mind.lastEval(),
		section("Thread Skills", t.threadSkills()...),
		section("Active Thread Buffers", bound...),
		section("Global Buffers", free...),
		list("Pending Threads", t.mind.pendingLines()),
		list("Recent Monologue", newestFirst(t.mind.monologue)),
		list("Recent Actions", t.mind.actionLines()),
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n\n")
}

// section is a heading and its parts, "" without any.
func section(title string, parts ...string) string {
	if len(parts) == 0 {
		return ""
	}
	return "## " + title + "\n\n" + strings.Join(parts, "\n\n")
}

// list is a section of lines.
func list(title string, lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return section(title, "- "+strings.Join(lines, "\n- "))
}

// lastEval shows the record of the latest eval, unless that was skipped.
func (m *mind) lastEval() string {
	if m.last == nil || m.last.skipped {
		return ""
	}
	text, err := protocol.Marshal(m.last.shown())
	if err != nil {
		return ""
	}
	return section(fmt.Sprintf("Last Eval Result (tick %d)", m.last.tick), "```json\n"+string(pretty(text))+"\n```")
}

// pretty writes JSON over several lines.
func pretty(text []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return text
	}
	return out.Bytes()
}

func (t *ticks) threadSkills() []string {
	var parts []string
	if active := t.mind.active(); active != nil {
		for _, name := range active.Skills {
			parts = append(parts, "### "+cutColumns(escaped(name), maxIDColumns)+"\n\n"+t.skills.text(name))
		}
	}
	return parts
}

func (m *mind) pendingLines() []string {
	var lines []string
	for _, t := range m.threads {
		if t.Status == threadPending {
			lines = append(lines, strings.TrimSuffix(t.ID+": "+t.Concern, ": "))
		}
	}
	return lines
}

func (m *mind) actionLines() []string {
	var lines []string
	for _, a := range m.actions {
		lines = append(lines, fmt.Sprintf("[TICK %d] %s (confidence %.2f)", a.Tick, a.Action, a.Confidence))
	}
	return newestFirst(lines)
}

func newestFirst(lines []string) []string {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}
