package model

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// offeredTool is a tool as a request has it. One that the API runs itself has a
// type of its own.
type offeredTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// validName is what a tool may be called.
func validName(name string) bool {
	return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`).MatchString(name)
}

func (in *incoming) checkTools() error {
	seen := map[string]bool{}
	for i, tool := range in.Tools {
		if !validName(tool.Name) {
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
	valid := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	for name := range properties {
		if !valid.MatchString(name) {
			return fmt.Errorf(".properties: %q is not a valid name", name)
		}
	}
	return nil
}
