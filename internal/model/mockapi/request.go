package mockapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"assay/internal/model"
	"assay/internal/rawjson"
)

// messageRequest is the body of POST /v1/messages.
type messageRequest struct {
	Model         string          `json:"model"`
	MaxTokens     *int            `json:"max_tokens"`
	Stream        bool            `json:"stream"` // only for its type
	Messages      []model.Message `json:"messages"`
	System        json.RawMessage `json:"system"`
	Tools         []toolSpec      `json:"tools"`
	ToolChoice    *toolChoice     `json:"tool_choice"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	TopK          *int            `json:"top_k"`
	StopSequences []string        `json:"stop_sequences"`
	Thinking      *thinkingSpec   `json:"thinking"`
}

// thinkingSpec is the member thinking of a request: how long the model reasons before
// it replies.
type thinkingSpec struct {
	Type         string `json:"type"`
	BudgetTokens *int   `json:"budget_tokens"`
}

// isOn reports whether the request lets the model think: adaptive or with a budget. It
// returns false for nil.
func (t *thinkingSpec) isOn() bool { return t != nil && t.Type != "disabled" }

// toolChoice is the member tool_choice of a request: which tools the model may or must
// call.
type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// toolSpec is one tool of a request. Tools that the API runs itself have a Type other
// than custom.
type toolSpec struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// parseMessageRequest returns the messages of a request to the Messages API. It returns an
// error if the real API would reject the request; the error begins with the place, such
// as "messages.0.content.1".
func parseMessageRequest(body []byte) ([]model.Message, error) {
	if err := checkUnicode(body); err != nil {
		return nil, err
	}
	var in messageRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	if err := checkUnknownFields(body); err != nil {
		return nil, err
	}
	for _, check := range []func() error{
		in.checkSettings, in.checkThinking, in.checkTools, in.checkToolChoice,
		in.checkSystem, in.checkMessages, in.checkLastTurn, in.checkImageLimits,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return in.Messages, nil
}

// checkUnicode returns an error if a request's body is not valid Unicode. Go's JSON
// decoder would accept it, but the API does not.
func checkUnicode(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("the body cannot be read: it is not valid UTF-8")
	}
	if at := rawjson.FindLoneSurrogate(body, 0); at >= 0 {
		return fmt.Errorf("the body cannot be read: half of a surrogate pair at byte %d", at)
	}
	return nil
}

func (in *messageRequest) checkSettings() error {
	switch {
	case in.Model == "":
		return errors.New("model: required")
	case in.MaxTokens == nil:
		return errors.New("max_tokens: required")
	case *in.MaxTokens < 1:
		return errors.New("max_tokens: must be at least 1")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 1):
		return errors.New("temperature: must be from 0 to 1")
	case in.TopP != nil && (*in.TopP < 0 || *in.TopP > 1):
		return errors.New("top_p: must be from 0 to 1")
	case in.TopK != nil && *in.TopK < 0:
		return errors.New("top_k: must be at least 0")
	}
	for i, text := range in.StopSequences {
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("stop_sequences.%d: must have more than white space", i)
		}
	}
	return nil
}

func (in *messageRequest) checkThinking() error {
	t := in.Thinking
	if t == nil {
		return nil
	}
	switch t.Type {
	case "enabled":
		if t.BudgetTokens == nil {
			return errors.New("thinking.budget_tokens: required")
		}
		if *t.BudgetTokens < model.MinThinkingBudget {
			return fmt.Errorf("thinking.budget_tokens: must be at least %d", model.MinThinkingBudget)
		}
		if *t.BudgetTokens >= *in.MaxTokens {
			return errors.New("thinking.budget_tokens: must be less than max_tokens")
		}
	case "adaptive", "disabled":
		if t.BudgetTokens != nil {
			return fmt.Errorf("thinking.budget_tokens: does not go with %s", t.Type)
		}
	default:
		return fmt.Errorf("thinking.type: %q is not adaptive, disabled or enabled", t.Type)
	}
	switch {
	case t.isOn() && in.Temperature != nil && *in.Temperature != 1:
		return errors.New("temperature: must be 1 or absent while the model thinks")
	case t.isOn() && in.TopK != nil:
		return errors.New("top_k: must be absent while the model thinks")
	}
	return nil
}

// The longest names of tools and of their properties, in bytes.
const (
	maxToolNameBytes     = 128
	maxPropertyNameBytes = 64
)

var validNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// isValidName reports whether name has 1 to maxBytes bytes and consists only of ASCII
// letters, digits, - and _, and the characters in extra.
func isValidName(name, extra string, maxBytes int) bool {
	stripped := name
	for _, c := range extra {
		stripped = strings.ReplaceAll(stripped, string(c), "")
	}
	return name != "" && len(name) <= maxBytes && validNamePattern.MatchString(stripped)
}

func (in *messageRequest) checkTools() error {
	seen := map[string]bool{}
	for i, tool := range in.Tools {
		if !isValidName(tool.Name, "", maxToolNameBytes) {
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

// checkSchema checks the top level of the JSON schema of a tool's input. The error
// begins with a dot and the member inside the schema.
func checkSchema(text json.RawMessage) error {
	var schema map[string]json.RawMessage
	var schemaType string
	if json.Unmarshal(text, &schema) != nil || json.Unmarshal(schema["type"], &schemaType) != nil || schemaType != "object" {
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
	for name := range properties {
		if !isValidName(name, ".", maxPropertyNameBytes) {
			return fmt.Errorf(".properties: %q is not a valid name", name)
		}
	}
	return nil
}

func (in *messageRequest) checkToolChoice() error {
	c := in.ToolChoice
	if c == nil {
		return nil
	}
	exists := false
	for _, tool := range in.Tools {
		exists = exists || tool.Name == c.Name
	}
	switch {
	case len(in.Tools) == 0:
		return errors.New("tool_choice: there are no tools to choose from")
	case c.Type != "auto" && c.Type != "any" && c.Type != "tool" && c.Type != "none":
		return fmt.Errorf("tool_choice.type: %q is not auto, any, tool or none", c.Type)
	case c.Type == "tool" && !exists:
		return fmt.Errorf("tool_choice.name: there is no tool %q", c.Name)
	case (c.Type == "any" || c.Type == "tool") && in.Thinking.isOn():
		return errors.New("tool_choice.type: must be auto or none while the model thinks")
	}
	return nil
}
