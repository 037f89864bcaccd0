package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// maxCacheMarkers is how many cache_control markers a request may have.
const maxCacheMarkers = 4

// incoming is the body of a request as the mock server reads it.
type incoming struct {
	Model       string          `json:"model"`
	MaxTokens   *int            `json:"max_tokens"`
	Stream      bool            `json:"stream"`
	Messages    []Message       `json:"messages"`
	System      json.RawMessage `json:"system"`
	Tools       []Tool          `json:"tools"`
	Temperature *float64        `json:"temperature"`
	Thinking    *Thinking       `json:"thinking"`
}

// readIncoming reads a body and refuses what the real API would refuse.
func readIncoming(body []byte) (*incoming, error) {
	var in incoming
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	for _, check := range []func() error{in.checkSettings, in.checkTools, in.checkSystem, in.checkMessages} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if n := countCacheMarkers(body); n > maxCacheMarkers {
		return nil, fmt.Errorf("at most %d cache_control markers may be set, found %d", maxCacheMarkers, n)
	}
	return &in, nil
}

func (in *incoming) checkSettings() error {
	switch {
	case in.Model == "":
		return errors.New("model: required")
	case in.MaxTokens == nil:
		return errors.New("max_tokens: required")
	case *in.MaxTokens < 1:
		return errors.New("max_tokens: must be at least 1")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 1):
		return errors.New("temperature: must be from 0 to 1")
	case in.Thinking != nil && in.Thinking.BudgetTokens >= *in.MaxTokens:
		return errors.New("thinking.budget_tokens: must be less than max_tokens")
	}
	return nil
}

func (in *incoming) checkTools() error {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	seen := map[string]bool{}
	for i, tool := range in.Tools {
		if !valid.MatchString(tool.Name) {
			return fmt.Errorf("tools.%d.name: %q is not a valid name", i, tool.Name)
		}
		if seen[tool.Name] {
			return fmt.Errorf("tools: the name %q occurs more than once", tool.Name)
		}
		seen[tool.Name] = true
		var schema struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(tool.InputSchema, &schema) != nil || schema.Type != "object" {
			return fmt.Errorf("tools.%d.input_schema.type: must be object", i)
		}
	}
	return nil
}

func (in *incoming) checkSystem() error {
	content, err := blocks(in.System)
	if err != nil {
		return fmt.Errorf("system: %w", err)
	}
	for i, b := range content {
		if b.Type != BlockText || b.Text == "" {
			return fmt.Errorf("system.%d: must be text that is not empty", i)
		}
	}
	return nil
}

func (in *incoming) checkMessages() error {
	if len(in.Messages) == 0 {
		return errors.New("messages: at least one is required")
	}
	if in.Messages[0].Role != RoleUser {
		return errors.New("messages.0.role: the first message must be of the user")
	}
	ids := map[string]bool{}
	for i, m := range in.Messages {
		if m.Role != RoleUser && m.Role != RoleAssistant {
			return fmt.Errorf("messages.%d.role: must be user or assistant", i)
		}
		if len(m.Content) == 0 && (i < len(in.Messages)-1 || m.Role == RoleUser) {
			return fmt.Errorf("messages.%d: the content must not be empty", i)
		}
		for j, b := range m.Content {
			if err := checkBlock(m.Role, b, ids); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
			}
		}
	}
	return checkPairs(merged(in.Messages))
}

// countCacheMarkers counts them where they may stand, not in inputs of tools.
func countCacheMarkers(body []byte) int {
	type marked struct {
		CacheControl json.RawMessage `json:"cache_control"`
		Content      json.RawMessage `json:"content"`
	}
	if !bytes.Contains(body, []byte(`"cache_control"`)) {
		return 0
	}
	count := 0
	var visit func(list json.RawMessage)
	visit = func(list json.RawMessage) {
		var parts []marked
		if json.Unmarshal(list, &parts) != nil {
			return // text
		}
		for _, part := range parts {
			if len(part.CacheControl) > 0 && string(part.CacheControl) != "null" {
				count++
			}
			visit(part.Content)
		}
	}
	var in struct {
		System, Tools, Messages json.RawMessage
	}
	if json.Unmarshal(body, &in) == nil {
		visit(in.System)
		visit(in.Tools)
		visit(in.Messages)
	}
	return count
}
