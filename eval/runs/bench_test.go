package runs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// BenchmarkListRuns lists 200 runs of 1,000 attempts each: with an empty cache, again, and
// again after each run has got one more line.
func BenchmarkListRuns(b *testing.B) {
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
