package blocks

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/agent/builtin"
)

const (
	namespaceHeading = "## Namespace"
	maxReprChars     = 60 // of a name, a type and a repr
)

// variableInfo describes one global variable of the kernel, as request_globals_summary
// returns it.
type variableInfo struct {
	Type  string          `json:"type"`
	Repr  *string         `json:"repr"`
	Shape json.RawMessage `json:"shape"` // of an array or a table, which have no repr
	Error string          `json:"error"` // why it could not be inspected
}

// namespaceSection returns a prompt section that lists the variables which the user's code
// has defined in the kernel, "" if there are none. It asks the kernel for its globals
// summary, which neither waits for running code nor runs code of the user. If that fails,
// the section says why.
func namespaceSection(ctx context.Context, notebook *builtin.NotebookClient) string {
	var answer struct {
		Summary map[string]json.RawMessage `json:"summary"`
	}
	if err := notebook.DoAction(ctx, "request_globals_summary", struct{}{}, &answer); err != nil {
		return namespaceHeading + "\n\nThe names of the kernel could not be listed: " + shortenToOneLine(err.Error(), maxLogEntryChars)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(answer.Summary)) {
		var info variableInfo
		_ = json.Unmarshal(answer.Summary[name], &info) // a variable without readable info is listed all the same
		if !strings.HasPrefix(name, "_") && !isHiddenType(info.Type) {
			lines = append(lines, info.summaryLine(name))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return namespaceHeading + "\n\n" + joinFittingLines(lines)
}

// isHiddenType reports whether the list of variables omits values of the type with this
// name: modules, functions, methods and macros.
func isHiddenType(name string) bool {
	return slices.Contains([]string{"module", "function", "builtin_function_or_method", "method", "macro"}, name)
}

// summaryLine describes the variable with this name on one line, such as "x: int = 3", "table:
// DataFrame, shape [3, 2]" or "x: T".
func (v variableInfo) summaryLine(name string) string {
	line := shortenToOneLine(name, maxReprChars) + ": " + cmp.Or(shortenToOneLine(v.Type, maxReprChars), "unknown")
	switch {
	case v.Repr != nil:
		return line + " = " + shortenToOneLine(*v.Repr, maxReprChars)
	case len(v.Shape) > 0:
		return line + ", shape " + shortenToOneLine(string(v.Shape), maxReprChars)
	case v.Error != "":
		return line + " (" + shortenToOneLine(v.Error, maxReprChars) + ")"
	}
	return line
}

// joinFittingLines joins lines with newlines, up to the 2,000 characters that a prompt
// section may have. If some do not fit, the last line says how many more there are.
func joinFittingLines(lines []string) string {
	room := maxSectionChars - len(namespaceHeading) - 1
	if countFittingLines(lines, room) < len(lines) {
		left := fmt.Sprintf("... and %d more", len(lines))
		shown := countFittingLines(lines, room-len(left)-1)
		lines = append(lines[:shown:shown], fmt.Sprintf("... and %d more", len(lines)-shown))
	}
	return strings.Join(lines, "\n")
}

// countFittingLines returns how many of the first lines have at most room characters in
// total, counting one newline per line.
func countFittingLines(lines []string, room int) int {
	for i, line := range lines {
		if room -= utf8.RuneCountInString(line) + 1; room < 0 {
			return i
		}
	}
	return len(lines)
}

// shortenToOneLine returns text on one line of at most limit characters, with single spaces
// between words. A text that is cut ends in "...", which is part of the limit.
func shortenToOneLine(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-len("...")]) + "..."
}
