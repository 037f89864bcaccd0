package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Options are what a model needs beside its name.
type Options struct {
	APIKey  string // required by anthropic/, unused by script:
	BaseURL string // of the API, "" is the vendor's own
}

// Open returns the model of that name: "anthropic/<id>" or "script:FILE". An
// unknown name, a missing key and a faulty script are errors; the network is
// not touched.
func Open(name string, opts Options) (Client, error) {
	if id, ok := strings.CutPrefix(name, "anthropic/"); ok && id != "" {
		return NewAnthropic(id, opts)
	}
	if file, ok := strings.CutPrefix(name, "script:"); ok && file != "" {
		script, err := ReadScript(file)
		if err != nil {
			return nil, err
		}
		return script.Client(), nil
	}
	return nil, fmt.Errorf("unknown model %q: known are anthropic/<id> and script:FILE", name)
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
