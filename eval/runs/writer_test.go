package runs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/eval/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// createWriter creates the run my-run in a temporary folder and returns its Writer.
func createWriter(t *testing.T) *runs.Writer {
	t.Helper()
	folder, err := runs.Create(filepath.Join(t.TempDir(), "deep", "my-run"), runs.Info{Config: map[string]any{"agent": "noop"}}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = folder.Close() })
	return folder
}

// readAttemptLines returns the lines of the run's attempts.jsonl.
func readAttemptLines(t *testing.T, folder *runs.Writer) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder.Dir, "attempts.jsonl"))
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestCreateRunFolder(t *testing.T) {
	t.Parallel()
	folder := createWriter(t)
	require.Equal(t, "my-run", folder.Name)
	text, err := os.ReadFile(filepath.Join(folder.Dir, "run.json"))
	require.NoError(t, err)
	var info runs.Info
	require.NoError(t, json.Unmarshal(text, &info))
	require.Equal(t, "run", info.Type)
	require.Equal(t, runs.FormatVersion, info.Version)
	require.Equal(t, map[string]any{"agent": "noop"}, info.Config)
	require.Equal(t, []string{`{"type":"attempts","version":1,"run":"my-run"}`}, readAttemptLines(t, folder))

	_, err = runs.Create(folder.Dir, runs.Info{}, nil)
	require.ErrorIs(t, err, runs.ErrExists)
	require.ErrorContains(t, err, folder.Dir)
	_, err = runs.Create(filepath.Join(folder.Dir, "run.json", "below a file"), runs.Info{}, nil)
	require.ErrorContains(t, err, "not a directory")
}

func TestAppendLineConcurrently(t *testing.T) {
	t.Parallel()
	const writers, each = 20, 25
	folder := createWriter(t)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				line := map[string]string{"id": fmt.Sprintf("%d.%d", w, i), "text": strings.Repeat("<x>", w*i)}
				if err := folder.AppendLine(line); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, line := range readAttemptLines(t, folder)[1:] {
		var got map[string]string
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		seen[got["id"]] = true
	}
	require.Len(t, seen, writers*each)
}

// A line is in attempts.jsonl when AppendLine returns.
func TestAppendLineIsWrittenWhenItReturns(t *testing.T) {
	t.Parallel()
	folder := createWriter(t)
	for i := range 10 {
		require.NoError(t, folder.AppendLine(i))
		require.Len(t, readAttemptLines(t, folder), i+2)
	}
}

func TestAppendLineAfterClose(t *testing.T) {
	t.Parallel()
	folder := createWriter(t)
	require.NoError(t, folder.Close())
	first := folder.AppendLine(1)
	require.ErrorContains(t, first, "attempts.jsonl")
	require.Equal(t, first, folder.AppendLine(2))
	require.ErrorContains(t, folder.AppendLine(func() {}), "unsupported type", "a value without JSON is refused before it is queued")
}

func TestMakeAttemptDir(t *testing.T) {
	t.Parallel()
	folder := createWriter(t)
	for id, want := range map[string]string{
		"group_by.v2":               "0007-group_by.v2-e2-t1",
		"a/../../b c":               "0007-a-..-..-b-c-e2-t1",
		"":                          "0007-case-e2-t1",
		"../..":                     "0007-case-e2-t1",
		"日本":                        "0007-case-e2-t1",
		strings.Repeat("long", 100): "0007-" + strings.Repeat("long", 15) + "-e2-t1",
	} {
		dir, rel, err := folder.MakeAttemptDir(7, id, 2, 1)
		require.NoError(t, err)
		require.Equal(t, filepath.Join("attempts", want), rel, id)
		require.DirExists(t, dir)
		require.Equal(t, filepath.Join(folder.Dir, "attempts"), filepath.Dir(dir), "directly in attempts")
	}
}

func TestIsInfrastructureFailure(t *testing.T) {
	t.Parallel()
	passed := true
	for outcome, want := range map[runs.Outcome]bool{
		runs.OutcomeCompleted: false, runs.OutcomeStopped: false, runs.OutcomeLimit: false, runs.OutcomeAskedQuestion: false,
		runs.OutcomeKernelExit: true, runs.OutcomeAgentError: true, runs.OutcomeAgentExit: true, runs.OutcomeConsoleLost: true,
		runs.OutcomeHarnessError: true, runs.OutcomeSetupError: true, runs.OutcomeCancelled: true,
	} {
		a := runs.Attempt{Outcome: outcome}
		require.Equal(t, want, a.IsInfrastructureFailure(), outcome)
	}
	require.False(t, (&runs.Attempt{Outcome: runs.OutcomeKernelExit, Passed: &passed}).IsInfrastructureFailure(), "graded")
}

func TestEncodeLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, runs.EncodeLine(&out, map[string]string{"a": "<b> & c"}))
	require.Equal(t, `{"a":"<b> & c"}`+"\n", out.String())
}
