package rescore_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
)

// Lines up to the maximum length, newline included, are read whole; longer ones are skipped.
// Blank lines are skipped but count in the line numbers.
func TestLineReader(t *testing.T) {
	t.Parallel()
	const maxBytes = 300_000
	in := strings.Join([]string{
		"a", "", " \t\r", strings.Repeat("x", 65535), strings.Repeat("x", 65536), strings.Repeat("x", maxBytes-1),
		strings.Repeat("x", maxBytes), strings.Repeat(" ", maxBytes), strings.Repeat("x", 3*maxBytes), "z\r", strings.Repeat("y", maxBytes),
	}, "\n")
	want := []string{"1: 2", "4: 65536", "5: 65537", "6: 300000", "7: too long", "8: too long", "9: too long", "10: 3", "11: 300000"}
	got, err := rescore.SplitLinesForTest(strings.NewReader(in), maxBytes)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = rescore.SplitLinesForTest(iotest.HalfReader(strings.NewReader(in+"y")), maxBytes)
	require.NoError(t, err)
	require.Equal(t, append(want[:8:8], "11: too long"), got)
	got, err = rescore.SplitLinesForTest(iotest.TimeoutReader(strings.NewReader(in)), maxBytes)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.Equal(t, want[:1], got)
}
