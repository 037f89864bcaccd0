package rescore_test

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"assay/eval/rescore"
)

// TestLineReader: a line of any length up to the bound, its end included, comes
// whole; a longer one is read past. Blank ones are passed over, and counted.
func TestLineReader(t *testing.T) {
	t.Parallel()
	const longest = 300_000
	in := strings.Join([]string{
		"a", "", " \t\r", strings.Repeat("x", 65535), strings.Repeat("x", 65536), strings.Repeat("x", longest-1),
		strings.Repeat("x", longest), strings.Repeat(" ", longest), strings.Repeat("x", 3*longest), "z\r", strings.Repeat("y", longest),
	}, "\n")
	want := []string{"1: 2", "4: 65536", "5: 65537", "6: 300000", "7: too long", "8: too long", "9: too long", "10: 3", "11: 300000"}
	got, err := rescore.DescribeLines(strings.NewReader(in), longest)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = rescore.DescribeLines(iotest.HalfReader(strings.NewReader(in+"y")), longest)
	require.NoError(t, err)
	require.Equal(t, append(want[:8:8], "11: too long"), got)
	got, err = rescore.DescribeLines(iotest.TimeoutReader(strings.NewReader(in)), longest)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.Equal(t, want[:1], got)
}
