package redact_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/redact"
)

// A key of each vendor is replaced: one that is as short as its keys may be, and a longer one. One that is
// a byte shorter is no key. Where the beginning is long enough, a key is also found in base64.
func TestEachFormOfAKey(t *testing.T) {
	t.Parallel()
	const letters, upper = "a1B2c3D4e5F6", "A1B2C3D4E5F6"
	keys := map[string]struct {
		vendor, characters string
		minBytes           int // after the prefix
	}{
		"sk-ant-":     {"Anthropic", letters + "-_", 20},
		"sk-":         {"OpenAI", letters, 32},
		"sk-proj-":    {"OpenAI", letters + "-_", 32},
		"sk-admin-":   {"OpenAI", letters + "-_", 32},
		"sk-svcacct-": {"OpenAI", letters + "-_", 32},
		"sk-or-v1-":   {"OpenRouter", letters, 32},
		"AIza":        {"Google", letters + "-_", 35},
		"gsk_":        {"Groq", letters, 32},
		"xai-":        {"xAI", letters, 32},
		"hf_":         {"Hugging Face", letters, 30},
		"pplx-":       {"Perplexity", letters, 32},
		"r8_":         {"Replicate", letters, 32},
		"ghp_":        {"GitHub", letters, 36},
		"gho_":        {"GitHub", letters, 36},
		"ghs_":        {"GitHub", letters, 36},
		"github_pat_": {"GitHub", letters + "_", 40},
		"AKIA":        {"AWS", upper, 16},
		"ASIA":        {"AWS", upper, 16},
		"xoxb-":       {"Slack", letters + "-", 20},
		"xoxp-":       {"Slack", letters + "-", 20},
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(keys)), redact.KeyPrefixes(), "each form has a row here")
	r := newRedactor(t)
	for prefix, key := range keys {
		rest := strings.Repeat(key.characters, 10)
		want := "[redacted " + key.vendor + " key]"
		for _, length := range []int{key.minBytes, key.minBytes + 9} {
			require.Equal(t, `{"key":"`+want+`"}`, r.String(`{"key":"`+prefix+rest[:length]+`"}`), prefix)
			require.Equal(t, "KEY="+want+"\n", r.String("KEY="+prefix+rest[:length]+"\n"), prefix)
		}
		short := "key: " + prefix + rest[:key.minBytes-1] + "\n"
		require.Equal(t, short, r.String(short))
		if len(prefix) >= 7 {
			for _, before := range []string{"", "x", "xy"} { // each alignment
				encoded := base64.StdEncoding.EncodeToString([]byte(before + prefix + rest))
				require.Contains(t, r.String(encoded), want, "%s in base64 after %q", prefix, before)
			}
		}
	}
}
