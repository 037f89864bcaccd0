package render_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"assay/agent/builtin/render"
)

// Clipped text is valid, short enough, and says how much is missing.
func TestCO10_ClippedTextIsStillText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(40, 200).Draw(t, "limit")
		text = strings.Repeat(text, 9)
		clipped := render.Clip(text, limit)
		switch {
		case len(clipped) > limit:
			t.Fatalf("%d bytes", len(clipped))
		case !utf8.ValidString(clipped):
			t.Fatalf("%q is not text", clipped)
		case len(text) <= limit && clipped != text:
			t.Fatalf("%q was changed to %q", text, clipped)
		}
		var missing int
		if i := strings.Index(clipped, "\n[... "); len(text) > limit && i >= 0 {
			_, err := fmt.Sscanf(clipped[i:], "\n[... %d bytes left out ...]\n", &missing)
			rest := len(clipped) - len(fmt.Sprintf("\n[... %d bytes left out ...]\n", missing))
			if err != nil || missing+rest != len(text) {
				t.Fatalf("%d missing and %d left of %d: %v", missing, rest, len(text), err)
			}
		}
	})
}
