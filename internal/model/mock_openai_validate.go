package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// incomingChat is the body of a request for a completion.
type incomingChat struct {
	Model               string            `json:"model"`
	Messages            []incomingMessage `json:"messages"`
	Tools               []incomingTool    `json:"tools"`
	MaxTokens           *int              `json:"max_tokens"`
	MaxCompletionTokens *int              `json:"max_completion_tokens"`
	Temperature         *float64          `json:"temperature"`
	ReasoningEffort     *string           `json:"reasoning_effort"`
	Stream              bool              `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type incomingTool struct {
	Type     string `json:"type"`
	Function *struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// readChatRequest reads a body, refuses what the real API would refuse, and
// returns the conversation as scripts know it.
func readChatRequest(body []byte) (*incomingChat, []Message, error) {
	var in incomingChat
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	if err := errors.Join(in.checkSettings(), in.checkTools()); err != nil {
		return nil, nil, err
	}
	messages, err := readChatMessages(in.Messages)
	return &in, messages, err
}

func (in *incomingChat) checkSettings() error {
	few := func(n *int) bool { return n != nil && *n < 1 }
	switch {
	case in.Model == "":
		return errors.New("you must provide a model parameter")
	case few(in.MaxTokens) || few(in.MaxCompletionTokens):
		return errors.New("max_tokens: must be at least 1")
	case in.MaxTokens != nil && in.MaxCompletionTokens != nil:
		return errors.New("max_tokens and max_completion_tokens: only one may be set")
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 2):
		return errors.New("temperature: must be from 0 to 2")
	case in.ReasoningEffort != nil && !slices.Contains(reasoningEfforts(), *in.ReasoningEffort):
		return fmt.Errorf("reasoning_effort: %q is not known", *in.ReasoningEffort)
	case in.StreamOptions != nil && !in.Stream:
		return errors.New("stream_options: only allowed when stream is true")
	}
	return nil
}

func (in *incomingChat) checkTools() error {
	var seen []string
	for i, tool := range in.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch f := tool.Function; {
		case tool.Type != "function" || f == nil:
			return fmt.Errorf("tools[%d].type: must be function", i)
		case !isChatName(f.Name):
			return fmt.Errorf("tools[%d].function.name: %q is not a valid name", i, f.Name)
		case slices.Contains(seen, f.Name):
			return fmt.Errorf("tools: the name %q occurs more than once", f.Name)
		case len(f.Parameters) > 0 && (json.Unmarshal(f.Parameters, &schema) != nil || schema.Type != "object"):
			return fmt.Errorf("tools[%d].function.parameters.type: must be object", i)
		default:
			seen = append(seen, f.Name)
		}
	}
	return nil
}

func isChatName(name string) bool {
	return validName(name, "", maxFunctionName)
}
