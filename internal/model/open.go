package model

import (
	"fmt"
	"path/filepath"
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

	Normalizer Normalizer // on which replay: plays; unused by the others
	Match      Match      // of replay:, "" is MatchStrict; unused by the others
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
		recording, err := opts.Normalizer.Read(rest)
		if err != nil {
			return nil, err
		}
		return opts.Normalizer.Play(recording, opts.Match)
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
