package jupyter

import (
	"encoding/json"
	"fmt"
	"maps"
)

// asked is a request of the server. Which fields count depends on its type.
type asked struct {
	Type      string                     `json:"type"`
	Action    string                     `json:"action"` // agent_action
	TxID      string                     `json:"tx_id"`  // agent_action
	AgentTxID *string                    `json:"agent_tx_id"`
	CellID    *string                    `json:"cell_id"`
	Code      *string                    `json:"code"`
	Key       string                     `json:"key"`
	Data      map[string]json.RawMessage `json:"data"`
}

// fields are those of an answer, beside its type and the id of what it answers.
type fields map[string]any

// parseAsked reads a request. The error is for the server's eyes.
func parseAsked(body []byte) (asked, error) {
	var a asked
	if err := json.Unmarshal(body, &a); err != nil {
		return a, fmt.Errorf("malformed message: %w", err)
	}
	return a, nil
}

// answer makes the answer of a type, which echoes the request's id.
func (a asked) answer(kind string, with fields) fields {
	answer := fields{"type": kind}
	maps.Copy(answer, with)
	if a.AgentTxID != nil {
		answer["agent_tx_id"] = *a.AgentTxID
	}
	return answer
}

// id is the request's, empty where it has none.
func (a asked) id() string {
	if a.AgentTxID == nil {
		return ""
	}
	return *a.AgentTxID
}

// cell is the id of a cell, which must be there.
func (a asked) cell() (string, error) {
	if a.CellID == nil || *a.CellID == "" {
		return "", fmt.Errorf("%s: cell_id is missing or empty", a.Type)
	}
	return *a.CellID, nil
}

// source is the code, which may be empty but must be there.
func (a asked) source() (string, error) {
	if a.Code == nil {
		return "", fmt.Errorf("%s: code is missing", a.Type)
	}
	return *a.Code, nil
}
