package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// storeHarness is a folder of runs and a Store that reads it, for tests.
type storeHarness struct {
	dir   string
	store *runs.Store
}

// newStoreHarness returns a harness whose folder of runs does not exist yet.
func newStoreHarness(t *testing.T) *storeHarness {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	return &storeHarness{dir: dir, store: runs.NewStore(dir)}
}

// createRun creates a run that started on this day of January 2026 and returns its Writer,
// which stays open until the test ends.
func (s *storeHarness) createRun(t *testing.T, name string, day int) *runs.Writer {
	t.Helper()
	folder, err := runs.Create(filepath.Join(s.dir, name), runs.Info{
		Started: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Config: map[string]any{"agent": name}, Host: runs.Host{HostName: "here"},
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = folder.Close() })
	return folder
}

// writeFile writes a file; its path is relative to the folder of runs.
func (s *storeHarness) writeFile(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// openRun opens the run with the folder name r and closes it when the test ends.
func (s *storeHarness) openRun(t *testing.T) *runs.Run {
	t.Helper()
	run, err := s.store.Open("r")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	return run
}

// newAttemptLine returns the attempts.jsonl line of an attempt at case c.
func newAttemptLine(outcome runs.Outcome, passed *bool, trace string) runs.Attempt {
	return runs.Attempt{Type: runs.TypeAttempt, CaseID: "c", Outcome: outcome, Passed: passed, Trace: trace}
}

// runNames returns the folder names of listed runs, in the list's order.
func runNames(list []runs.ListedRun) (names []string) {
	for _, listed := range list {
		names = append(names, listed.Name)
	}
	return names
}

func TestListWithoutFolder(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	list, more, err := s.store.List(t.Context(), "", 10)
	require.NoError(t, err)
	require.Empty(t, list)
	require.False(t, more)
	_, err = s.store.Open("any")
	require.ErrorIs(t, err, runs.ErrNotFound)
}

func TestListPagesNewestFirst(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	for day, name := range []string{"b", "d", "a", "c"} {
		s.createRun(t, name, day+1)
	}
	s.createRun(t, "same-day", 4)
	var got []string
	for after, more := "", true; more; {
		var page []runs.ListedRun
		var err error
		page, more, err = s.store.List(t.Context(), after, 2)
		require.NoError(t, err)
		got = append(got, runNames(page)...)
		after = got[len(got)-1]
		if len(got) == 2 {
			s.createRun(t, "newer", 9) // a new run does not move the pages
		}
	}
	require.Equal(t, []string{"same-day", "c", "a", "d", "b"}, got)
	_, _, err := s.store.List(t.Context(), "gone", 2)
	require.ErrorIs(t, err, runs.ErrNotFound)
}

func TestListReportsUnreadableRuns(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	s.createRun(t, "good", 1)
	s.writeFile(t, "no-run/notes.txt", "x")
	s.writeFile(t, "a-file", "x")
	s.writeFile(t, "no-json/run.json", "{")
	s.writeFile(t, "other-version/run.json", `{"type":"run","version":2}`)
	s.writeFile(t, "other-attempts/run.json", `{"type":"run","version":1}`)
	s.writeFile(t, "other-attempts/attempts.jsonl", `{"type":"attempts","version":7}`+"\n")
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "run.json"), []byte(`{"type":"run","version":1}`), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(s.dir, "leads-out")))
	require.NoError(t, os.Symlink("good", filepath.Join(s.dir, "stays-in")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(s.dir, "dangles")))
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "run-json-out"), 0o750))
	require.NoError(t, os.Symlink(filepath.Join(outside, "run.json"), filepath.Join(s.dir, "run-json-out", "run.json")))

	list, _, err := s.store.List(t.Context(), "", 100)
	require.NoError(t, err)
	problems := map[string]string{}
	for _, listed := range list {
		problems[listed.Name] = listed.Problem
		if listed.Problem != "" {
			require.Equal(t, runs.ListedRun{Name: listed.Name, Problem: listed.Problem}, listed, "only Name and Problem are set")
		}
	}
	require.Equal(t, map[string]string{
		"good": "", "stays-in": "",
		"no-json":        `run "no-json": run.json: unexpected end of JSON input`,
		"other-version":  `run "other-version": run.json: not a run of version 1`,
		"other-attempts": `attempts.jsonl: not the attempts of a run of version 1`,
		"leads-out":      `run "leads-out": openat leads-out: path escapes from parent`,
		"run-json-out":   `run "run-json-out": openat run.json: path escapes from parent`,
	}, problems)
}

// Names of runs, attempts and files never lead out of the folder of runs, and only regular
// files are opened.
func TestNamesCannotLeaveTheFolder(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	run := s.openRun(t)
	dir, rel, err := folder.MakeAttemptDir(1, "c", 1, 1)
	require.NoError(t, err)
	attempt := filepath.Base(rel)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("{}\n"), 0o600))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "trace.jsonl")))
	require.NoError(t, os.Symlink("../../run.json", filepath.Join(dir, "in")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o750))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	require.NoError(t, os.Symlink(filepath.Dir(secret), filepath.Join(s.dir, "r", "attempts", "0002-out-e1-t1")))

	for _, name := range []string{"", ".", "..", "a/b", "../r", `..\r`, "r/", "/", "a\x00b"} {
		_, err := s.store.Open(name)
		require.ErrorIs(t, err, runs.ErrNotFound, "run %q", name)
		_, err = run.OpenFile(name, "state.json")
		require.ErrorIs(t, err, runs.ErrNotFound, "attempt %q", name)
		_, err = run.OpenFile(attempt, name)
		require.ErrorIs(t, err, runs.ErrNotFound, "file %q", name)
		_, err = run.OpenTrace(name)
		require.ErrorIs(t, err, runs.ErrNotFound, "trace of %q", name)
		_, err = run.AttemptLine(t.Context(), name)
		require.ErrorIs(t, err, runs.ErrNotFound, "line of %q", name)
	}
	for _, name := range []string{"folder", "pipe", "missing"} {
		_, err := run.OpenFile(attempt, name)
		require.ErrorIs(t, err, runs.ErrNotFound, name)
	}
	_, err = run.OpenFile(attempt, "out")
	require.ErrorContains(t, err, "path escapes from parent")
	_, err = run.OpenTrace(attempt)
	require.ErrorContains(t, err, "path escapes from parent")
	_, err = run.OpenFile("0002-out-e1-t1", "secret")
	require.ErrorContains(t, err, "path escapes from parent")
	_, err = run.UnfinishedAttempt("0002-out-e1-t1")
	require.ErrorContains(t, err, "path escapes from parent")
	file, err := run.OpenFile(attempt, "in")
	require.NoError(t, err, "a link within the run")
	require.NoError(t, file.Close())
}

func TestListFailsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	s.createRun(t, "r", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.store.List(ctx, "", 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.openRun(t).Counts(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// A list of more runs than the Store's cache holds has the right counts.
func TestListOfMoreRunsThanTheCacheHolds(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	for i := range 300 {
		name := fmt.Sprintf("run-%03d", i)
		s.writeFile(t, name+"/run.json", `{"type":"run","version":1,"started":"2026-01-01T00:00:00Z"}`)
		s.writeFile(t, name+"/attempts.jsonl", `{"type":"attempts","version":1}`+"\n"+`{"type":"skipped"}`+"\n")
	}
	for range 2 {
		list, more, err := s.store.List(t.Context(), "", 500)
		require.NoError(t, err)
		require.False(t, more)
		require.Len(t, list, 300)
		for _, listed := range list {
			require.Equal(t, 1, listed.Summary.Skipped)
		}
	}
}

// FuzzAttemptsFile lists a run whose attempts.jsonl has an arbitrary line: that must succeed,
// whatever the line is.
func FuzzAttemptsFile(f *testing.F) {
	f.Add([]byte(`{"type":"attempt","outcome":"completed","passed":true,"trace":"attempts/0001-c-e1-t1/trace.jsonl"}`), "0001-c-e1-t1")
	f.Add([]byte(`{"type":"summary"}`), "")
	f.Add([]byte(`{"trace":"../.."}`), "..")
	f.Add([]byte("{\n{\x00"), "/")
	dir := f.TempDir()
	folder, err := runs.Create(filepath.Join(dir, "r"), runs.Info{}, nil)
	require.NoError(f, err)
	require.NoError(f, folder.Close())
	f.Fuzz(func(t *testing.T, line []byte, attempt string) {
		name := "f"
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(at, 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(at, "run.json"), []byte(`{"type":"run","version":1}`), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(at, "attempts.jsonl"), append([]byte(`{"type":"attempts","version":1}`+"\n"), line...), 0o600))
		list, _, err := runs.NewStore(dir).List(t.Context(), "", 10)
		require.NoError(t, err)
		_, err = json.Marshal(list)
		require.NoError(t, err)
		run, err := runs.NewStore(dir).Open(name)
		require.NoError(t, err)
		defer run.Close()
		_, _ = run.AttemptLine(t.Context(), attempt)
		_, _ = run.UnfinishedAttempt(attempt)
		_, _ = run.UnfinishedAttempts(t.Context())
	})
}
