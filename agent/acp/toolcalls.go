package acp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"assay/agent/builtin/render"
	"assay/agent/builtin/tools"
	"assay/internal/model"
	"assay/internal/protocol"
)

const (
	// maxToolCalls is how many calls of one turn are recorded.
	maxToolCalls = 10_000

	// maxLabelBytes is how much of a call's id, title and name is kept.
	maxLabelBytes = 1 << 10

	// maxLabels is how many different ids, titles and names of a call are compared with the tools of the notebook.
	maxLabels = 8
)

// toolCalls are the calls of tools that a program has announced in one turn. Those of the notebook's tools
// are in the conversation already, because the notebook's tool server records them, and are not recorded
// again: those whose id, title or name contains the name of a tool that was called, or whose input is that
// of such a call.
type toolCalls struct {
	agent *tools.ExternalAgent
	byID  map[string]*toolCall
	order []*toolCall // as announced
}

// toolCall is what a program has said about one call.
type toolCall struct {
	labels  []string // id, title and name
	kind    string
	title   string
	input   json.RawMessage // nil if the program did not say
	result  string
	isEnded bool
}

func newToolCalls(agent *tools.ExternalAgent) toolCalls {
	return toolCalls{agent: agent, byID: map[string]*toolCall{}}
}

// update adds what an update says about a call, and records the call if it has ended. It reports false
// if there are too many calls.
func (t *toolCalls) update(u *toolCallUpdate) bool {
	id := render.Clip(u.ToolCallID, maxLabelBytes)
	call := t.byID[id]
	if call == nil {
		if len(t.order) == maxToolCalls {
			return false
		}
		call = &toolCall{labels: []string{id}, kind: "other"}
		t.byID[id] = call
		t.order = append(t.order, call)
	}
	if call.isEnded {
		return true
	}
	call.apply(u)
	switch u.Status {
	case "completed":
		t.record(call, false)
	case "failed":
		t.record(call, true)
	}
	return true
}

// endAll records the calls that have not ended.
func (t *toolCalls) endAll() {
	for _, call := range t.order {
		if !call.isEnded {
			call.result = strings.TrimSpace(call.result + "\nThe turn ended before this call did.")
			t.record(call, true)
		}
	}
}

// record adds a call to the conversation unless it is one of a tool of the notebook.
func (t *toolCalls) record(call *toolCall, isError bool) {
	defer func() { *call = toolCall{isEnded: true} }() // the rest is of no use any more
	if t.agent.ClaimCall(call.isLabeled, call.input) {
		return
	}
	input, _ := protocol.Marshal(struct { // a string and JSON
		Title string          `json:"title"`
		Input json.RawMessage `json:"input,omitempty"`
	}{call.title, clipJSON(call.input)})
	var content []model.Block
	if call.result != "" {
		content = append(content, model.Text(call.result))
	}
	t.agent.RecordCall(call.kind, input, isError, content...)
}

// isLabeled reports whether a label of the call contains the name of a tool.
func (c *toolCall) isLabeled(tool string) bool {
	return slices.ContainsFunc(c.labels, func(label string) bool { return strings.Contains(toToolName(label), tool) })
}

// toToolName returns a label in the form of a tool's name, such as assay__create_cell for
// "Assay: Create Cell".
func toToolName(label string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return '_'
	}, label)
}

// apply takes over the fields of an update that are set.
func (c *toolCall) apply(u *toolCallUpdate) {
	if u.Title != "" {
		c.title = render.ClipToOneLine(u.Title, maxLabelBytes)
	}
	for _, label := range []string{u.Title, u.Name} {
		if label = render.Clip(label, maxLabelBytes); label != "" && !slices.Contains(c.labels, label) && len(c.labels) < maxLabels {
			c.labels = append(c.labels, label)
		}
	}
	if isToolKind(u.Kind) {
		c.kind = u.Kind
	}
	if isSet(u.RawInput) {
		c.input = u.RawInput
	}
	if text := resultText(u); text != "" {
		c.result = text
	}
}

// isToolKind reports whether the protocol has this kind of tools.
func isToolKind(kind string) bool {
	return slices.Contains([]string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}, kind)
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// clipJSON returns a JSON value, or the beginning and end of its text as a JSON string if it is long.
func clipJSON(raw json.RawMessage) json.RawMessage {
	if len(raw) <= render.MaxTextBytes {
		return raw
	}
	text, _ := json.Marshal(render.Clip(string(raw), render.MaxTextBytes)) //nolint:errchkjson // a string
	return text
}

// resultText returns what a tool has produced as a text of at most render.MaxTextBytes.
func resultText(u *toolCallUpdate) string {
	var parts []string
	for i := range u.Content {
		switch content := &u.Content[i]; content.Type {
		case "content":
			parts = append(parts, blockText(&content.Content))
		case "diff":
			parts = append(parts, content.Path+"\n--- before\n"+content.OldText+"\n+++ after\n"+content.NewText)
		}
	}
	text := strings.Join(parts, "\n")
	if text == "" && isSet(u.RawOutput) {
		text = string(u.RawOutput)
	}
	return render.Clip(text, render.MaxTextBytes)
}
