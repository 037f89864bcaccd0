package main

import (
	"fmt"
	"strings"

	"assay/eval/runs"
)

// used is what models have taken, of one attempt or of several. The zero value is
// nothing.
type used struct {
	tokens  int64
	usd     float64
	unknown bool // the price of some of it is not known
}

func (u *used) add(usage runs.Usage) {
	tokens := usage.InputTokens + usage.OutputTokens
	u.tokens += tokens
	if usage.CostUSD != nil {
		u.usd += *usage.CostUSD
	} else if tokens > 0 {
		u.unknown = true
	}
}

// String is such as "12.3k tok $0.04"; it is empty where nothing was taken. A
// cost that is not known is left out, one that is known in part has a plus behind
// it.
func (u used) String() string {
	var words []string
	if u.tokens > 0 {
		words = append(words, thousands(u.tokens)+" tok")
	}
	if u.usd > 0 {
		cost := fmt.Sprintf("$%.2f", u.usd)
		if u.unknown {
			cost += "+"
		}
		words = append(words, cost)
	}
	return strings.Join(words, " ")
}

// thousands is a number in at most five characters.
func thousands(n int64) string {
	switch f := float64(n); {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 99_950:
		return fmt.Sprintf("%.1fk", f/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", f/1e3)
	case n < 99_950_000:
		return fmt.Sprintf("%.1fM", f/1e6)
	default:
		return fmt.Sprintf("%.0fM", f/1e6)
	}
}

// usedBy is what one attempt has taken, led by what stands between words of a
// line; empty where it is nothing.
func usedBy(usage runs.Usage) string {
	var u used
	u.add(usage)
	return behind(u.String())
}

func behind(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}
