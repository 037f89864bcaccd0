package tools

import (
	_ "embed" // for the rules of the notebook
	"strings"

	"assay/agent/builtin"
)

//go:embed rules.md
var rulesMarkdown string

// NotebookRules returns the part of the system prompt that says how to work in a notebook
// with these tools, for a program that instructs its own model.
func NotebookRules() string { return strings.TrimSpace(rulesMarkdown) }

// systemPrompt returns the system prompt: the agent's name, its memory, the rules.
func systemPrompt(name string, memory memorySections) string {
	parts := append([]string{builtin.SystemPromptIntro(name)}, memory.promptParts()...)
	return strings.Join(append(parts, NotebookRules()), "\n\n")
}

// promptParts returns the sections as they stand in a system prompt.
func (s memorySections) promptParts() []string {
	var parts []string
	for _, section := range s {
		parts = append(parts, "## "+section.title+"\n\n"+strings.TrimSpace(section.text))
	}
	return parts
}
