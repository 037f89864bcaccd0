package runs_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// An attempt whose line in attempts.jsonl is damaged counts as unfinished.
func TestAttemptWithDamagedLineIsUnfinished(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	_, rel, err := folder.MakeAttemptDir(1, "c", 1, 1)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	s.writeFile(t, "r/attempts.jsonl", `{"type":"attempts","version":1}`+"\n"+`{"type":"attempt","outcome":"completed","trace":"`+rel+`/trace.jsonl","answer":`+"\n")
	run := s.openRun(t)
	_, err = run.AttemptLine(t.Context(), filepath.Base(rel))
	require.ErrorIs(t, err, runs.ErrNotFound)
	running, err := run.UnfinishedAttempts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Base(rel)}, running)
}

func TestAttemptLineAndUnfinishedAttempts(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	run := s.openRun(t)
	dirs := make([]string, 4)
	for i := range dirs {
		_, rel, err := folder.MakeAttemptDir(i+1, "case", 1, 1)
		require.NoError(t, err)
		dirs[i] = filepath.Base(rel)
	}
	require.NoError(t, folder.AppendLine(runs.SkippedCase{Type: runs.TypeSkipped, Reason: dirs[0]}))
	require.NoError(t, folder.AppendLine(newAttemptLine(runs.OutcomeCompleted, nil, "attempts/"+dirs[2]+"/trace.jsonl")))
	require.NoError(t, folder.AppendLine(newAttemptLine(runs.OutcomeLimit, nil, "attempts/"+dirs[0]+"/trace.jsonl")))

	line, err := run.AttemptLine(t.Context(), dirs[0])
	require.NoError(t, err)
	require.EqualValues(t, 3, line.Number)
	require.Equal(t, dirs[0], runs.AttemptFolderName(line.Text))
	_, err = run.AttemptLine(t.Context(), dirs[1])
	require.ErrorIs(t, err, runs.ErrNotFound)
	running, err := run.UnfinishedAttempts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{dirs[1], dirs[3]}, running)

	require.NoError(t, folder.AppendLine(map[string]any{"type": runs.TypeSummary}))
	running, err = run.UnfinishedAttempts(t.Context())
	require.NoError(t, err)
	require.Empty(t, running)
}

// An attempt has ended when it has its line or its run has ended; a Run that is kept open
// notices that.
func TestHasAttemptEnded(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	run := s.openRun(t)
	ends := func(attempt string) bool {
		ended, err := run.HasAttemptEnded(t.Context(), attempt)
		require.NoError(t, err)
		return ended
	}
	require.False(t, ends("one"))
	require.NoError(t, folder.AppendLine(newAttemptLine(runs.OutcomeCompleted, nil, "attempts/one/trace.jsonl")))
	require.True(t, ends("one"))
	require.False(t, ends("two"))
	require.NoError(t, folder.AppendLine(map[string]any{"type": runs.TypeSummary}))
	require.True(t, ends("two"))
	require.NoError(t, folder.AppendLine(newAttemptLine(runs.OutcomeCompleted, nil, "attempts/three/trace.jsonl")))
	require.False(t, ends("two"), "an attempt after the summary: the run is running again")

	s.writeFile(t, "r/attempts/one/trace.jsonl", "12345")
	size, err := run.TraceSize("one")
	require.NoError(t, err)
	require.EqualValues(t, 5, size)
	for _, name := range []string{"two", "..", "one/../one", ""} {
		_, err = run.TraceSize(name)
		require.ErrorIs(t, err, runs.ErrNotFound, name)
	}
	require.NoError(t, os.Remove(filepath.Join(folder.Dir, "attempts.jsonl")))
	require.True(t, ends("one"), "without attempts.jsonl the run is not running")
}

func TestUnfinishedAttempt(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	run := s.openRun(t)
	dir, rel, err := folder.MakeAttemptDir(12, "a-e1 b", 3, 2)
	require.NoError(t, err)
	name := filepath.Base(rel)
	began, err := run.UnfinishedAttempt(name)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), began.Modified, time.Minute)
	began.Modified = time.Time{}
	want := runs.UnfinishedAttempt{
		Type: "attempt", State: "running", Name: "0012-a-e1-b-e3-t2", Run: "r", CaseSlug: "a-e1-b", Epoch: 3, Try: 2,
		Trace: "attempts/" + name + "/trace.jsonl", Files: []string{},
	}
	require.Equal(t, want, began)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "trace.jsonl"), []byte(`{"type":"trace","started":"2026-01-02T03:04:05Z"}`+"\n{"), 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(dir, "trace.jsonl"), time.Time{}, time.Unix(1e9, 0)))
	began, err = run.UnfinishedAttempt(name)
	require.NoError(t, err)
	want.Started, want.Modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Unix(1e9, 0).UTC()
	want.Files = []string{"attempts/" + name + "/trace.jsonl"}
	require.Equal(t, want, began)

	for _, name := range []string{"0013-a-e1-t1", "case", "", "..", "0012-../x-e1-t1"} {
		_, err = run.UnfinishedAttempt(name)
		require.ErrorIs(t, err, runs.ErrNotFound, name)
	}
}
