package model

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Prefixes of a model's name, one for each kind of model.
const (
	PrefixAnthropic = "anthropic/"
	PrefixOpenAI    = "openai/"
	PrefixScript    = "script:"
	PrefixReplay    = "replay:"
)

// ParseName splits a model's name, such as "anthropic/<id>" or "script:FILE", into its
// prefix and the rest: the vendor's model id or a file. The rest is never empty: an
// unknown prefix or an empty rest is an error. It does not check that the model or the
// file exists.
func ParseName(name string) (prefix, rest string, err error) {
	for _, prefix := range []string{PrefixAnthropic, PrefixOpenAI, PrefixScript, PrefixReplay} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			return prefix, rest, nil
		}
	}
	return "", "", fmt.Errorf("unknown model %q: known are anthropic/<id>, openai/<id>, script:FILE and replay:FILE", name)
}

// CheckName returns an error if [ParseName] cannot parse the model's name.
func CheckName(name string) error {
	_, _, err := ParseName(name)
	return err
}

// ResolveFileInName returns a model's name with its file, if it has one, made relative to
// dir. It returns a name with an absolute file, a name without a file and an unknown
// name unchanged.
func ResolveFileInName(name, dir string) string {
	prefix, file, err := ParseName(name)
	if err != nil || ProviderOf(name) != "" || filepath.IsAbs(file) {
		return name
	}
	return prefix + filepath.Join(dir, file)
}

// ProviderOf returns the vendor whose API serves the model with this name: anthropic or
// openai. It returns "" for scripts, recordings and unknown names, which need neither
// an API key nor a base URL.
func ProviderOf(name string) string {
	switch prefix, _, _ := ParseName(name); prefix {
	case PrefixAnthropic, PrefixOpenAI:
		return strings.TrimSuffix(prefix, "/")
	default:
		return ""
	}
}
