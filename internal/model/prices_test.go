package model_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/model"
)

func TestModelCardsArePlausible(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("prices.json")
	require.NoError(t, err)
	var cards []model.ModelCard
	require.NoError(t, json.Unmarshal(data, &cards))
	seen := map[string]bool{}
	for _, card := range cards {
		require.False(t, seen[card.Model], card.Model)
		seen[card.Model] = true
		require.Positive(t, card.Context, card.Model)
		prices := []model.Price{card.Price}
		if card.LongPrompt != nil {
			prices = append(prices, card.LongPrompt.Price)
		}
		for _, p := range prices {
			require.Positive(t, p.CacheRead, card.Model)
			require.Greater(t, p.Input, p.CacheRead, card.Model)
			require.GreaterOrEqual(t, p.CacheWrite, p.Input, card.Model)
			require.Greater(t, p.Output, p.CacheWrite, card.Model)
		}
		require.NotEmpty(t, model.ProviderOf(card.Model), card.Model)
		require.Equal(t, &card, model.FindModelCard(card.Model))
	}
}

func TestFindModelCard(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "anthropic/", "script:x", "anthropic/claude-opus-4-99", "anthropic/claude-opus-4-5x", "claude-opus-5", "openai/claude-opus-5", "openai/gpt", "openai/gpt-5-2025", "openai/gpt-5-pro"} {
		card := model.FindModelCard(name)
		require.Nil(t, card, name)
		require.Nil(t, card.CostUSD(model.Usage{InputTokens: 1}))
	}
	require.Equal(t, "anthropic/claude-haiku-4-5", model.FindModelCard("anthropic/claude-haiku-4-5-20251001").Model)
	require.Equal(t, "anthropic/claude-opus-4", model.FindModelCard("anthropic/claude-opus-4-20250514").Model)
	require.Equal(t, "openai/gpt-5-nano", model.FindModelCard("openai/gpt-5-nano-2025-08-07").Model)
}

func TestCostOfCachedTokens(t *testing.T) {
	t.Parallel()
	u := model.Usage{InputTokens: 1e6, OutputTokens: 1e5, CacheCreationInputTokens: 2e6, CacheReadInputTokens: 4e6}
	require.InDelta(t, 5+2.5+12.5+2, *model.FindModelCard("anthropic/claude-opus-4-5").CostUSD(u), 1e-9)
	require.Equal(t, int64(7_000_000), u.PromptTokens())
	require.Equal(t, int64(7_100_000), u.TotalTokens())
	require.Equal(t, model.Usage{InputTokens: 2e6, OutputTokens: 2e5, CacheCreationInputTokens: 4e6, CacheReadInputTokens: 8e6}, u.Add(u))

	haiku := model.FindModelCard("anthropic/claude-haiku-5-5")
	require.InDelta(t, 0.01, *haiku.CostUSD(model.Usage{InputTokens: 1e5}), 1e-9)
	require.InDelta(t, 0.05, *haiku.CostUSD(model.Usage{InputTokens: 100_001}), 1e-6)
}
