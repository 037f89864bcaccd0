package ticks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"assay/agent/builtin/markdown"
	"assay/internal/protocol"
)

// Mood and confidence of a tick whose reply has no JSON object.
const (
	unparsedMood       = "uncertain"
	unparsedConfidence = 0.5
)

// maxUnclosedBraces is how many opening braces without a closing one are skipped in search
// of an object. Each costs a scan of all that follows.
const maxUnclosedBraces = 32

// tickReply is the decoded JSON object with which the model answers in one tick.
type tickReply struct {
	fields map[string]json.RawMessage // of the object; nil if there was none

	eval       json.RawMessage // code to run
	thought    string
	mood       string   // "" keeps the previous one
	confidence *float64 // nil keeps the previous one
	monologue  string   // line to remember
	reply      string   // text for the user
	continues  bool     // asks for another tick at once
	thread     json.RawMessage
}

// parseTickReply parses the first JSON object of a reply: it looks into the fenced blocks, then
// between balanced braces. A field of a wrong type is converted if possible. ok is false if
// there is no object; the text is then the thought.
func parseTickReply(text string) (reply tickReply, ok bool) {
	for candidate := range jsonObjectCandidates(text) {
		var fields map[string]json.RawMessage
		if json.Unmarshal([]byte(candidate), &fields) == nil && fields != nil {
			return parseTickFields(fields), true
		}
	}
	confidence := unparsedConfidence
	return tickReply{thought: text, mood: unparsedMood, confidence: &confidence}, false
}

func parseTickFields(fields map[string]json.RawMessage) tickReply {
	r := tickReply{
		fields: fields, eval: fields["eval"], thread: fields["thread"],
		thought: stringOrEmpty(fields["thought"]), monologue: stringOrEmpty(fields["monologue"]), reply: stringOrEmpty(fields["reply"]),
		continues: string(bytes.TrimSpace(fields["continue"])) == "true",
	}
	_ = json.Unmarshal(fields["mood"], &r.mood) // a value of another type is ignored
	var confidence *float64
	if json.Unmarshal(fields["confidence"], &confidence) == nil {
		r.confidence = confidence
	}
	return r
}

// stringOrEmpty returns a value as text: the content of a string, "" for a missing value, null and
// false, otherwise the JSON.
func stringOrEmpty(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	if isAbsentField(value) {
		return ""
	}
	return string(value)
}

// isAbsentField reports whether a field is missing, null or false.
func isAbsentField(value json.RawMessage) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", "false":
		return true
	}
	return false
}

// jsonWithoutReplyField returns the object without its reply field, as JSON.
func (r tickReply) jsonWithoutReplyField() string {
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

// jsonObjectCandidates yields the parts of a text that may be its JSON object, in the order in
// which they are tried: every fenced block, then every outermost pair of balanced braces.
func jsonObjectCandidates(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, block := range markdown.FencedBlocks(text) {
			if !yield(block.Text) {
				return
			}
		}
		for unclosed := 0; unclosed < maxUnclosedBraces; {
			start := strings.IndexByte(text, '{')
			if start < 0 {
				return
			}
			text = text[start:]
			end := balancedBracesEnd(text)
			switch {
			case end == 0:
				unclosed, end = unclosed+1, 1
			case !yield(text[:end]):
				return
			}
			text = text[end:]
		}
	}
}

// balancedBracesEnd returns the length of the text up to and including the brace that closes its
// first one, or 0 if no brace does. Braces in strings do not count.
func balancedBracesEnd(text string) int {
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
