package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
	"assay/testcases"
	"assay/testcases/grading/pyvalue"
)

// No hostile script of testdata/adversary passes its case, each has a verdict, and those that the server
// can notice count as tamper. docs/security.md says of each what it tries.
func TestAdversary(t *testing.T) {
	t.Parallel()
	file := filepath.Join("testdata", "adversary", "cases.json")
	cases, err := testcases.Load([]string{file}, testcases.Options{})
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	require.NoError(t, err)
	byID := map[string]testcases.Case{}
	for _, c := range cases {
		byID[c.ID] = c
		require.Contains(t, string(page), "| `"+c.ID+"` | "+c.Notes+" |")
	}
	out := filepath.Join(t.TempDir(), "run")
	runAssay(t, "run", file, "--agent", "oracle", "--quiet", "--out", out)
	text, err := os.ReadFile(filepath.Join(out, "attempts.jsonl"))
	require.NoError(t, err)
	attempts := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `{"type":"attempt",`) {
			continue // the header or the summary
		}
		var a runs.Attempt
		require.NoError(t, json.Unmarshal([]byte(line), &a))
		attempts++
		isCounted := byID[a.CaseID].Metadata.Get("counted") == pyvalue.Bool(true)
		t.Logf("%-22s %s: outcome %s, tamper %d", a.CaseID, byID[a.CaseID].Notes, a.Outcome, a.TamperSignals)
		require.NotNil(t, a.Passed, "%s has a verdict: %s", a.CaseID, line)
		require.False(t, *a.Passed, line)
		require.True(t, a.TamperSignals > 0 || !isCounted, a.CaseID)
	}
	require.Len(t, cases, attempts)
}
