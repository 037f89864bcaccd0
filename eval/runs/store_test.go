package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// shelf is a folder of runs, each with its Folder still open.
type shelf struct {
	dir   string
	store *runs.Store
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs")
	return &shelf{dir: dir, store: runs.NewStore(dir)}
}

func (s *shelf) run(t *testing.T, name string, day int) *runs.Writer {
	t.Helper()
	folder, err := runs.Create(filepath.Join(s.dir, name), runs.Info{
		Started: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Config: map[string]any{"agent": name}, Host: runs.Host{Name: "here"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = folder.Close() })
	return folder
}

func (s *shelf) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// open opens the run "r".
func (s *shelf) open(t *testing.T) *runs.Run {
	t.Helper()
	run, err := s.store.Open("r")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	return run
}

func ended(outcome runs.Outcome, passed *bool, trace string) runs.Attempt {
	return runs.Attempt{Type: runs.TypeAttempt, CaseID: "c", Outcome: outcome, Passed: passed, Trace: trace}
}

func names(list []runs.ListedRun) (names []string) {
	for _, listed := range list {
		names = append(names, listed.Name)
	}
	return names
}

func TestListOfNothing(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	list, more, err := s.store.List(t.Context(), "", 10)
	require.NoError(t, err)
	require.Empty(t, list)
	require.False(t, more)
	_, err = s.store.Open("any")
	require.ErrorIs(t, err, runs.ErrNotFound)
}

func TestListPagesNewestFirst(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for day, name := range []string{"b", "d", "a", "c"} {
		s.run(t, name, day+1)
	}
	s.run(t, "same-day", 4)
	var got []string
	for after, more := "", true; more; {
		var page []runs.ListedRun
		var err error
		page, more, err = s.store.List(t.Context(), after, 2)
		require.NoError(t, err)
		got = append(got, names(page)...)
		after = got[len(got)-1]
		if len(got) == 2 {
			s.run(t, "newer", 9) // what comes meanwhile moves no page
		}
	}
	require.Equal(t, []string{"same-day", "c", "a", "d", "b"}, got)
	_, _, err := s.store.List(t.Context(), "gone", 2)
	require.ErrorIs(t, err, runs.ErrNotFound)
}

func TestListTellsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.run(t, "good", 1)
	s.write(t, "no-run/notes.txt", "x")
	s.write(t, "a-file", "x")
	s.write(t, "no-json/run.json", "{")
	s.write(t, "other-version/run.json", `{"type":"run","version":2}`)
	s.write(t, "other-attempts/run.json", `{"type":"run","version":1}`)
	s.write(t, "other-attempts/attempts.jsonl", `{"type":"attempts","version":7}`+"\n")
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
			require.Equal(t, runs.ListedRun{Name: listed.Name, Problem: listed.Problem}, listed, "nothing but the problem")
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

func TestCountsFollowTheRun(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	yes, no := true, false
	want := runs.Counts{State: runs.StateRunning, ByOutcome: map[runs.Outcome]int{}}
	one := func(outcome runs.Outcome, count *int) func() {
		return func() { want.Attempts++; want.ByOutcome[outcome]++; *count++ }
	}
	for _, step := range []struct {
		line any
		move func()
	}{
		{nil, func() {}},
		{ended(runs.OutcomeCompleted, &yes, ""), one(runs.OutcomeCompleted, &want.Passed)},
		{ended(runs.OutcomeLimit, &no, ""), one(runs.OutcomeLimit, &want.Failed)},
		{ended(runs.OutcomeCompleted, nil, ""), one(runs.OutcomeCompleted, &want.Ungraded)},
		{ended(runs.OutcomeKernelExit, nil, ""), one(runs.OutcomeKernelExit, &want.Infrastructure)},
		{ended(runs.OutcomeKernelExit, &no, ""), one(runs.OutcomeKernelExit, &want.Failed)},
		{ended("of another time", &no, ""), one(runs.OutcomeOther, &want.Failed)},
		{runs.Skipped{Type: runs.TypeSkipped}, func() { want.Skipped++ }},
		{map[string]string{"type": "of another time"}, func() {}},
		{map[string]any{"type": runs.TypeSummary, "passed": 1}, func() { want.Finished, want.State = true, runs.StateFinished }},
		{ended(runs.OutcomeCompleted, &yes, ""), func() {
			one(runs.OutcomeCompleted, &want.Passed)()
			want.Finished, want.State = false, runs.StateRunning
		}},
	} {
		if step.line != nil {
			require.NoError(t, folder.AppendLine(step.line))
		}
		step.move()
		list, _, err := s.store.List(t.Context(), "", 1)
		require.NoError(t, err)
		fresh, err := runs.NewStore(s.dir).Open("r")
		require.NoError(t, err)
		counts, err := fresh.Counts(t.Context())
		require.NoError(t, err)
		require.Equal(t, list[0].Summary.PassRate, counts.PassRate)
		counts.PassRate, counts.DurationMS, list[0].Summary.PassRate, list[0].Summary.DurationMS = nil, nil, nil, nil
		require.Equal(t, &want, list[0].Summary)
		require.Equal(t, want, counts, "who reads all at once comes to the same")
		require.NoError(t, fresh.Close())
	}
}

// The mean over a case's attempts is one observation, and outcomes of the
// infrastructure are failures: the rule of a run's summary.
func TestCountsRateAndCost(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	yes, no := true, false
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // as of the run
	append1 := func(id string, outcome runs.Outcome, passed *bool, cost float64, minutes int) {
		a := ended(outcome, passed, "")
		a.CaseID, a.Usage.CostUSD, a.Ended = id, &cost, began.Add(time.Duration(minutes)*time.Minute)
		require.NoError(t, folder.AppendLine(a))
	}
	append1("a", runs.OutcomeCompleted, &yes, 0.25, 1)
	append1("a", runs.OutcomeCompleted, &no, 0.25, 2)
	append1("b", runs.OutcomeCompleted, &yes, 0, 9)
	append1("b", runs.OutcomeAgentError, nil, 1, 4)
	append1("c", runs.OutcomeKernelExit, nil, 0, 5)
	append1("d", runs.OutcomeKernelExit, &no, 0, 6)
	append1("e", runs.OutcomeCompleted, nil, 0, 7)
	run := s.open(t)
	counts := func() runs.Counts {
		counts, err := run.Counts(t.Context())
		require.NoError(t, err)
		return counts
	}
	require.InDelta(t, 0.25, *counts().PassRate, 1e-12)
	require.InDelta(t, 1.5, *counts().CostUSD, 1e-12)
	require.Greater(t, *counts().DurationMS, int64(time.Hour/time.Millisecond), "until now")

	require.NoError(t, folder.Close())
	require.Equal(t, runs.StateInterrupted, counts().State)
	require.EqualValues(t, 9*60_000, *counts().DurationMS, "until the last attempt had ended")
	whole, err := os.ReadFile(filepath.Join(folder.Dir, "attempts.jsonl"))
	require.NoError(t, err)
	for line, want := range map[string]*int64{
		`{"type":"summary","duration_ms":1234}`: new(int64(1234)), `{"type":"summary","duration_ms":1e308}`: new(int64(540_000)), `{"type":"summary","duration_ms":"x"}`: new(int64(540_000)),
	} {
		s.write(t, "r/attempts.jsonl", string(whole)+line+"\n")
		require.Equal(t, runs.StateFinished, counts().State)
		require.Equal(t, want, counts().DurationMS, line)
		s.write(t, "r/attempts.jsonl", string(whole))
		require.Equal(t, runs.StateInterrupted, counts().State, "the file is shorter than it was")
	}
	for _, cost := range []string{"null", "-1", `"1"`, "1e999", "[1]"} {
		s.write(t, "r/attempts.jsonl", string(whole)+`{"type":"attempt","outcome":"completed","usage":{"cost_usd":`+cost+"}}\n")
		require.Nil(t, counts().CostUSD, cost)
		s.write(t, "r/attempts.jsonl", string(whole))
	}
}

// A folder that was replaced by another of its name is counted anew.
func TestCountsOfAnotherFolderOfThatName(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	yes := true
	for n := range 3 {
		require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "r")))
		folder := s.run(t, "r", 1)
		for range 3 - n {
			require.NoError(t, folder.AppendLine(ended(runs.OutcomeCompleted, &yes, "")))
		}
		counts, err := s.open(t).Counts(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3-n, counts.Attempts)
	}
}

// A run is running as long as a program has its folder open, however silent it is,
// and no longer.
func TestStateOfARun(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	_, rel, err := folder.MakeAttemptDir(1, "c", 1, 1)
	require.NoError(t, err)
	run := s.open(t)
	for _, want := range []runs.State{runs.StateRunning, runs.StateInterrupted} {
		for range 2 { // who looks leaves no trace
			counts, err := run.Counts(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, counts.State)
			began, err := run.UnfinishedAttempt(filepath.Base(rel))
			require.NoError(t, err)
			require.Equal(t, want, began.State)
			ended, err := run.HasAttemptEnded(t.Context(), filepath.Base(rel))
			require.NoError(t, err)
			require.Equal(t, want == runs.StateInterrupted, ended)
		}
		require.NoError(t, folder.Close())
		folder = s.run(t, "other-"+string(want), 1) // what else is open does not matter
	}
}

// What cannot be read in attempts.jsonl hides nothing else, and is told.
func TestCountsOfADamagedFile(t *testing.T) {
	t.Parallel()
	const header, attempt = `{"type":"attempts","version":1}` + "\n", `{"type":"attempt","case_id":"c","outcome":"completed","passed":true,"trace":"attempts/a/trace.jsonl"}` + "\n"
	for name, c := range map[string]struct {
		text   string
		passed int
		left   *runs.UnreadableLines
	}{
		"none":            {header + attempt + attempt, 2, nil},
		"cut":             {header + "{\"type\":\"att\n" + attempt, 1, &runs.UnreadableLines{Count: 1, First: 1}},
		"binary":          {header + attempt + "\x00\xff\x7fELF\n\n" + attempt, 2, &runs.UnreadableLines{Count: 2, First: 2}},
		"foreign":         {header + attempt + "[1]\n{}\n{\"a\":1}\n7\nnull\n{\"type\":3}\n" + attempt, 2, &runs.UnreadableLines{Count: 6, First: 2}},
		"strange verdict": {header + `{"type":"attempt","outcome":["completed"],"passed":true}` + "\n" + `{"type":"attempt","outcome":"completed","passed":"yes"}` + "\n" + attempt, 1, &runs.UnreadableLines{Count: 2, First: 1}},
		"no header":       {"x\n" + attempt, 1, &runs.UnreadableLines{Count: 1, First: 0}},
		"deep":            {header + `{"type":"attempt","outcome":"completed","answer":` + strings.Repeat("[", 1<<20) + "\n" + attempt, 1, &runs.UnreadableLines{Count: 1, First: 1}},
		"no end":          {header + attempt + `{"type":"attempt"`, 1, &runs.UnreadableLines{Count: 1, First: 2}},
		"no end, and cut": {header + "{\n" + attempt + `{"type":"attempt"`, 1, &runs.UnreadableLines{Count: 2, First: 1}},
		"empty":           {"", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			s.write(t, "r/run.json", `{"type":"run","version":1}`)
			s.write(t, "r/attempts.jsonl", c.text)
			run := s.open(t)
			for range 2 {
				counts, err := run.Counts(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.passed, counts.Passed)
				require.Equal(t, c.left, counts.Unreadable)
			}
		})
	}
}

// An attempt whose line is damaged is what its folder tells.
func TestRecordedInADamagedLine(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	_, rel, err := folder.MakeAttemptDir(1, "c", 1, 1)
	require.NoError(t, err)
	require.NoError(t, folder.Close())
	s.write(t, "r/attempts.jsonl", `{"type":"attempts","version":1}`+"\n"+`{"type":"attempt","outcome":"completed","trace":"`+rel+`/trace.jsonl","answer":`+"\n")
	run := s.open(t)
	_, err = run.AttemptLine(t.Context(), filepath.Base(rel))
	require.ErrorIs(t, err, runs.ErrNotFound)
	running, err := run.UnfinishedAttempts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Base(rel)}, running)
}

// A line that is being written is none yet, and nothing is wrong.
func TestCountsWhileALineIsWritten(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	file, err := os.OpenFile(filepath.Join(folder.Dir, "attempts.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer file.Close()
	run := s.open(t)
	counts := func() runs.Counts {
		counts, err := run.Counts(t.Context())
		require.NoError(t, err)
		return counts
	}
	_, err = file.WriteString(`{"type":"skip`)
	require.NoError(t, err)
	require.Nil(t, counts().Unreadable)
	require.Zero(t, counts().Skipped)
	_, err = file.WriteString(`ped"}` + "\n")
	require.NoError(t, err)
	require.Equal(t, 1, counts().Skipped)
	require.Nil(t, counts().Unreadable)
}

func TestRecordedAndRunning(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	run := s.open(t)
	dirs := make([]string, 4)
	for i := range dirs {
		_, rel, err := folder.MakeAttemptDir(i+1, "case", 1, 1)
		require.NoError(t, err)
		dirs[i] = filepath.Base(rel)
	}
	require.NoError(t, folder.AppendLine(runs.Skipped{Type: runs.TypeSkipped, Reason: dirs[0]}))
	require.NoError(t, folder.AppendLine(ended(runs.OutcomeCompleted, nil, "attempts/"+dirs[2]+"/trace.jsonl")))
	require.NoError(t, folder.AppendLine(ended(runs.OutcomeLimit, nil, "attempts/"+dirs[0]+"/trace.jsonl")))

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

// An attempt has ended when it has its line, or when its run is over; who asks
// again and again sees that.
func TestEnded(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	run := s.open(t)
	ends := func(attempt string) bool {
		ended, err := run.HasAttemptEnded(t.Context(), attempt)
		require.NoError(t, err)
		return ended
	}
	require.False(t, ends("one"))
	require.NoError(t, folder.AppendLine(ended(runs.OutcomeCompleted, nil, "attempts/one/trace.jsonl")))
	require.True(t, ends("one"))
	require.False(t, ends("two"))
	require.NoError(t, folder.AppendLine(map[string]any{"type": runs.TypeSummary}))
	require.True(t, ends("two"))
	require.NoError(t, folder.AppendLine(ended(runs.OutcomeCompleted, nil, "attempts/three/trace.jsonl")))
	require.False(t, ends("two"), "the run goes on")

	s.write(t, "r/attempts/one/trace.jsonl", "12345")
	size, err := run.TraceSize("one")
	require.NoError(t, err)
	require.EqualValues(t, 5, size)
	for _, name := range []string{"two", "..", "one/../one", ""} {
		_, err = run.TraceSize(name)
		require.ErrorIs(t, err, runs.ErrNotFound, name)
	}
	require.NoError(t, os.Remove(filepath.Join(folder.Dir, "attempts.jsonl")))
	require.True(t, ends("one"), "a run without the file is nobody's")
}

func TestBegan(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	run := s.open(t)
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

// Names lead nowhere but into the folder.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	folder := s.run(t, "r", 1)
	run := s.open(t)
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
	require.NoError(t, err, "a link within the run is a file like any other")
	require.NoError(t, file.Close())
}

func TestListEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.run(t, "r", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := s.store.List(ctx, "", 1)
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.open(t).Counts(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// More runs than a store remembers are still told right.
func TestMoreThanIsRemembered(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for i := range 300 {
		name := fmt.Sprintf("run-%03d", i)
		s.write(t, name+"/run.json", `{"type":"run","version":1,"started":"2026-01-01T00:00:00Z"}`)
		s.write(t, name+"/attempts.jsonl", `{"type":"attempts","version":1}`+"\n"+`{"type":"skipped"}`+"\n")
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

func FuzzLineOfAttempts(f *testing.F) {
	f.Add([]byte(`{"type":"attempt","outcome":"completed","passed":true,"trace":"attempts/0001-c-e1-t1/trace.jsonl"}`), "0001-c-e1-t1")
	f.Add([]byte(`{"type":"summary"}`), "")
	f.Add([]byte(`{"trace":"../.."}`), "..")
	f.Add([]byte("{\n{\x00"), "/")
	dir := f.TempDir()
	folder, err := runs.Create(filepath.Join(dir, "r"), runs.Info{})
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

// BenchmarkList is a list of 200 runs of 1,000 attempts: the first of a server,
// the same again, and again when each run has a line more.
func BenchmarkList(b *testing.B) {
	const many, attempts = 200, 1000
	dir := b.TempDir()
	line := `{"type":"attempt","run":"r","case_id":"case-%d","epoch":1,"try":1,"outcome":"completed","outcome_detail":"","passed":true,"score":1,"graders":[{"reasoning":"` +
		strings.Repeat("because ", 250) + `"}],"answer":{"n":42},"summary":"","ended":"2026-01-01T00:01:00Z","usage":{"cost_usd":0.01},"trace":"attempts/%04d/trace.jsonl"}` + "\n"
	var text strings.Builder
	text.WriteString(`{"type":"attempts","version":1}` + "\n")
	for n := range attempts {
		fmt.Fprintf(&text, line, n, n)
	}
	path := func(n int, name string) string { return filepath.Join(dir, fmt.Sprintf("run-%03d", n), name) }
	for n := range many {
		require.NoError(b, os.MkdirAll(path(n, "attempts"), 0o750))
		require.NoError(b, os.WriteFile(path(n, "run.json"), []byte(`{"type":"run","version":1,"started":"2026-01-01T00:00:00Z"}`), 0o600))
		require.NoError(b, os.WriteFile(path(n, "attempts.jsonl"), []byte(text.String()), 0o600))
	}
	list := func(store *runs.Store, want int) {
		page, _, err := store.List(b.Context(), "", 500)
		require.NoError(b, err)
		require.Len(b, page, many)
		require.Equal(b, want, page[many/2].Summary.Passed)
	}
	b.Run("first", func(b *testing.B) {
		b.SetBytes(int64(many * text.Len()))
		for b.Loop() {
			list(runs.NewStore(dir), attempts)
		}
	})
	store, want := runs.NewStore(dir), attempts
	list(store, want)
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			list(store, want)
		}
	})
	b.Run("grown", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			for n := range many {
				file, err := os.OpenFile(path(n, "attempts.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
				require.NoError(b, err)
				_, err = fmt.Fprintf(file, line, want, want)
				require.NoError(b, err)
				require.NoError(b, file.Close())
			}
			want++
			b.StartTimer()
			list(store, want)
		}
	})
}
