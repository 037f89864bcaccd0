package jupyter

import (
	"encoding/json"

	"assay/internal/protocol"
)

// output is an nbformat output, or clear_output.
type output struct {
	Type      string          `json:"output_type"`
	Data      json.RawMessage `json:"data,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Count     *int            `json:"execution_count,omitempty"` // execute_result
	Transient json.RawMessage `json:"transient,omitempty"`       // with a display_id
	Wait      *bool           `json:"wait,omitempty"`            // clear_output
}

// failed is the nbformat output of an error.
type failed struct {
	Type      string   `json:"output_type"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// newOutput makes an output of the content of a message of the same name. What
// has a wrong type in it is taken for empty.
func newOutput(kind string, content loose) output {
	if kind == "clear_output" {
		wait := false
		_ = json.Unmarshal(content["wait"], &wait)
		return output{Type: kind, Wait: &wait}
	}
	shown := output{Type: kind, Data: content.object("data"), Metadata: content.object("metadata")}
	var transient struct {
		DisplayID string `json:"display_id,omitempty"`
	}
	if err := json.Unmarshal(content["transient"], &transient); err == nil && transient.DisplayID != "" {
		shown.Transient, _ = protocol.Marshal(transient) // a string can always be written
	}
	if kind == "execute_result" {
		count := 0
		_ = json.Unmarshal(content["execution_count"], &count)
		shown.Count = &count
	}
	return shown
}

// bundleOf is a mime bundle of plain text.
func bundleOf(text string) json.RawMessage {
	body, _ := protocol.Marshal(map[string]string{"text/plain": text}) // a string can always be written
	return body
}
