package grading_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/testcases/grading/pyvalue"
	"assay/testcases/grading/pyvalue/pyvaluetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// graderTestRow is an expected result of a grader: for this config and answer, outcome is
// "pass", "fail" or the kind of the error; metrics is an object with some of the
// metrics, "" if there must be none.
type graderTestRow struct{ config, answer, outcome, metrics string }

func runGraderTestRows(t *testing.T, kind string, rows map[string]graderTestRow) {
	t.Helper()
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gradeConfigAndAnswerJSON(t, kind, c.config, c.answer)
			require.Equal(t, c.outcome, resultOutcomeWithErrorKind(got), got.Reasoning)
			if c.metrics == "" {
				require.Zero(t, got.Metrics.Len(), pyvaluetest.MarshalToString(t, got.Metrics))
				require.Zero(t, got.Score)
				return
			}
			for key, want := range pyvaluetest.RequireObject(t, pyvaluetest.MustDecode(t, c.metrics)).All() {
				require.True(t, got.Metrics.Has(key), "%s is not among %s", key, pyvaluetest.MarshalToString(t, got.Metrics))
				require.Equal(t, pyvaluetest.MarshalToString(t, want), pyvaluetest.MarshalToString(t, got.Metrics.Get(key)), key)
			}
		})
	}
}

// keysOfObject returns the keys of a JSON object in their order.
func keysOfObject(o *pyvalue.Object) (names []string) {
	for key := range o.All() {
		names = append(names, key)
	}
	return names
}

// hugeInteger returns the JSON of an integer that is out of range for a float64.
func hugeInteger() string { return "1" + zeroDigits(400) }

func zeroDigits(n int) string { return strings.Repeat("0", n) }

// nextFloatAbove returns the smallest float64 above f as JSON.
func nextFloatAbove(f float64) string { return floatAsJSON(math.Nextafter(f, math.Inf(1))) }
func nextFloatBelow(f float64) string { return floatAsJSON(math.Nextafter(f, math.Inf(-1))) }

func floatAsJSON(f float64) string { return strconv.FormatFloat(f, 'e', -1, 64) }
