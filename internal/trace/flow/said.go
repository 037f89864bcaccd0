package flow

import (
	"encoding/json"
	"strings"
)

// agentEvent is an agent_event as far as it is shown.
type agentEvent struct {
	Text     string `json:"text"`
	Metadata struct {
		Type string `json:"type"`
	} `json:"metadata"`
}

// readEvent reads an agent_event. What does not fit is not shown.
func readEvent(body []byte) (e agentEvent) {
	_ = json.Unmarshal(body, &e)
	return e
}

// line is what an agent wants shown, its first line.
func (e agentEvent) line() string {
	first, _, more := strings.Cut(strings.TrimSpace(e.Text), "\n")
	if more {
		first += ellipsis
	}
	return first
}
