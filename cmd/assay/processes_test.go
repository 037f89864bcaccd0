package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// All sandboxes together leave a quarter of the numbers for processes, however many attempts run at once.
func TestDefaultProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ numbers, attempts, want int }{
		{4 << 20, 8, 4096},
		{32768, 1, 4096},
		{32768, 2, 2048},
		{32768, 16, 256},
		{32768, 64, 256}, // too few to share: a kernel must be able to start
	} {
		got := defaultProcesses(c.numbers, c.attempts)
		require.Equal(t, c.want, got, "%+v", c)
		if got > minDefaultProcesses {
			require.LessOrEqual(t, 3*2*c.attempts*got, c.numbers/4*3, "%+v", c)
		}
	}
}
