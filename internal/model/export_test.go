package model

import "net/http"

// NewAnthropicOver is NewAnthropic with a transport of the test's own.
func NewAnthropicOver(transport http.RoundTripper, opts Options) (*Anthropic, error) {
	opts.APIKey = "key"
	return newAnthropic("claude-test", opts, transport)
}

// MendUnicode is mendUnicode.
func MendUnicode(text []byte) []byte { return mendUnicode(text) }
