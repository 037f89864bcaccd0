package redact

import (
	"regexp"
	"regexp/syntax"
)

// beginningOf returns an expression that matches, at the end of a text, a beginning of what
// whole matches. It fails if whole is too large for that.
func beginningOf(whole *regexp.Regexp) (*regexp.Regexp, error) {
	tree, err := syntax.Parse(whole.String(), syntax.Perl)
	if err != nil {
		return nil, err
	}
	return regexp.Compile("(?:" + beginning(tree.Simplify()).String() + `)\z`)
}

// beginning returns an expression for all beginnings of what e matches, with the empty one.
func beginning(e *syntax.Regexp) *syntax.Regexp {
	switch e.Op {
	case syntax.OpLiteral:
		if len(e.Rune) < 2 {
			return optional(e)
		}
		var runes []*syntax.Regexp
		for _, r := range e.Rune {
			runes = append(runes, &syntax.Regexp{Op: syntax.OpLiteral, Flags: e.Flags, Rune: []rune{r}})
		}
		return beginningOfSequence(runes)
	case syntax.OpConcat:
		return beginningOfSequence(e.Sub)
	case syntax.OpAlternate:
		var ways []*syntax.Regexp
		for _, way := range e.Sub {
			ways = append(ways, beginning(way))
		}
		return &syntax.Regexp{Op: syntax.OpAlternate, Flags: e.Flags, Sub: ways}
	case syntax.OpStar, syntax.OpPlus: // any number of whole ones, then the beginning of one
		whole := &syntax.Regexp{Op: syntax.OpStar, Flags: e.Flags, Sub: e.Sub}
		return &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{whole, beginning(e.Sub[0])}}
	case syntax.OpQuest, syntax.OpCapture:
		return beginning(e.Sub[0])
	default: // matches one character, or none, as \b does
		return optional(e)
	}
}

// beginningOfSequence returns an expression for all beginnings of what the expressions match one
// after the other: a beginning of the first, or all of it and then a beginning of the rest.
func beginningOfSequence(sequence []*syntax.Regexp) *syntax.Regexp {
	if len(sequence) == 0 {
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	first := beginning(sequence[0])
	if len(sequence) == 1 {
		return first
	}
	further := &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{sequence[0], beginningOfSequence(sequence[1:])}}
	return &syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{further, first}}
}

// optional returns an expression that matches what e matches, or nothing.
func optional(e *syntax.Regexp) *syntax.Regexp {
	return &syntax.Regexp{Op: syntax.OpQuest, Sub: []*syntax.Regexp{e}}
}
