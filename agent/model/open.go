package model

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are what a model needs beside its name.
type Options struct {
	APIKey  string // of the model's provider; openai/ needs none at a BaseURL
	BaseURL string // of the API, "" is the provider's own; unused by script: and replay:

	// Idle is how long a call may be silent before it is cut as [ErrCutStream]: 0 is
	// [DefaultIdle], below 0 for ever. Unused by script: and replay:.
	Idle time.Duration

	Occasion Occasion // on which replay: plays; unused by the others
	Match    Match    // of replay:, "" is MatchStrict; unused by the others
}

// The forms of a model's name: what it begins with.
const (
	formAnthropic = providerAnthropic + "/"
	formOpenAI    = providerOpenAI + "/"
	formScript    = "script:"
	formReplay    = "replay:"
)

// Open returns the model of that name: "anthropic/<id>", "openai/<id>",
// "script:FILE", which plays a [Script], or "replay:FILE", which plays a
// [Recording]. An unknown name, a missing key and a faulty file are errors; the
// network is not touched.
func Open(name string, opts Options) (Client, error) {
	form, rest, err := parseName(name)
	if err != nil {
		return nil, err
	}
	switch form {
	case formScript:
		script, err := ReadScript(rest)
		if err != nil {
			return nil, err
		}
		return script.Client(), nil
	case formReplay:
		recording, err := opts.Occasion.Read(rest)
		if err != nil {
			return nil, err
		}
		return opts.Occasion.Play(recording, opts.Match)
	case formOpenAI:
		return NewOpenAI(rest, opts)
	default:
		return NewAnthropic(rest, opts)
	}
}

// CheckName says whether [Open] knows names of that form. It looks at nothing
// but the name: there may be no such model, and no such file.
func CheckName(name string) error {
	_, _, err := parseName(name)
	return err
}

// InFolder returns the name of a model with its file, if it has one, relative to
// dir. An absolute file, a name without one and an unknown name stay as they are.
func InFolder(name, dir string) string {
	form, file, err := parseName(name)
	if err != nil || Provider(name) != "" || filepath.IsAbs(file) {
		return name
	}
	return form + filepath.Join(dir, file)
}

// Provider is whose API a model of that name is asked by: anthropic, openai, or
// "" for what needs none. Its key and base URL are found by it.
func Provider(name string) string {
	switch form, _, _ := parseName(name); form {
	case formAnthropic:
		return providerAnthropic
	case formOpenAI:
		return providerOpenAI
	default:
		return ""
	}
}

// parseName cuts a name into its form and what makes it one model.
func parseName(name string) (form, rest string, err error) {
	for _, form := range []string{formAnthropic, formOpenAI, formScript, formReplay} {
		if rest, ok := strings.CutPrefix(name, form); ok && rest != "" {
			return form, rest, nil
		}
	}
	return "", "", fmt.Errorf("unknown model %q: known are anthropic/<id>, openai/<id>, script:FILE and replay:FILE", name)
}

// Set changes one setting by its name: max_tokens (an integer), temperature
// (0 to 2), thinking (adaptive, disabled, or a budget in tokens), or
// reasoning_effort (none, minimal, low, medium, high, xhigh or max).
// [Params.Check] says whether a model takes it.
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

// reasoningEfforts are those of OpenAI's models, of which each knows some.
func reasoningEfforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// Check says whether a model of that name takes the settings. Scripts and
// recordings take any.
func (p Params) Check(name string) error {
	provider := Provider(name)
	switch {
	case provider == providerAnthropic && p.Temperature != nil && *p.Temperature > 1:
		return fmt.Errorf("temperature must be from 0 to 1 for %s, not %g", name, *p.Temperature)
	case provider == providerAnthropic && p.ReasoningEffort != "":
		return fmt.Errorf("reasoning_effort is a setting of openai/ models: for %s there is thinking", name)
	case provider == providerOpenAI && p.Thinking != nil && p.Thinking.Type != "adaptive":
		return fmt.Errorf("thinking is a setting of anthropic/ models: for %s there is reasoning_effort", name)
	default:
		return nil
	}
}

func (p *Params) setThinking(value string) error {
	if value == "adaptive" || value == "disabled" {
		p.Thinking = &Thinking{Type: value}
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return fmt.Errorf("thinking must be adaptive, disabled or a number of tokens, not %q", value)
	}
	p.Thinking = &Thinking{Type: "enabled", BudgetTokens: n}
	return nil
}
