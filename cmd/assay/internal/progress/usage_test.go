package progress

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// usageWithTokens returns the usage of an attempt; a negative usd is an unknown cost.
func usageWithTokens(in, out int64, usd float64) runs.Usage {
	u := runs.Usage{InputTokens: in, OutputTokens: out}
	if usd >= 0 {
		u.CostUSD = &usd
	}
	return u
}

// An unknown cost is left out; a cost that is known for only some tokens ends with "+".
func TestUsageText(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]runs.Usage{
		"":                   {{}},
		"999 tok":            {usageWithTokens(990, 9, -1)},
		"1.0k tok $0.10":     {usageWithTokens(1000, 0, 0.1)},
		"1.0k tok $0.045":    {usageWithTokens(1000, 0, 0.045)},
		"1.0k tok $0.0047":   {usageWithTokens(1000, 0, 0.004677)},
		"1.0k tok $0.000000": {usageWithTokens(1000, 0, 1e-9)},
		"99.9k tok $1.50":    {usageWithTokens(99_000, 949, 1.5)},
		"100k tok $2.00+":    {usageWithTokens(99_000, 949, 2), usageWithTokens(1, 0, -1)},
		"1.0M tok $12.00":    {usageWithTokens(999_000, 900, 10), usageWithTokens(0, 0, -1), usageWithTokens(0, 0, 2)},
		"123M tok":           {usageWithTokens(123_456_789, 0, -1)},
	} {
		var u usage
		for _, one := range all {
			u.add(one)
		}
		require.Equal(t, want, u.String())
	}
}
