package builtin

import (
	_ "embed" // for the rules of working in code blocks
	"fmt"
	"strings"
)

//go:embed rules_blocks.md
var blocksRules string

// systemPrompt is what the model is told first: who it is, and how its blocks are
// run.
func (b *blocks) systemPrompt() string {
	tags := languageTags(b.language)
	for i, tag := range tags {
		tags[i] = "`" + tag + "`"
	}
	rules := strings.NewReplacer(
		"{language}", b.language, "{tags}", strings.Join(tags, ", "), "{rounds}", fmt.Sprint(b.cfg.MaxEvalIters),
	).Replace(strings.TrimSpace(blocksRules))
	return introduction(b.cfg.Name) + "\n\n" + rules
}
