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

// parseAgentEvent reads an agent_event. What does not fit is not shown.
func parseAgentEvent(body []byte) (e agentEvent) {
	_ = json.Unmarshal(body, &e)
	return e
}

// firstLine is what an agent wants shown, its first line.
func (e agentEvent) firstLine() string {
	first, _, more := strings.Cut(strings.TrimSpace(e.Text), "\n")
	if more {
		first += ellipsis
	}
	return first
}
