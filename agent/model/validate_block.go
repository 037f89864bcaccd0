package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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
		if role != RoleUser {
			return errors.New("a tool_result belongs to the user")
		}
		for _, part := range b.Content {
			if err := checkBlock(role, part, ids); err != nil {
				return fmt.Errorf("content: %w", err)
			}
		}
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
	if !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(b.ID) {
		return fmt.Errorf("tool_use.id: %q is not a valid id", b.ID)
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

func checkImage(s Source) error {
	const most = 5 << 20 // bytes of base64
	kinds := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	switch {
	case s.Type != "base64":
		return nil // by URL or file: nothing to look at
	case !slices.Contains(kinds, s.MediaType):
		return fmt.Errorf("image.source.media_type: %q is not supported", s.MediaType)
	case s.Data == "":
		return errors.New("image.source.data: must not be empty")
	case len(s.Data) > most:
		return fmt.Errorf("image.source.data: more than %d bytes", most)
	}
	return nil
}
