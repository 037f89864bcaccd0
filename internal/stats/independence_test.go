package stats_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/stats"
)

func TestPairwiseSum(t *testing.T) {
	t.Parallel()
	require.Zero(t, stats.PairwiseSum(nil))
	values := make([]float64, 1000)
	for i := range values {
		values[i] = 0.1
	}
	require.InDelta(t, 100, stats.PairwiseSum(values), 2e-14, "adding from first to last is off by 1.4e-12")
	require.InDelta(t, 6, stats.PairwiseSum([]float64{1, 2, 3}), 0)
}

func TestRankDescending(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	require.Empty(t, stats.RankDescending(nil))
	require.Equal(t, []int{1, 2, 0}, stats.RankDescending([]float64{1, 3, 3}), "equal scores keep their order")
	require.Equal(t, []int{0, 1, 2}, stats.RankDescending([]float64{nan, nan, nan}))
	require.Equal(t, []int{0, 1, 2}, stats.RankDescending([]float64{1, nan, 2}), "as Python's sorted")
	require.Equal(t, []int{0, 2, 1, 3, 4}, stats.RankDescending([]float64{nan, 1, 2, 0, nan}), "as Python's sorted")
	many := make([]float64, 100)
	for i := range many {
		many[i] = float64(i % 7)
	}
	order := stats.RankDescending(many)
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		require.True(t, many[a] > many[b] || many[a] == many[b] && a < b)
	}
}

func TestAUROC(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 1, stats.AUROC([]float64{3, 4}, []float64{1, 2}), 0)
	require.InDelta(t, 0, stats.AUROC([]float64{1, 2}, []float64{3, 4}), 0)
	require.InDelta(t, 0.5, stats.AUROC([]float64{1, 1}, []float64{1}), 0)
	require.InDelta(t, 0.75, stats.AUROC([]float64{0.35, 0.8}, []float64{0.1, 0.4}), 1e-15)
}

// The expected values are those of scipy.stats.chi2_contingency.
func TestChiSquareIndependence(t *testing.T) {
	t.Parallel()
	test, err := stats.ChiSquareIndependence([][]float64{{10, 10, 20}, {20, 20, 20}})
	require.NoError(t, err)
	require.InDelta(t, 2.7777777777777777, test.Statistic, 1e-12)
	require.InDelta(t, 0.24935220877729614, test.P, 1e-12)
	require.Equal(t, 2, test.DegreesOfFreedom)

	test, err = stats.ChiSquareIndependence([][]float64{{1, 2, 3}})
	require.NoError(t, err)
	require.Equal(t, stats.ChiSquareResult{P: 1}, test)

	_, err = stats.ChiSquareIndependence([][]float64{{0, 1}, {0, 2}})
	require.ErrorContains(t, err, "row 1 or column 1 has nothing")
}

// The expected value is that of sklearn.metrics.adjusted_mutual_info_score for the labels
// 0 0 1 1 and 0 0 1 2.
func TestAdjustedMutualInformation(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 0.5714285714285715, stats.AdjustedMutualInformation([][]int{{2, 0, 0}, {0, 1, 1}}), 1e-12)
	require.InDelta(t, 1, stats.AdjustedMutualInformation([][]int{{3, 0}, {0, 4}}), 1e-12)
	require.InDelta(t, 1, stats.AdjustedMutualInformation([][]int{{5}}), 0)
	require.InDelta(t, 0, stats.AdjustedMutualInformation([][]int{{5, 2}}), 0)
	require.InDelta(t, 0, stats.AdjustedMutualInformation([][]int{{1, 0}, {0, 1}}), 0)
	require.Greater(t, stats.EstimateAdjustedMutualInformationSteps([][]int{{1000, 1000}, {1000, 1000}}), stats.EstimateAdjustedMutualInformationSteps([][]int{{1, 1}, {1, 1}}))
}
