package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"assay/internal/rawjson"
)

// Values of the member api of a recorded line.
const (
	apiMessages  = "messages"
	apiChat      = "chat"
	apiResponses = "responses"
)

// normalizeSentBack returns a request of OpenAI's APIs in which what the agent sends back of earlier
// replies has only what a replayed reply has, too: not the ids of items, the model's reasoning, and the
// white space of arguments. Other requests, and malformed ones, stay as they are.
func normalizeSentBack(api string, request []byte) []byte {
	if api != apiChat && api != apiResponses {
		return request
	}
	var fields map[string]any
	if decodeKeepingNumbers(request, &fields) != nil {
		return request
	}
	if messages, ok := fields["messages"].([]any); ok && api == apiChat {
		for _, message := range messages {
			normalizeChatMessage(message)
		}
	}
	if api == apiResponses {
		delete(fields, "previous_response_id")
		if items, ok := fields["input"].([]any); ok {
			fields["input"] = normalizeItems(items)
		}
	}
	normalized, err := rawjson.Marshal(fields)
	if err != nil {
		return request // cannot happen: it was decoded
	}
	return normalized
}

// normalizeChatMessage removes from a message of the assistant what only the vendor's replies have.
func normalizeChatMessage(message any) {
	m, ok := message.(map[string]any)
	if !ok || m["role"] != "assistant" {
		return
	}
	keepMembers(m, "role", "content", "name", "refusal", "audio", "function_call", "tool_calls")
	calls, _ := m["tool_calls"].([]any) // nil if there are none
	for _, call := range calls {
		if c, ok := call.(map[string]any); ok {
			keepMembers(c, "id", "type", "function")
			compactArguments(c["function"])
		}
	}
}

// normalizeItems returns the items of an input without reasoning, and with only those members of replies
// that any server sends.
func normalizeItems(items []any) []any {
	kept := make([]any, 0, len(items))
	for _, item := range items {
		fields, ok := item.(map[string]any)
		switch {
		case !ok:
		case fields["type"] == "reasoning":
			continue
		case fields["type"] == "function_call":
			keepMembers(fields, "type", "call_id", "name", "arguments")
			compactArguments(fields)
		case fields["role"] == "assistant":
			keepMembers(fields, "role", "content")
			parts, _ := fields["content"].([]any) // nil for a string
			for _, part := range parts {
				if p, ok := part.(map[string]any); ok {
					keepMembers(p, "type", "text", "refusal")
				}
			}
		}
		kept = append(kept, item)
	}
	return kept
}

// keepMembers removes all members but these, and those that are null.
func keepMembers(object map[string]any, names ...string) {
	maps.DeleteFunc(object, func(name string, value any) bool { return value == nil || !slices.Contains(names, name) })
}

// compactArguments removes the white space from the JSON of a function's arguments.
func compactArguments(function any) {
	fields, _ := function.(map[string]any) // nil otherwise, of which reading is allowed
	text, ok := fields["arguments"].(string)
	var compact bytes.Buffer
	if ok && json.Compact(&compact, []byte(text)) == nil {
		fields["arguments"] = compact.String()
	}
}
