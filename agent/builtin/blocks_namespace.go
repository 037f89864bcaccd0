package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	namespaceHeading = "## Namespace"
	maxRepr          = 60 // characters of a name, a type and a repr
)

// globalInfo is what a summary of the kernel tells of a name.
type globalInfo struct {
	Type  string          `json:"type"`
	Repr  *string         `json:"repr"`
	Shape json.RawMessage `json:"shape"` // of an array or a table, which have no repr
	Error string          `json:"error"` // it could not be inspected
}

// namespace is the section that tells which names the user's code has made, ""
// if there are none. It is the kernel's own summary, which does not wait for
// what runs there and runs nothing of the user's beside it.
func (n *notebook) namespace(ctx context.Context) string {
	var answer struct {
		Summary map[string]json.RawMessage `json:"summary"`
	}
	if err := n.act(ctx, "request_globals_summary", params{}, &answer); err != nil {
		return namespaceHeading + "\n\nThe names of the kernel could not be listed: " + shorten(err.Error(), maxEntry)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(answer.Summary)) {
		var info globalInfo
		_ = json.Unmarshal(answer.Summary[name], &info) // what cannot be read is told without it
		if !strings.HasPrefix(name, "_") && !hiddenType(info.Type) {
			lines = append(lines, info.line(name))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return namespaceHeading + "\n\n" + withinSection(lines)
}

// hiddenType tells whether values of a type are none that the model works on.
func hiddenType(name string) bool {
	return slices.Contains([]string{"module", "function", "builtin_function_or_method", "method", "macro"}, name)
}

// line is "x: int = 3", "table: DataFrame, shape [3, 2]" or "x: T".
func (g globalInfo) line(name string) string {
	line := shorten(name, maxRepr) + ": " + cmp.Or(shorten(g.Type, maxRepr), "unknown")
	switch {
	case g.Repr != nil:
		return line + " = " + shorten(*g.Repr, maxRepr)
	case len(g.Shape) > 0:
		return line + ", shape " + shorten(string(g.Shape), maxRepr)
	case g.Error != "":
		return line + " (" + shorten(g.Error, maxRepr) + ")"
	}
	return line
}

// withinSection joins the first of some lines that find room in a section below
// its heading, and says how many did not.
func withinSection(lines []string) string {
	room := maxSection - len(namespaceHeading) - 1
	if fitting(lines, room) < len(lines) {
		left := fmt.Sprintf("... and %d more", len(lines))
		shown := fitting(lines, room-len(left)-1)
		lines = append(lines[:shown:shown], fmt.Sprintf("... and %d more", len(lines)-shown))
	}
	return strings.Join(lines, "\n")
}

// fitting returns how many of some lines, from the first on, have room characters
// at most, each with a newline before it.
func fitting(lines []string, room int) int {
	for i, line := range lines {
		if room -= utf8.RuneCountInString(line) + 1; room < 0 {
			return i
		}
	}
	return len(lines)
}

// shorten puts a text on one line of at most so many characters. One that is cut
// ends in "...", which count.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-len("...")]) + "..."
}
