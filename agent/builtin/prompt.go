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
	parts := []string{"You are " + name + ", an agent that works in a live notebook to solve the task that the user gives you."}
	for _, section := range memory {
		parts = append(parts, "## "+section.title+"\n\n"+strings.TrimSpace(section.text))
	}
	return strings.Join(append(parts, strings.TrimSpace(notebookRules)), "\n\n")
}
