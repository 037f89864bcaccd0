package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"assay/internal/protocol"
)

// What a tick is taken for whose reply cannot be read.
const (
	unreadMood       = "uncertain"
	unreadConfidence = 0.5
)

// tickReply is what the model says in a tick.
type tickReply struct {
	fields map[string]json.RawMessage // as they came, nil when there was no object

	eval       json.RawMessage
	thought    string
	mood       string   // "" is the one before
	confidence *float64 // nil is the one before
	monologue  string
	reply      string
	goesOn     bool
	thread     json.RawMessage
}

// parseTick reads a reply: its first JSON object, of the fenced blocks and then of
// what stands between balanced braces. Fields of a wrong type are taken for what
// they can be. It reports whether there was an object.
func parseTick(text string) (tickReply, bool) {
	for candidate := range candidates(text) {
		var fields map[string]json.RawMessage
		if json.Unmarshal([]byte(candidate), &fields) == nil && fields != nil {
			return readTick(fields), true
		}
	}
	confidence := unreadConfidence
	return tickReply{thought: text, mood: unreadMood, confidence: &confidence}, false
}

func readTick(fields map[string]json.RawMessage) tickReply {
	r := tickReply{
		fields: fields, eval: fields["eval"], thread: fields["thread"],
		thought: spelled(fields["thought"]), monologue: spelled(fields["monologue"]), reply: spelled(fields["reply"]),
		goesOn: string(bytes.TrimSpace(fields["continue"])) == "true",
	}
	_ = json.Unmarshal(fields["mood"], &r.mood) // another type says nothing
	var confidence *float64
	if json.Unmarshal(fields["confidence"], &confidence) == nil {
		r.confidence = confidence
	}
	return r
}

// spelled is a value as text: a string is its own, other values are JSON; null,
// false and nothing are none.
func spelled(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	if isNothing(value) {
		return ""
	}
	return string(value)
}

// isNothing reports whether a field is missing, null or false.
func isNothing(value json.RawMessage) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", "false":
		return true
	}
	return false
}

// withoutReply is the object but for its reply, in JSON, for a tick whose reply
// is told apart.
func (r tickReply) withoutReply() string {
	rest := map[string]json.RawMessage{}
	for name, value := range r.fields {
		if name != "reply" {
			rest[name] = value
		}
	}
	text, err := protocol.Marshal(rest)
	if err != nil {
		return fmt.Sprintf("[The reply cannot be told: %v]", err)
	}
	return string(text)
}
