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

// measureJournal measures the scheduler and the run folder without attempts.
func measureJournal(t *testing.T, r *report, _ *program) {
	t.Helper()
	const attempts, syncs, rounds = 4000, 500, 5
	bare := make([]float64, 0, rounds)
	durable := map[int][]float64{}
	jobs := []int{8, 32}
	for range rounds {
		bare = append(bare, bareSyncs(t, syncs))
		for _, j := range jobs {
			durable[j] = append(durable[j], durableAttempts(t, attempts, j))
		}
		t.Logf("%.0f syncs/s, %.0f and %.0f attempts/s", bare[len(bare)-1], durable[8][len(bare)-1], durable[32][len(bare)-1])
	}
	r.section("Scheduler and journal alone",
		fmt.Sprintf("%d attempts that do nothing: for each its folder is made, and its line is on disk before its job takes the next. The floor is\n"+
			"one goroutine that appends such a line and syncs, %d times. Medians of %d rounds; ratios are of the medians.", attempts, syncs, rounds))
	table := [][]string{
		{"", "per second", "spread", "ratio", "aim"},
		{"write and sync, one by one", digits(median(bare)), between(bare), "", ""},
	}
	for _, j := range jobs {
		table = append(table, []string{
			"durable attempts, -j " + strconv.Itoa(j), digits(median(durable[j])), between(durable[j]),
			fmt.Sprintf("%.2f x", median(durable[j])/median(bare)), "2000",
		})
	}
	r.table(table...)
}

func between(values []float64) string {
	return digits(percentile(values, 0)) + " to " + digits(percentile(values, 100))
}

// standIn is the result of an attempt that was not made, as large as one.
func standIn(_ context.Context, work attempt.Job) runs.Attempt {
	passed, score := true, 1.0
	return runs.Attempt{
		Type: runs.TypeAttempt, CaseID: work.Case.ID, Epoch: work.Epoch, Try: work.Try, Outcome: runs.OutcomeCompleted,
		Passed: &passed, Score: &score, Answer: []byte(`{"total":3}`), Summary: "The numbers are added up. [EVAL_COMPLETE]",
		Started: time.Now(), Ended: time.Now(), Trace: filepath.Join(work.RelDir, "trace.jsonl"),
	}
}

// durableAttempts is how many attempts a second become durable.
func durableAttempts(t *testing.T, n, jobs int) float64 {
	t.Helper()
	folder, err := runs.Create(filepath.Join(t.TempDir(), "run"), runs.Info{})
	require.NoError(t, err)
	cases := make([]testcases.Case, n)
	for i := range cases {
		cases[i].ID = "case-" + strconv.Itoa(i)
	}
	began := time.Now()
	summary, err := batch.Run(t.Context(), batch.Config{RunWriter: folder, Cases: cases, Jobs: jobs, RunAttempt: standIn})
	took := time.Since(began)
	require.NoError(t, err)
	require.Equal(t, n, summary.Passed)
	require.NoError(t, folder.Close())
	return float64(n) / took.Seconds()
}

// bareSyncs is how many lines a second can be written and synced one by one.
func bareSyncs(t *testing.T, n int) float64 {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "lines"))
	require.NoError(t, err)
	var line bytes.Buffer
	require.NoError(t, runs.EncodeLine(&line, standIn(t.Context(), attempt.Job{Case: testcases.Case{ID: "case-1"}})))
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
