package lint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases/lint"
)

// The example cases have no lint issues, except that some checks look at objects, which must be live.
func TestExamplesLint(t *testing.T) {
	t.Parallel()
	report, err := lint.Check([]string{"../examples"}, lint.CheckOptions{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, report.Summary.Checked, 18)
	for _, result := range report.Results {
		for _, issue := range result.Issues {
			require.Equal(t, "W088", issue.Code, "%s: %s", result.File, issue.Message)
		}
	}
}
