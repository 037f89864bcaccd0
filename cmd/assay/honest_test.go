package main

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/testcases"
)

// Honest work passes, and nothing of it counts as tampering: the cases of testdata/honest, of which none is skipped, and the
// examples, with kernels that are started and kernels that are forked. At full size these are some 250 attempts.
func TestHonestAttempts(t *testing.T) {
	t.Parallel()
	python := pythonWith(t, "numpy, pandas, matplotlib")
	honest, err := testcases.Load([]string{"testdata/honest"}, testcases.Options{})
	require.NoError(t, err)
	const examples = "../../testcases/examples"
	epochs := map[string]int{"testdata/honest": 6, examples: 1}
	if testing.Short() {
		epochs = map[string]int{"testdata/honest": 1}
	}
	for folder, n := range epochs {
		for name, args := range map[string][]string{"started": nil, "forked": {"--pool", "4"}} {
			t.Run(filepath.Base(folder)+"/"+name, func(t *testing.T) {
				t.Parallel()
				out := filepath.Join(t.TempDir(), "run")
				runAssay(t, append([]string{"run", folder, "--agent", "oracle", "--python", python, "-j", "4", "--quiet", "--epochs", strconv.Itoa(n), "--out", out}, args...)...)
				attempts := readAttempts(t, out)
				if folder != examples {
					require.Len(t, attempts, len(honest)*n)
				}
				require.NotEmpty(t, attempts)
				for _, a := range attempts {
					require.NotNil(t, a.Passed, "%s has a verdict: %v", a.CaseID, a)
					require.True(t, *a.Passed, "%s: %v", a.CaseID, a)
					require.Zero(t, a.TamperSignals, a.CaseID)
				}
			})
		}
	}
}
