package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// checkBlock looks at a block by itself, and for ids of calls used before.
func checkBlock(role string, b Block, ids map[string]bool) error {
	switch b.Type {
	case BlockText:
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("text must not be empty")
		}
	case BlockToolUse:
		return checkToolUse(role, b, ids)
	case BlockToolResult:
		return checkToolResult(role, b)
	case BlockImage:
		return checkImage(b.Source)
	case BlockThinking:
		if b.Signature == "" {
			return errors.New("thinking.signature: required")
		}
	}
	return nil
}

func checkToolUse(role string, b Block, ids map[string]bool) error {
	if role != RoleAssistant {
		return errors.New("a tool_use belongs to the assistant")
	}
	if !validName(b.ID, "", len(b.ID)) {
		return fmt.Errorf("tool_use.id: %q is not a valid id", b.ID)
	}
	if !validName(b.Name, "", maxToolName) {
		return fmt.Errorf("tool_use.name: %q is not a valid name", b.Name)
	}
	if ids[b.ID] {
		return fmt.Errorf("tool_use.id: %s occurs more than once", b.ID)
	}
	ids[b.ID] = true
	var object map[string]json.RawMessage
	if json.Unmarshal(b.Input, &object) != nil || object == nil {
		return errors.New("tool_use.input: must be an object")
	}
	return nil
}

func checkToolResult(role string, b Block) error {
	if role != RoleUser {
		return errors.New("a tool_result belongs to the user")
	}
	holds := []string{BlockText, BlockImage, "document", "search_result", "tool_reference"}
	for i, part := range b.Content {
		if !slices.Contains(holds, part.Type) {
			return fmt.Errorf("tool_result.content.%d.type: a result holds no %s", i, part.Type)
		}
		if b.IsError && part.Type != BlockText {
			return fmt.Errorf("tool_result.content.%d.type: must be text, not %s, as is_error is set", i, part.Type)
		}
		if err := checkBlock(role, part, nil); err != nil {
			return fmt.Errorf("tool_result.content.%d: %w", i, err)
		}
	}
	return nil
}
