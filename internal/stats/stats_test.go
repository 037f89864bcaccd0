package stats_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/stats"
)

func TestMean(t *testing.T) {
	t.Parallel()
	require.True(t, math.IsNaN(stats.Mean(nil)))
	require.InDelta(t, 2.5, stats.Mean([]float64{1, 2, 3, 4}), 0)
	require.InDelta(t, 0.2, stats.Mean([]float64{0.1, 0.2, 0.3}), 1e-12)
}

// The expected values were computed by hand: s = 0.424139 and t(0.975, 6) = 2.446912.
func TestMeanCI95(t *testing.T) {
	t.Parallel()
	ci, ok := stats.MeanCI95([]float64{1, 1, 2. / 3, 2. / 3, 1. / 3, 0, 0})
	require.True(t, ok)
	require.InDelta(t, 0.523810-0.392262, ci.Low, 1e-5)
	require.InDelta(t, 0.523810+0.392262, ci.High, 1e-5)

	ci, ok = stats.MeanCI95([]float64{0, 1})
	require.True(t, ok)
	require.InDelta(t, 0.5-12.7062*0.5, ci.Low, 1e-4, "t(0.975, 1) = 12.7062, s/√2 = 0.5")
	require.Equal(t, stats.Interval{Low: 0, High: 1}, ci.Clamp(0, 1))

	for _, few := range [][]float64{nil, {1}} {
		_, ok = stats.MeanCI95(few)
		require.False(t, ok)
	}
}

func TestPassAtKAndPassHatK(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tries, passed, k int
		atLeastOne, all  float64
	}{
		{1, 1, 1, 1, 1},
		{1, 0, 1, 0, 0},
		{3, 2, 1, 2. / 3, 2. / 3},
		{3, 2, 2, 1, 1. / 3},
		{3, 2, 3, 1, 0},
		{4, 1, 2, 0.5, 0},
		{5, 5, 5, 1, 1},
	} {
		require.InDelta(t, c.atLeastOne, stats.PassAtK(c.tries, c.passed, c.k), 1e-12, "%+v", c)
		require.InDelta(t, c.all, stats.PassHatK(c.tries, c.passed, c.k), 1e-12, "%+v", c)
	}
	require.True(t, math.IsNaN(stats.PassAtK(1, 1, 2)))
	require.True(t, math.IsNaN(stats.PassHatK(1, 1, 2)))
}

func TestBinomialCoefficient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, k int
		want float64
	}{{0, 0, 1}, {5, 0, 1}, {5, 5, 1}, {5, 2, 10}, {3, 5, 0}, {0, 1, 0}, {40, 20, 137846528820}} {
		require.InEpsilon(t, c.want+1, stats.BinomialCoefficient(c.n, c.k)+1, 1e-12, "C(%d, %d)", c.n, c.k)
	}
}
