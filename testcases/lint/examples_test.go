package lint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/lint"
)

// The example cases have no lint issues.
func TestExamplesLint(t *testing.T) {
	t.Parallel()
	report, err := lint.Check([]string{"../examples"}, lint.CheckOptions{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, report.Summary.Checked, 18)
	for _, result := range report.Results {
		require.Empty(t, result.Issues, result.File)
	}
}
