package builtin

import (
	"iter"
	"strings"
)

// maxOpen is how many braces that are never closed are passed over: each costs a
// look at all that follows.
const maxOpen = 32

// candidates yields the pieces of a text that may be its JSON object, in the order
// in which they are tried: every fenced block, then every outermost pair of
// balanced braces.
func candidates(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, block := range fencedBlocks(text) {
			if !yield(block.text) {
				return
			}
		}
		for open := 0; open < maxOpen; {
			start := strings.IndexByte(text, '{')
			if start < 0 {
				return
			}
			text = text[start:]
			end := balancedEnd(text)
			switch {
			case end == 0:
				open, end = open+1, 1
			case !yield(text[:end]):
				return
			}
			text = text[end:]
		}
	}
}

// balancedEnd is where the brace that a text begins with is closed again, 0 if it
// is not. Braces in strings do not count.
func balancedEnd(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
