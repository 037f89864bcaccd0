//go:build bench

package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
	"assay/testcases"
)

// measureScheduler measures the scheduler and the run folder with attempts that do
// nothing.
func measureScheduler(t *testing.T, r *report, _ *assayProgram) {
	t.Helper()
	const attempts, syncs, rounds = 4000, 500, 5
	bare := make([]float64, 0, rounds)
	durable := map[int][]float64{}
	jobs := []int{8, 32}
	for range rounds {
		bare = append(bare, syncedLinesPerSecond(t, syncs))
		for _, j := range jobs {
			durable[j] = append(durable[j], durableAttemptsPerSecond(t, attempts, j))
		}
		t.Logf("%.0f syncs/s, %.0f and %.0f attempts/s", bare[len(bare)-1], durable[8][len(bare)-1], durable[32][len(bare)-1])
	}
	r.addSection("Scheduler and run folder alone",
		fmt.Sprintf("%d attempts that do nothing: for each of them its folder is created, and its line is synced to disk before its job takes\n"+
			"the next attempt. The floor is one goroutine that appends such a line and syncs, %d times. Medians of %d rounds; ratios are\n"+
			"of the medians.", attempts, syncs, rounds))
	table := [][]string{
		{"", "per second", "spread", "ratio", "aim"},
		{"append and sync, one by one", formatThreeDigits(median(bare)), formatRange(bare), "", ""},
	}
	for _, j := range jobs {
		table = append(table, []string{
			"durable attempts, -j " + strconv.Itoa(j), formatThreeDigits(median(durable[j])), formatRange(durable[j]),
			fmt.Sprintf("%.2f x", median(durable[j])/median(bare)), "2000",
		})
	}
	r.addTable(table...)
}

// formatRange returns the smallest and the largest value as text.
func formatRange(values []float64) string {
	return formatThreeDigits(percentile(values, 0)) + " to " + formatThreeDigits(percentile(values, 100))
}

// fakeAttempt returns the result of an attempt that did not happen, as large as a typical
// one.
func fakeAttempt(_ context.Context, work attempt.Job) runs.Attempt {
	passed, score := true, 1.0
	return runs.Attempt{
		Type: runs.TypeAttempt, CaseID: work.Case.ID, Epoch: work.Epoch, Try: work.Try, Outcome: runs.OutcomeCompleted,
		Passed: &passed, Score: &score, Answer: []byte(`{"total":3}`), Summary: "The numbers are added up. [EVAL_COMPLETE]",
		Started: time.Now(), Ended: time.Now(), Trace: filepath.Join(work.RelDir, "trace.jsonl"),
	}
}

// durableAttemptsPerSecond runs n attempts that do nothing in a new run folder, jobs at a
// time, and returns how many per second were finished and on disk.
func durableAttemptsPerSecond(t *testing.T, n, jobs int) float64 {
	t.Helper()
	folder, err := runs.Create(filepath.Join(t.TempDir(), "run"), runs.Info{}, nil)
	require.NoError(t, err)
	cases := make([]testcases.Case, n)
	for i := range cases {
		cases[i].ID = "case-" + strconv.Itoa(i)
	}
	began := time.Now()
	summary, err := batch.Run(t.Context(), batch.Config{RunWriter: folder, Cases: cases, Jobs: jobs, RunAttempt: fakeAttempt})
	took := time.Since(began)
	require.NoError(t, err)
	require.Equal(t, n, summary.Passed)
	require.NoError(t, folder.Close())
	return float64(n) / took.Seconds()
}

// syncedLinesPerSecond returns how many lines per second one goroutine can append and
// sync, one by one, measured over n lines.
func syncedLinesPerSecond(t *testing.T, n int) float64 {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "lines"))
	require.NoError(t, err)
	var line bytes.Buffer
	require.NoError(t, runs.EncodeLine(&line, fakeAttempt(t.Context(), attempt.Job{Case: testcases.Case{ID: "case-1"}})))
	began := time.Now()
	for range n {
		_, err := file.Write(line.Bytes())
		require.NoError(t, err)
		require.NoError(t, file.Sync())
	}
	took := time.Since(began)
	require.NoError(t, file.Close())
	return float64(n) / took.Seconds()
}
