package model

import (
	_ "embed" // for the table of prices
	"encoding/json"
	"regexp"
	"strings"
)

//go:embed prices.json
var pricesJSON []byte

// Card is what is known of a model: its price and how much it reads. The table
// of cards is prices.json.
type Card struct {
	Model      string           `json:"model"`   // see [ParseName]; without a date
	Context    int64            `json:"context"` // tokens it can read
	Price      Price            `json:"price"`
	LongPrompt *LongPromptPrice `json:"long"` // where long prompts have a price of their own
}

// Price is in US dollars per million tokens. Writing to the cache is priced for
// an entry that lives five minutes; where it costs nothing of its own it has the
// price of the input that it is.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheWrite float64 `json:"cache_write"`
	CacheRead  float64 `json:"cache_read"`
}

// LongPromptPrice is the price of a call whose prompt has more than Over tokens.
type LongPromptPrice struct {
	OverTokens int64 `json:"over"`
	Price      Price `json:"price"`
}

// FindCard returns the card of a model, see [ParseName]. The name may end
// with a date or with -latest. It returns nil for a model that the table does not
// have: what it costs is then not known. A card is good where the model's own
// provider serves it; see openai.IsThirdParty.
func FindCard(name string) *Card {
	var table []Card
	if err := json.Unmarshal(pricesJSON, &table); err != nil {
		return nil // a test reads every entry
	}
	version := regexp.MustCompile(`^(-latest|-\d{8}|-\d{4}-\d{2}-\d{2})?$`)
	for _, card := range table {
		if rest, ok := strings.CutPrefix(name, card.Model); ok && version.MatchString(rest) {
			return &card
		}
	}
	return nil
}

// CostUSD is what one call costs in US dollars, nil when c is nil.
func (c *Card) CostUSD(u Usage) *float64 {
	if c == nil {
		return nil
	}
	price := c.Price
	if c.LongPrompt != nil && u.PromptTokens() > c.LongPrompt.OverTokens {
		price = c.LongPrompt.Price
	}
	const million = 1e6
	usd := (float64(u.InputTokens)*price.Input + float64(u.OutputTokens)*price.Output +
		float64(u.CacheCreationInputTokens)*price.CacheWrite + float64(u.CacheReadInputTokens)*price.CacheRead) / million
	return &usd
}
