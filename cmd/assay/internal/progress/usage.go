package progress

import (
	"fmt"
	"strings"

	"assay/eval/runs"
)

// usage is the tokens and cost of model calls, of one attempt or of several. The zero
// value is none.
type usage struct {
	tokens       int64
	usd          float64
	priceUnknown bool // of some of the tokens
}

// usageOfAttempt returns the usage of one attempt.
func usageOfAttempt(one runs.Usage) (u usage) {
	u.add(one)
	return u
}

// add adds the usage of one attempt.
func (u *usage) add(one runs.Usage) {
	tokens := one.InputTokens + one.OutputTokens
	u.tokens += tokens
	if one.CostUSD != nil {
		u.usd += *one.CostUSD
	} else if tokens > 0 {
		u.priceUnknown = true
	}
}

// String returns tokens and cost, such as "12.3k tok $0.04"; "" if there are none. An
// unknown cost is left out; a cost that is known for only some of the tokens ends with "+".
func (u usage) String() string {
	var words []string
	if u.tokens > 0 {
		words = append(words, formatThousands(u.tokens)+" tok")
	}
	if u.usd > 0 {
		cost := formatUSD(u.usd)
		if u.priceUnknown {
			cost += "+"
		}
		words = append(words, cost)
	}
	return strings.Join(words, " ")
}

// formatUSD returns an amount with two decimals or, below 10 cents, with two digits that say something: "$0.0047".
func formatUSD(usd float64) string {
	decimals := 2
	for tenth := usd * 10; tenth < 1 && decimals < 6; tenth *= 10 {
		decimals++
	}
	return fmt.Sprintf("$%.*f", decimals, usd)
}

// formatThousands returns n in at most five characters, such as "12.3k" or "1.5M".
func formatThousands(n int64) string {
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

// withIndent returns text behind two spaces; "" stays empty.
func withIndent(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}
