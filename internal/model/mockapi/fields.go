package mockapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/internal/model"
)

// maxCacheMarkers is the largest number of cache_control markers in one request.
const maxCacheMarkers = 4

// fieldChecker checks the JSON members of a request for unknown names, and counts its
// cache_control markers.
type fieldChecker struct {
	cacheMarkers        int
	hasFiveMinuteMarker bool // a marker of five minutes has come
}

// checkUnknownFields returns an error if a request has a member that the Messages API
// does not know, an invalid cache_control marker, or more than 4 of them. It does not
// check the inputs of tool calls.
func checkUnknownFields(body []byte) error {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	var c fieldChecker
	if err := c.checkObject("", request, knownRequestFields()); err != nil {
		return err
	}
	for _, list := range []string{"tools", "system", "messages"} {
		if err := c.checkList(list, request[list]); err != nil {
			return err
		}
	}
	if c.cacheMarkers > maxCacheMarkers {
		return fmt.Errorf("at most %d cache_control markers may be set, found %d", maxCacheMarkers, c.cacheMarkers)
	}
	return nil
}

// checkList checks the items of a list of tools, messages or content blocks, and their
// content. It accepts JSON that is not a list of objects, which other checks handle.
func (c *fieldChecker) checkList(place string, text json.RawMessage) error {
	var items []map[string]json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		return nil //nolint:nilerr // a string, or something that other checks refuse
	}
	for i, item := range items {
		at := fmt.Sprintf("%s.%d", place, i)
		if err := c.checkObject(at+".", item, knownItemFields(place, item)); err != nil {
			return err
		}
		if err := c.checkList(at+".content", item["content"]); err != nil {
			return err
		}
	}
	return nil
}

// checkObject returns an error if an object has a member whose name is not in known, or
// an invalid cache_control marker. A nil known allows any name.
func (c *fieldChecker) checkObject(place string, fields map[string]json.RawMessage, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if known != nil && !slices.Contains(known, name) {
			return fmt.Errorf("%s%s: no such field is known", place, name)
		}
	}
	marker := fields["cache_control"]
	if len(marker) == 0 || string(marker) == "null" {
		return nil
	}
	if err := c.checkAndCountCacheMarker(marker); err != nil {
		return fmt.Errorf("%scache_control%w", place, err)
	}
	return nil
}

// checkAndCountCacheMarker checks one cache_control marker and counts it. The error's text begins
// with a colon, or with a dot and the member inside the marker, so that the caller can
// put the marker's place before it.
func (c *fieldChecker) checkAndCountCacheMarker(text json.RawMessage) error {
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
	case marker.TTL == "1h" && c.hasFiveMinuteMarker:
		return fmt.Errorf(".ttl: 1h must not come after 5m")
	}
	c.hasFiveMinuteMarker = c.hasFiveMinuteMarker || marker.TTL != "1h"
	c.cacheMarkers++
	return nil
}

// knownRequestFields returns the names of all members that a request to the Messages
// API may have.
func knownRequestFields() []string {
	return []string{
		"cache_control", "container", "context_management", "diagnostics", "inference_geo", "max_tokens", "mcp_servers", "messages",
		"metadata", "model", "output_config", "output_format", "service_tier", "speed", "stop_sequences", "stream", "system",
		"temperature", "thinking", "tool_choice", "tools", "top_k", "top_p",
	}
}

// knownItemFields returns the names that the members of a message or a content block
// may have. It returns nil for tools and for blocks of other types, whose members are
// not all known.
func knownItemFields(place string, item map[string]json.RawMessage) []string {
	if place == "messages" {
		return []string{"role", "content"}
	}
	if place == "tools" {
		return nil
	}
	fields := map[string]string{
		model.BlockText:             "type text citations cache_control",
		model.BlockImage:            "type source cache_control",
		model.BlockToolUse:          "type id name input caller cache_control",
		model.BlockToolResult:       "type tool_use_id is_error content cache_control",
		model.BlockThinking:         "type thinking signature",
		model.BlockRedactedThinking: "type data",
	}
	var blockType string
	_ = json.Unmarshal(item["type"], &blockType) // other checks refuse a missing type
	if fields[blockType] == "" {
		return nil
	}
	return strings.Fields(fields[blockType])
}
