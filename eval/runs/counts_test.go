package runs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

func TestCountsGrowWithTheRun(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
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
		{newAttemptLine(runs.OutcomeCompleted, &yes, ""), one(runs.OutcomeCompleted, &want.Passed)},
		{newAttemptLine(runs.OutcomeLimit, &no, ""), one(runs.OutcomeLimit, &want.Failed)},
		{newAttemptLine(runs.OutcomeCompleted, nil, ""), one(runs.OutcomeCompleted, &want.Ungraded)},
		{newAttemptLine(runs.OutcomeKernelExit, nil, ""), one(runs.OutcomeKernelExit, &want.Infrastructure)},
		{newAttemptLine(runs.OutcomeKernelExit, &no, ""), one(runs.OutcomeKernelExit, &want.Failed)},
		{newAttemptLine("of another time", &no, ""), one(runs.OutcomeOther, &want.Failed)},
		{map[string]any{"type": runs.TypeAttempt, "outcome": "completed", "passed": nil, "grading": map[string]any{"error_kind": "model"}}, one(runs.OutcomeCompleted, &want.GradingErrors)},
		{runs.SkippedCase{Type: runs.TypeSkipped}, func() { want.Skipped++ }},
		{map[string]string{"type": "of another time"}, func() {}},
		{map[string]any{"type": runs.TypeSummary, "passed": 1}, func() { want.Finished, want.State = true, runs.StateFinished }},
		{newAttemptLine(runs.OutcomeCompleted, &yes, ""), func() {
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
		require.Equal(t, want, counts, "reading all lines at once")
		require.NoError(t, fresh.Close())
	}
}

// The counts of a run have the same pass rate as its summary: the mean, over the cases, of the
// share of passed attempts, where infrastructure failures count as not passed.
func TestCountsPassRateCostAndDuration(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	yes, no := true, false
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // as of the run
	append1 := func(id string, outcome runs.Outcome, passed *bool, cost float64, minutes int) {
		a := newAttemptLine(outcome, passed, "")
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
	run := s.openRun(t)
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
	require.EqualValues(t, 9*60_000, *counts().DurationMS, "until the last attempt ended")
	whole, err := os.ReadFile(filepath.Join(folder.Dir, "attempts.jsonl"))
	require.NoError(t, err)
	for line, want := range map[string]*int64{
		`{"type":"summary","duration_ms":1234}`: new(int64(1234)), `{"type":"summary","duration_ms":1e308}`: new(int64(540_000)), `{"type":"summary","duration_ms":"x"}`: new(int64(540_000)),
	} {
		s.writeFile(t, "r/attempts.jsonl", string(whole)+line+"\n")
		require.Equal(t, runs.StateFinished, counts().State)
		require.Equal(t, want, counts().DurationMS, line)
		s.writeFile(t, "r/attempts.jsonl", string(whole))
		require.Equal(t, runs.StateInterrupted, counts().State, "the file has become shorter")
	}
	for _, cost := range []string{"null", "-1", `"1"`, "1e999", "[1]"} {
		s.writeFile(t, "r/attempts.jsonl", string(whole)+`{"type":"attempt","outcome":"completed","usage":{"cost_usd":`+cost+"}}\n")
		require.Nil(t, counts().CostUSD, cost)
		s.writeFile(t, "r/attempts.jsonl", string(whole))
	}
}

// The counts of a run folder that was replaced by another one of the same name are those of the
// new folder.
func TestCountsOfReplacedFolder(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	yes := true
	for n := range 3 {
		require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "r")))
		folder := s.createRun(t, "r", 1)
		for range 3 - n {
			require.NoError(t, folder.AppendLine(newAttemptLine(runs.OutcomeCompleted, &yes, "")))
		}
		counts, err := s.openRun(t).Counts(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3-n, counts.Attempts)
	}
}

// A run counts as running exactly as long as its Writer is open, even if nothing is written.
func TestRunIsRunningWhileItsWriterIsOpen(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	_, rel, err := folder.MakeAttemptDir(1, "c", 1, 1)
	require.NoError(t, err)
	run := s.openRun(t)
	for _, want := range []runs.State{runs.StateRunning, runs.StateInterrupted} {
		for range 2 { // asking changes nothing
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
		folder = s.createRun(t, "other-"+string(want), 1) // other open runs do not matter
	}
}

// Damaged lines of attempts.jsonl are counted as unreadable and do not hide other lines.
func TestCountsOfDamagedFile(t *testing.T) {
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
			s := newStoreHarness(t)
			s.writeFile(t, "r/run.json", `{"type":"run","version":1}`)
			s.writeFile(t, "r/attempts.jsonl", c.text)
			run := s.openRun(t)
			for range 2 {
				counts, err := run.Counts(t.Context())
				require.NoError(t, err)
				require.Equal(t, c.passed, counts.Passed)
				require.Equal(t, c.left, counts.Unreadable)
			}
		})
	}
}

// A line of attempts.jsonl that is still being written is neither counted nor unreadable.
func TestCountsIgnoreLineBeingWritten(t *testing.T) {
	t.Parallel()
	s := newStoreHarness(t)
	folder := s.createRun(t, "r", 1)
	file, err := os.OpenFile(filepath.Join(folder.Dir, "attempts.jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer file.Close()
	run := s.openRun(t)
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
