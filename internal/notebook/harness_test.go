package notebook_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the expectations under testdata")
	goleak.VerifyTestMain(m)
}

// updating tells whether expectations are to be rewritten.
func updating() bool {
	return flag.Lookup("update").Value.String() == "true"
}

// golden compares found with what a file has, or rewrites the file.
func golden(t *testing.T, path, found string) {
	t.Helper()
	if updating() {
		require.NoError(t, os.WriteFile(path, []byte(found), 0o600))
		return
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want, got := strings.Split(string(text), "\n"), strings.Split(found, "\n")
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i], "%s:%d; run with -update after a look at it", path, i+1)
	}
	require.Len(t, got, len(want), path)
}
