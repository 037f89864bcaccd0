package mockapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"assay/internal/model"
	"assay/internal/model/wire"
)

// responsesRequestBody is the JSON body of POST /v1/responses.
type responsesRequestBody struct {
	Model              string              `json:"model"`
	Input              json.RawMessage     `json:"input"`
	Instructions       *string             `json:"instructions"`
	MaxOutputTokens    *int                `json:"max_output_tokens"`
	Temperature        *float64            `json:"temperature"`
	Reasoning          *reasoningSpec      `json:"reasoning"`
	Tools              []responsesToolBody `json:"tools"`
	ToolChoice         json.RawMessage     `json:"tool_choice"`
	Store              *bool               `json:"store"`
	PreviousResponseID string              `json:"previous_response_id"`
	Stream             bool                `json:"stream"`
	StreamOptions      *struct{}           `json:"stream_options"`
}

type reasoningSpec struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type responsesToolBody struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// parseResponsesRequest returns the conversation of a request to the Responses API. It
// returns an error if the real API would reject the request. The server stores nothing, so
// it rejects references to stored responses and items.
func parseResponsesRequest(body []byte) ([]model.Message, error) {
	var in responsesRequestBody
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body cannot be read: %w", err)
	}
	for _, check := range []func() error{in.checkSettings, in.checkTools, in.checkToolChoice, in.checkInput} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return wire.DecodeMessages(wire.Responses, body)
}

func (in *responsesRequestBody) checkSettings() error {
	const leastOutputTokens = 16
	switch {
	case in.Model == "":
		return errors.New("model: required")
	case in.MaxOutputTokens != nil && *in.MaxOutputTokens < leastOutputTokens:
		return fmt.Errorf("max_output_tokens: must be at least %d", leastOutputTokens)
	case in.Temperature != nil && (*in.Temperature < 0 || *in.Temperature > 2):
		return errors.New("temperature: must be from 0 to 2")
	case in.PreviousResponseID != "":
		return fmt.Errorf("previous_response_id: the response %q is not found", in.PreviousResponseID)
	case in.StreamOptions != nil && !in.Stream:
		return errors.New("stream_options: only allowed when stream is true")
	case in.Reasoning == nil:
		return nil
	}
	if effort := in.Reasoning.Effort; effort != nil && new(model.Params).Set("reasoning_effort", *effort) != nil {
		return fmt.Errorf("reasoning.effort: %q is not known", *effort)
	}
	if summary := in.Reasoning.Summary; summary != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *summary) {
		return fmt.Errorf("reasoning.summary: %q is not auto, concise or detailed", *summary)
	}
	return nil
}

// hostedToolTypes returns the types of the tools that the API runs itself, or that have
// another form than a function. The server accepts them unseen.
func hostedToolTypes() []string {
	return []string{
		"apply_patch", "code_interpreter", "computer", "computer_use_preview", "custom", "file_search", "image_generation",
		"local_shell", "mcp", "namespace", "shell", "tool_search", "web_search", "web_search_preview",
	}
}

func (in *responsesRequestBody) checkTools() error {
	var seen []string
	for i, tool := range in.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case slices.Contains(hostedToolTypes(), tool.Type):
		case tool.Type != "function":
			return fmt.Errorf("tools[%d].type: %q is not known", i, tool.Type)
		case !isValidFunctionName(tool.Name):
			return fmt.Errorf("tools[%d].name: %q is not a valid name", i, tool.Name)
		case slices.Contains(seen, tool.Name):
			return fmt.Errorf("tools[%d].name: the name %q occurs more than once", i, tool.Name)
		case !isNull(tool.Parameters) && (json.Unmarshal(tool.Parameters, &schema) != nil || schema.Type != "object"):
			return fmt.Errorf("tools[%d].parameters.type: must be object", i)
		default:
			seen = append(seen, tool.Name)
		}
	}
	return nil
}

// checkToolChoice checks the member tool_choice: one of three words, or an object, of which
// one with the type function must name a function of the request.
func (in *responsesRequestBody) checkToolChoice() error {
	if isNull(in.ToolChoice) {
		return nil
	}
	var word string
	if json.Unmarshal(in.ToolChoice, &word) == nil {
		switch {
		case !slices.Contains([]string{"auto", "none", "required"}, word):
			return fmt.Errorf("tool_choice: %q is not auto, none or required", word)
		case word == "required" && len(in.Tools) == 0:
			return errors.New("tool_choice: there are no tools to choose from")
		}
		return nil
	}
	var choice struct{ Type, Name string }
	if json.Unmarshal(in.ToolChoice, &choice) != nil || choice.Type == "" {
		return errors.New("tool_choice: must be a word or an object with a type")
	}
	isNamed := func(tool responsesToolBody) bool { return tool.Name == choice.Name }
	if choice.Type == "function" && !slices.ContainsFunc(in.Tools, isNamed) {
		return fmt.Errorf("tool_choice.name: there is no function %q", choice.Name)
	}
	return nil
}

// checkInput checks the input: a string, or a list of items that is not empty.
func (in *responsesRequestBody) checkInput() error {
	var text string
	switch {
	case isNull(in.Input):
		return errors.New("input: required")
	case json.Unmarshal(in.Input, &text) == nil:
		return nil
	}
	var items []inputItem
	if err := json.Unmarshal(in.Input, &items); err != nil {
		return fmt.Errorf("input: must be a string or a list of items: %w", err)
	}
	if len(items) == 0 {
		return errors.New("input: must not be empty")
	}
	c := inputChecker{isStored: in.Store == nil || *in.Store}
	for i, item := range items {
		if err := c.checkItem(item); err != nil {
			return fmt.Errorf("input[%d]%w", i, err)
		}
	}
	return c.checkEnd()
}
