package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
	"assay/eval/runs"
)

// A program of a command grader that is gone, or can no longer be executed, when the second attempt is
// graded is an error of the grading: the attempt has no verdict, and the run exits with status 1.
func TestCommandGraderThatDisappears(t *testing.T) {
	t.Parallel()
	for name, ending := range map[string]string{
		"is removed":           `rm "$0"`,
		"has no interpreter":   `printf '#!/no/such/interpreter\n' > "$0"`,
		"may not be executed":  `chmod a-x "$0"`,
		"is a folder meantime": `rm "$0"; mkdir "$0"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			program := writeFile(t, filepath.Join(dir, "check.sh"), "#!/bin/sh\n"+ending+"\n"+`echo '{"passed": true}'`+"\n")
			require.NoError(t, os.Chmod(program, 0o700))
			file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "a", "task": "t", "oracle": {"cells": ["1"], "answer": 1}, "graders": [{"type": "command", "config": {"argv": ["./check.sh"]}}]}`)
			out := filepath.Join(dir, "run")
			cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "oracle", "-j", "1", "--epochs", "2", "--out", out)
			text, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, exit.StatusFailed, cmd.ProcessState.ExitCode(), string(text))
			attempts := readAttempts(t, out)
			require.Len(t, attempts, 2)
			for _, a := range attempts {
				require.Equal(t, runs.OutcomeCompleted, a.Outcome, a.Detail)
			}
			require.NotNil(t, attempts[0].Passed, "%s", attempts[0].Graders)
			require.True(t, *attempts[0].Passed, "%s", attempts[0].Graders)
			require.Nil(t, attempts[0].Grading)
			require.Nil(t, attempts[1].Passed, "%s", attempts[1].Graders)
			require.NotNil(t, attempts[1].Grading)
			require.Equal(t, "command", attempts[1].Grading.ErrorKind)
			require.Contains(t, string(text), "grading errors 1")
		})
	}
}

// An answer that a grader cannot compare is a failure of the attempt, with a verdict, and no error of
// the grading.
func TestTypeErrorIsAVerdict(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "a", "task": "t", "oracle": {"cells": ["1"], "answer": {"cell_types_predicted": 3}},
		"graders": [{"type": "label_set_jaccard", "config": {"ground_truth_labels": ["Neuron"]}}]}`)
	out := filepath.Join(dir, "run")
	cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "oracle", "--out", out)
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exit.StatusFailed, cmd.ProcessState.ExitCode(), string(text))
	lines := readLines(t, filepath.Join(out, "attempts.jsonl"))
	attempts := readAttempts(t, out)
	require.Len(t, attempts, 1)
	require.Equal(t, runs.OutcomeCompleted, attempts[0].Outcome)
	require.NotNil(t, attempts[0].Passed)
	require.False(t, *attempts[0].Passed)
	require.Contains(t, string(attempts[0].Graders[0]), `"kind":"type_error"`)
	for _, line := range lines {
		require.NotContains(t, line, "grading")
	}
}
