package model

import (
	"encoding/json"
	"fmt"
	"strings"
)

// offeredTool is a tool as a request has it. One that the API runs itself has a
// type of its own.
type offeredTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// The longest names, in bytes, of tools, of their properties, and of functions.
const (
	maxToolName     = 128
	maxPropertyName = 64
	maxFunctionName = 64
)

// validName reports whether a name is of letters, digits, - and _, and of what
// more names, and has most bytes at most.
func validName(name, more string, most int) bool {
	for _, c := range name {
		if !inName(c) && !strings.ContainsRune(more, c) {
			return false
		}
	}
	return name != "" && len(name) <= most
}

func inName(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

func (in *incoming) checkTools() error {
	seen := map[string]bool{}
	for i, tool := range in.Tools {
		if !validName(tool.Name, "", maxToolName) {
			return fmt.Errorf("tools.%d.name: %q is not a valid name", i, tool.Name)
		}
		if seen[tool.Name] {
			return fmt.Errorf("tools.%d.name: the name %q occurs more than once", i, tool.Name)
		}
		seen[tool.Name] = true
		if tool.Type != "" && tool.Type != "custom" {
			continue
		}
		if err := checkSchema(tool.InputSchema); err != nil {
			return fmt.Errorf("tools.%d.input_schema%w", i, err)
		}
	}
	return nil
}

// checkSchema looks at the top of a tool's schema. The error goes on with the
// place in it.
func checkSchema(text json.RawMessage) error {
	var schema map[string]json.RawMessage
	var kind string
	if json.Unmarshal(text, &schema) != nil || json.Unmarshal(schema["type"], &kind) != nil || kind != "object" {
		return fmt.Errorf(".type: must be object")
	}
	for _, key := range []string{"oneOf", "allOf", "anyOf"} {
		if schema[key] != nil {
			return fmt.Errorf(".%s: may not be at the top", key)
		}
	}
	var properties map[string]json.RawMessage
	if schema["properties"] != nil && json.Unmarshal(schema["properties"], &properties) != nil {
		return fmt.Errorf(".properties: must be an object")
	}
	for name := range properties {
		if !validName(name, ".", maxPropertyName) {
			return fmt.Errorf(".properties: %q is not a valid name", name)
		}
	}
	return nil
}
