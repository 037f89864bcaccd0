package model

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Options are what a model needs beside its name.
type Options struct {
	APIKey  string // required by anthropic/, unused by the others
	BaseURL string // of the API, "" is the vendor's own; unused by script: and replay:
}

// The forms of a model's name: what it begins with.
const (
	formAnthropic = "anthropic/"
	formScript    = "script:"
	formReplay    = "replay:"
)

// Open returns the model of that name: "anthropic/<id>", "script:FILE", which
// plays a [Script], or "replay:FILE", which plays a [Recording]. An unknown name,
// a missing key and a faulty file are errors; the network is not touched.
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
		recording, err := ReadRecording(rest)
		if err != nil {
			return nil, err
		}
		return recording.Client(), nil
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
	if err != nil || form == formAnthropic || filepath.IsAbs(file) {
		return name
	}
	return form + filepath.Join(dir, file)
}

// parseName cuts a name into its form and what makes it one model.
func parseName(name string) (form, rest string, err error) {
	for _, form := range []string{formAnthropic, formScript, formReplay} {
		if rest, ok := strings.CutPrefix(name, form); ok && rest != "" {
			return form, rest, nil
		}
	}
	return "", "", fmt.Errorf("unknown model %q: known are anthropic/<id>, script:FILE and replay:FILE", name)
}

// Set changes one setting by its name: max_tokens (an integer), temperature
// (0 to 1), or thinking (adaptive, disabled, or a budget in tokens).
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
		if err != nil || !(t >= 0 && t <= 1) {
			return fmt.Errorf("temperature must be a number from 0 to 1, not %q", value)
		}
		p.Temperature = &t
	case "thinking":
		return p.setThinking(value)
	default:
		return fmt.Errorf("unknown setting %q: known are max_tokens, temperature and thinking", key)
	}
	return nil
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

// body writes a request of the model id.
func (r Request) body(id string) ([]byte, error) {
	r.Model = id
	if r.MaxTokens == 0 {
		r.MaxTokens = DefaultMaxTokens
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return data, nil
}
