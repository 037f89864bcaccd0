package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MinThinkingBudget is the smallest [ThinkingSetting] budget, in tokens, that the Messages API
// accepts.
const MinThinkingBudget = 1024

// Set sets one model setting from its text on a command line: max_tokens (an integer),
// temperature (0 to 2), thinking (adaptive, disabled, or a budget in tokens), or
// reasoning_effort (none, minimal, low, medium, high, xhigh or max). An unknown key and
// a value out of range are errors. [Params.Check] says whether a particular model
// accepts the settings.
func (p *Params) Set(key, value string) error {
	switch key {
	case "max_tokens":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("max_tokens must be a positive integer, not %q", value)
		}
		p.MaxTokens = n
	case "temperature":
		t, err := strconv.ParseFloat(value, 64)
		if err != nil || !(t >= 0 && t <= 2) {
			return fmt.Errorf("temperature must be a number from 0 to 2, not %q", value)
		}
		p.Temperature = &t
	case "thinking":
		return p.setThinking(value)
	case "reasoning_effort":
		if !slices.Contains(reasoningEfforts(), value) {
			return fmt.Errorf("reasoning_effort must be one of %s, not %q", strings.Join(reasoningEfforts(), ", "), value)
		}
		p.ReasoningEffort = value
	default:
		return fmt.Errorf("unknown setting %q: known are max_tokens, temperature, thinking and reasoning_effort", key)
	}
	return nil
}

// reasoningEfforts returns the values of reasoning_effort that OpenAI's models know. No
// model knows all of them.
func reasoningEfforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

func (p *Params) setThinking(value string) error {
	if value == "adaptive" || value == "disabled" {
		p.Thinking = &ThinkingSetting{Type: value}
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return fmt.Errorf("thinking must be adaptive, disabled or a number of tokens, not %q", value)
	}
	p.Thinking = &ThinkingSetting{Type: "enabled", BudgetTokens: n}
	return nil
}

// Check returns an error if the vendor's API would reject every request with these
// settings for the model with this name. Scripts and recordings accept all settings.
func (p Params) Check(name string) error {
	switch prefix, _, _ := ParseName(name); prefix {
	case PrefixAnthropic:
		return p.checkAnthropic(name)
	case PrefixOpenAI:
		if p.Thinking != nil && p.Thinking.Type != "adaptive" {
			return fmt.Errorf("thinking is a setting of anthropic/ models: for %s there is reasoning_effort", name)
		}
	}
	return nil
}

// checkAnthropic returns an error if the Messages API would reject every request with
// these settings.
func (p Params) checkAnthropic(name string) error {
	if p.ReasoningEffort != "" {
		return fmt.Errorf("reasoning_effort is a setting of openai/ models: for %s there is thinking", name)
	}
	if p.Temperature != nil && *p.Temperature > 1 {
		return fmt.Errorf("temperature must be from 0 to 1 for %s, not %g", name, *p.Temperature)
	}
	if p.Thinking == nil || p.Thinking.Type == "disabled" {
		return nil
	}
	budget, most := p.Thinking.BudgetTokens, cmp.Or(p.MaxTokens, DefaultMaxTokens)
	switch {
	case p.Temperature != nil && *p.Temperature != 1:
		return fmt.Errorf("temperature must be 1, or left out, while %s thinks, not %g", name, *p.Temperature)
	case p.Thinking.Type == "adaptive":
		return nil
	case budget < MinThinkingBudget:
		return fmt.Errorf("thinking must be a budget of at least %d tokens for %s, not %d", MinThinkingBudget, name, budget)
	case budget >= most:
		return fmt.Errorf("thinking must be a budget less than max_tokens, which is %d, not %d", most, budget)
	}
	return nil
}
