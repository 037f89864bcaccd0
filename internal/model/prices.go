package model

import (
	_ "embed" // for the table of prices
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

//go:embed prices.json
var pricesJSON []byte

// ModelCard holds the known facts about a model: its prices and its context size in tokens.
// The table of cards is the embedded file prices.json.
type ModelCard struct {
	Model      string           `json:"model"`   // name of the model as for [ParseName], without a date
	Context    int64            `json:"context"` // size of the context window, in tokens
	Price      Price            `json:"price"`
	LongPrompt *LongPromptPrice `json:"long"` // if long prompts have another price, else nil
}

// Price is what a model costs, in US dollars per million tokens. CacheWrite is the
// price of a cache entry that lives five minutes; if a vendor has no such price, it is
// the price of input.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheWrite float64 `json:"cache_write"`
	CacheRead  float64 `json:"cache_read"`
}

// LongPromptPrice is the price of a model call whose prompt has more than OverTokens
// tokens.
type LongPromptPrice struct {
	OverTokens int64 `json:"over"`
	Price      Price `json:"price"`
}

// modelVersionSuffix matches what may follow a model's name in a longer name of the
// same model: nothing, a date or -latest.
var modelVersionSuffix = regexp.MustCompile(`^(-latest|-\d{8}|-\d{4}-\d{2}-\d{2})?$`)

// modelCards returns the table of cards, which is decoded when it is first needed.
var modelCards = sync.OnceValue(func() (table []ModelCard) { //nolint:gochecknoglobals // constant
	_ = json.Unmarshal(pricesJSON, &table) // a test decodes the table
	return table
})

// FindModelCard returns the card of the model with this name, which may end with a date or
// with -latest, or nil if the table has none. A card holds only if the vendor itself
// serves the model; see openai.IsThirdParty.
func FindModelCard(name string) *ModelCard {
	for _, card := range modelCards() {
		if version, ok := strings.CutPrefix(name, card.Model); ok && modelVersionSuffix.MatchString(version) {
			return &card
		}
	}
	return nil
}

// CostUSD returns the cost of one model call with this usage in US dollars, or nil if c
// is nil.
func (c *ModelCard) CostUSD(u Usage) *float64 {
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
