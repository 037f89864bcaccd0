package builtin

import (
	_ "embed" // for the rules of the notebook
	"strings"
)

//go:embed rules.md
var notebookRules string

// systemPrompt is what the model is told first: who it is, what it remembers,
// and how it works on a notebook.
func systemPrompt(name string, memory memorySections) string {
	parts := append([]string{introduction(name)}, memory.parts()...)
	return strings.Join(append(parts, strings.TrimSpace(notebookRules)), "\n\n")
}

// introduction is the first line of every system prompt.
func introduction(name string) string {
	return "You are " + name + ", an agent that works in a live notebook to solve the task that the user gives you."
}

// parts are the sections as they stand in a prompt.
func (s memorySections) parts() []string {
	var parts []string
	for _, section := range s {
		parts = append(parts, "## "+section.title+"\n\n"+strings.TrimSpace(section.text))
	}
	return parts
}
