package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/cmd/assay/internal/exit"
	"assay/eval/batch"
	"assay/eval/runs"
)

// An attempt whose judge cannot be asked has no verdict, which is not the agent's fault. It is graded
// again when the judge answers.
func TestGradingErrorIsGradedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	judge := filepath.Join(dir, "judge.jsonl")
	writeFile(t, judge, `{"error": {"status": 404, "body": "no such model"}}`)
	file := writeFile(t, filepath.Join(dir, "judged.json"), `{"id": "judged", "task": "x", "oracle": {"cells": ["1"], "answer": 1},
		"graders": [{"type": "llm_judge", "config": {"prompt": "Is it good?", "model": "script:judge.jsonl"}}]}`)
	out := filepath.Join(dir, "run")
	run := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), "assay", args...)
		text, _ := cmd.CombinedOutput()
		return string(text), cmd.ProcessState.ExitCode()
	}
	text, status := run("run", file, "--agent", "oracle", "--out", out)
	require.Equal(t, exit.StatusFailed, status, text)
	require.Contains(t, text, "ERROR judged")
	require.Contains(t, text, "grading failed (model): script:judge.jsonl: ")
	require.Contains(t, text, "FAIL 0/1  (failed 0, ungraded 0, infrastructure 0, grading errors 1)")
	var a runs.Attempt
	var summary batch.Summary
	for _, line := range readLines(t, filepath.Join(out, "attempts.jsonl")) {
		switch kind := line["type"]; kind {
		case runs.TypeAttempt:
			decodeLine(t, line, &a)
		case runs.TypeSummary:
			decodeLine(t, line, &summary)
		}
	}
	require.Equal(t, runs.OutcomeCompleted, a.Outcome)
	require.Nil(t, a.Passed)
	require.Nil(t, a.Score)
	require.Equal(t, "model", a.Grading.ErrorKind)
	require.Equal(t, 1, summary.GradingErrors)

	text, status = run("grade", "--run", out, file)
	require.Equal(t, exit.StatusFailed, status, "the judge still refuses: "+text)
	require.Contains(t, text, "grading errors 1")
	writeFile(t, judge, `{"content": "{\"score\": 1, \"passed\": true, \"reasoning\": \"good\"}"}`)
	text, status = run("grade", "--run", out, file)
	require.Equal(t, exit.StatusOK, status, text)
	require.Contains(t, text, "none      -> PASS 1.00  judged")
}

// A run whose graders cannot work is refused before an attempt begins.
func TestRunNeedsItsGraders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "cases.json"), `[
		{"id": "a", "task": "x", "graders": [{"type": "command", "config": {"argv": ["python3", "check.py"]}}]},
		{"id": "b", "task": "x", "graders": [{"type": "llm_judge", "config": {"prompt": "Is it good?", "model": "anthropic/judge"}}]},
		{"id": "c", "task": "x", "requires": ["command:no-such"], "graders": [{"type": "command", "config": {"argv": ["no-such"]}}]}]`)
	cmd := exec.CommandContext(t.Context(), "assay", "run", file, "--agent", "noop", "--out", filepath.Join(dir, "run"))
	cmd.Env = append(os.Environ(), "ANTHROPIC_API_KEY=")
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, exit.StatusUsage, cmd.ProcessState.ExitCode(), string(text))
	require.Contains(t, string(text), `case "a": field graders[0]: the script of the command python3 is missing`)
	require.Contains(t, string(text), `case "b": field graders[0]: the model anthropic/judge: `)
	require.NotContains(t, string(text), `case "c"`)
	require.NoDirExists(t, filepath.Join(dir, "run"))
}

// readLines returns the JSON objects in a file of lines.
func readLines(t *testing.T, path string) (lines []map[string]any) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	for decoder := json.NewDecoder(file); decoder.More(); {
		var line map[string]any
		require.NoError(t, decoder.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

func decodeLine(t *testing.T, line map[string]any, into any) {
	t.Helper()
	text, err := json.Marshal(line)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}
