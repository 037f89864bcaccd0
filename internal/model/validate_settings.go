package model

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// minBudget is the least that a model may be told to think, in tokens.
const minBudget = 1024

// askedThinking is what a request says of thinking.
type askedThinking struct {
	Type         string `json:"type"`
	BudgetTokens *int   `json:"budget_tokens"`
}

// on reports whether the model thinks.
func (t *askedThinking) on() bool { return t != nil && t.Type != "disabled" }

// toolChoice is what a request says of the use of tools.
type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

func (in *incoming) checkSettings() error {
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

func (in *incoming) checkThinking() error {
	t := in.Thinking
	if t == nil {
		return nil
	}
	switch t.Type {
	case "enabled":
		if t.BudgetTokens == nil {
			return errors.New("thinking.budget_tokens: required")
		}
		if *t.BudgetTokens < minBudget {
			return fmt.Errorf("thinking.budget_tokens: must be at least %d", minBudget)
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
	case t.on() && in.Temperature != nil && *in.Temperature != 1:
		return errors.New("temperature: must be 1 or absent while the model thinks")
	case t.on() && in.TopK != nil:
		return errors.New("top_k: must be absent while the model thinks")
	}
	return nil
}

func (in *incoming) checkToolChoice() error {
	c := in.ToolChoice
	if c == nil {
		return nil
	}
	named := false
	for _, tool := range in.Tools {
		named = named || tool.Name == c.Name
	}
	switch {
	case len(in.Tools) == 0:
		return errors.New("tool_choice: there are no tools to choose from")
	case c.Type != "auto" && c.Type != "any" && c.Type != "tool" && c.Type != "none":
		return fmt.Errorf("tool_choice.type: %q is not auto, any, tool or none", c.Type)
	case c.Type == "tool" && !named:
		return fmt.Errorf("tool_choice.name: there is no tool %q", c.Name)
	case (c.Type == "any" || c.Type == "tool") && in.Thinking.on():
		return errors.New("tool_choice.type: must be auto or none while the model thinks")
	}
	return nil
}

func endsInSpace(text string) bool {
	return strings.TrimRightFunc(text, unicode.IsSpace) != text
}
