package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

func took(in, out int64, usd float64) runs.Usage {
	u := runs.Usage{InputTokens: in, OutputTokens: out}
	if usd >= 0 {
		u.CostUSD = &usd
	}
	return u
}

// What was used is short; a cost that is not known is left out, and one that is
// known in part is said to be more.
func TestUsed(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]runs.Usage{
		"":                {{}},
		"999 tok":         {took(990, 9, -1)},
		"1.0k tok $0.00":  {took(1000, 0, 0.001)},
		"99.9k tok $1.50": {took(99_000, 949, 1.5)},
		"100k tok $2.00+": {took(99_000, 949, 2), took(1, 0, -1)},
		"1.0M tok $12.00": {took(999_000, 900, 10), took(0, 0, -1), took(0, 0, 2)},
		"123M tok":        {took(123_456_789, 0, -1)},
	} {
		var u used
		for _, one := range all {
			u.add(one)
		}
		require.Equal(t, want, u.String())
	}
}

// On a terminal of 60 columns it can be read what each attempt does and what it
// waits for, and what it has used, it and all together.
func TestProgressShowsWhatAttemptsDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "patience", "task": "t"}`)
	turns := writeFile(t, filepath.Join(dir, "turns.jsonl"), `{"content": [{"type": "tool_use", "name": "get_context", "input": {}}], "usage": {"input_tokens": 12000, "output_tokens": 345}}
{"error": {"status": 529, "retry_after": 1.5}}
{"content": [{"type": "tool_use", "name": "create_cell", "input": {"position": 0, "source": "import time\ntime.sleep(60)", "auto_run": true}}]}`)
	shown, cmd, end := onTerminal(t, []string{"TERM=xterm"}, "run", file, "--model", "script:"+turns, "--out", filepath.Join(dir, "run"))
	await(t, shown, `(?m)^  patience +\d+s  12.3k tok  waits [12]\S*s, try 2: 529 `)
	await(t, shown, `(?m)^  patience +\d+s  12.3k tok  create_cell runs a cell \(.*\n0/1 done  0 passed  0 failed  0 errors  \S+  12.3k tok\n`)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, end())
	require.Regexp(t, `(?m)^\[1/1\] ERROR patience  \S+s  12.3k tok  cancelled: interrup`, shown.text())
}
