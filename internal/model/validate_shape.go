package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxCacheMarkers is how many cache_control markers a request may have.
const maxCacheMarkers = 4

// shape is the look of a request, field by field: which there are, and where the
// markers for the cache stand.
type shape struct {
	markers int
	short   bool // a marker of five minutes has been seen
}

// checkShape looks for fields that the API does not know, and at the markers. The
// inputs of tools are not looked into.
func checkShape(body []byte) error {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	var s shape
	if err := s.part("", request, requestFields()); err != nil {
		return err
	}
	for _, list := range []string{"tools", "system", "messages"} {
		if err := s.list(list, request[list]); err != nil {
			return err
		}
	}
	if s.markers > maxCacheMarkers {
		return fmt.Errorf("at most %d cache_control markers may be set, found %d", maxCacheMarkers, s.markers)
	}
	return nil
}

// list looks at tools, messages or blocks. Anything else is a text.
func (s *shape) list(place string, text json.RawMessage) error {
	var parts []map[string]json.RawMessage
	if json.Unmarshal(text, &parts) != nil {
		return nil //nolint:nilerr // a text, or what others find fault with
	}
	for i, part := range parts {
		at := fmt.Sprintf("%s.%d", place, i)
		if err := s.part(at+".", part, partFields(place, part)); err != nil {
			return err
		}
		if err := s.list(at+".content", part["content"]); err != nil {
			return err
		}
	}
	return nil
}

// part looks at one object that may have no other fields than those that are
// known; nil is any.
func (s *shape) part(place string, fields map[string]json.RawMessage, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if known != nil && !slices.Contains(known, name) {
			return fmt.Errorf("%s%s: no such field is known", place, name)
		}
	}
	marker := fields["cache_control"]
	if len(marker) == 0 || string(marker) == "null" {
		return nil
	}
	if err := s.marker(marker); err != nil {
		return fmt.Errorf("%scache_control%w", place, err)
	}
	return nil
}

// marker counts a marker. The error goes on with the place in it.
func (s *shape) marker(text json.RawMessage) error {
	var marker struct {
		Type string `json:"type"`
		TTL  string `json:"ttl"`
	}
	if err := json.Unmarshal(text, &marker); err != nil {
		return fmt.Errorf(": %w", err)
	}
	switch {
	case marker.Type != "ephemeral":
		return fmt.Errorf(".type: must be ephemeral")
	case marker.TTL != "" && marker.TTL != "5m" && marker.TTL != "1h":
		return fmt.Errorf(".ttl: must be 5m or 1h")
	case marker.TTL == "1h" && s.short:
		return fmt.Errorf(".ttl: 1h must not come after 5m")
	}
	s.short = s.short || marker.TTL != "1h"
	s.markers++
	return nil
}

// requestFields lists the fields of a request.
func requestFields() []string {
	return []string{
		"cache_control", "container", "context_management", "diagnostics", "inference_geo", "max_tokens", "mcp_servers", "messages",
		"metadata", "model", "output_config", "output_format", "service_tier", "speed", "stop_sequences", "stream", "system",
		"temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
	}
}

// partFields lists the fields of a message or a block, nil for what is not known
// so well: tools, and blocks of other types.
func partFields(place string, part map[string]json.RawMessage) []string {
	if place == "messages" {
		return []string{"role", "content"}
	}
	if place == "tools" {
		return nil
	}
	fields := map[string]string{
		BlockText:             "type text citations cache_control",
		BlockImage:            "type source cache_control",
		BlockToolUse:          "type id name input caller cache_control",
		BlockToolResult:       "type tool_use_id is_error content cache_control",
		BlockThinking:         "type thinking signature",
		BlockRedactedThinking: "type data",
	}
	var kind string
	_ = json.Unmarshal(part["type"], &kind) // others find fault with it
	if fields[kind] == "" {
		return nil
	}
	return strings.Fields(fields[kind])
}
