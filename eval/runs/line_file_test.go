package runs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// createTrace creates a run with one attempt whose trace file has this text, and returns the
// run and the trace's path.
func (s *storeHarness) createTrace(t *testing.T, text string) (run *runs.Run, path string) {
	t.Helper()
	s.createRun(t, "r", 1)
	s.writeFile(t, "r/attempts/0001-c-e1-t1/trace.jsonl", text)
	return s.openRun(t), filepath.Join(s.dir, "r/attempts/0001-c-e1-t1/trace.jsonl")
}

// openCreatedTrace opens the trace file of the attempt that createTrace has made.
func openCreatedTrace(t *testing.T, run *runs.Run) *runs.LineFile {
	t.Helper()
	lines, err := run.OpenTrace("0001-c-e1-t1")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lines.Close()) })
	return lines
}

// readLines returns up to most lines of a file, from number from on, each as "number:text".
func readLines(t *testing.T, lines *runs.LineFile, from int64, most int) (got []string) {
	t.Helper()
	for line, err := range lines.LinesFrom(t.Context(), from) {
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%d:%s", line.Number, line.Text))
		if len(got) == most {
			break
		}
	}
	return got
}

func TestLineFileGrows(t *testing.T) {
	t.Parallel()
	run, path := newStoreHarness(t).createTrace(t, "h\none\n\ncu")
	lines := openCreatedTrace(t, run)
	require.Equal(t, []string{"0:h", "1:one", "2:"}, readLines(t, lines, -5, 10))
	require.Equal(t, []string{"1:one"}, readLines(t, lines, 1, 1))
	require.Empty(t, readLines(t, lines, 3, 10), "a line without newline does not count")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("t\nmore")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.Equal(t, []string{"3:cut"}, readLines(t, lines, 3, 10))
	require.Empty(t, readLines(t, lines, 99, 10))
}

// A LineFile reads lines longer than its buffers whole, and gives the lines after them the
// right numbers.
func TestLineFileWithLongLines(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	lengths := []int{1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 3 << 20, 0, 5}
	for i, n := range lengths {
		text.WriteString(strings.Repeat(string(rune('a'+i)), n) + "\n")
	}
	run, _ := newStoreHarness(t).createTrace(t, text.String())
	lines := openCreatedTrace(t, run)
	for from := range lengths {
		n := from
		for line, err := range lines.LinesFrom(t.Context(), int64(from)) {
			require.NoError(t, err)
			require.EqualValues(t, n, line.Number)
			require.True(t, bytes.Equal(bytes.Repeat([]byte{byte('a' + n)}, lengths[n]), line.Text))
			n++
		}
		require.Equal(t, len(lengths), n)
	}
}

func TestLinesFromFailsWithItsContext(t *testing.T) {
	t.Parallel()
	run, _ := newStoreHarness(t).createTrace(t, strings.Repeat("x\n", 10))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	n := 0
	for _, err := range openCreatedTrace(t, run).LinesFrom(ctx, 0) {
		if n++; n == 3 {
			cancel(fmt.Errorf("enough"))
		}
		if n == 4 {
			require.EqualError(t, err, "enough")
		}
	}
	require.Equal(t, 4, n)
}

// makeNumberedLines returns a text of count lines of 100 bytes that begin with their numbers.
func makeNumberedLines(count int) string {
	var text strings.Builder
	for n := range count {
		fmt.Fprintf(&text, "%-99d\n", n)
	}
	return text.String()
}

// After a file was read once, LinesFrom finds lines in its middle without reading its
// beginning, which the test overwrites.
func TestLinesFromUsesTheIndex(t *testing.T) {
	t.Parallel()
	const count = 50_000
	run, path := newStoreHarness(t).createTrace(t, makeNumberedLines(count))
	first := openCreatedTrace(t, run)
	expect := func(lines *runs.LineFile, n int64) {
		t.Helper()
		got := readLines(t, lines, n, 1)
		require.Len(t, got, 1)
		require.Equal(t, fmt.Sprintf("%d:%d", n, n), strings.TrimSpace(got[0]))
	}
	expect(first, 40_000)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteAt(bytes.Repeat([]byte(" "), 100*29_990), 100*10) // after the bytes that identify the file
	require.NoError(t, err)
	require.NoError(t, file.Close())
	again := openCreatedTrace(t, run) // as another request to the same Store
	for n := int64(count - 1); n > 33_000; n -= 997 {
		expect(again, n)
	}
}

// A file that was overwritten in place by a longer one is read from the beginning, although it has the
// same inode.
func TestLineFileOverwrittenInPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	var files runs.LineFileOpener
	open := func(text string) *runs.LineFile {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) // keeps the inode
		lines, err := files.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = lines.Close() })
		return lines
	}
	before := open(makeNumberedLines(10_000))
	require.Len(t, readLines(t, before, 9_000, 1), 1)
	require.Equal(t, before.CacheKey(), open(makeNumberedLines(10_001)).CacheKey(), "it has grown")
	after := open("another header\n" + strings.Repeat("x\n", 1_000_000))
	require.NotEqual(t, before.CacheKey(), after.CacheKey())
	require.Equal(t, []string{"9000:x"}, readLines(t, after, 9_000, 1))
	_, err := files.Open(filepath.Dir(path))
	require.ErrorIs(t, err, runs.ErrNotFound, "a folder")
}

// Concurrent readers of one file share its line index.
func TestLineFileConcurrentReaders(t *testing.T) {
	t.Parallel()
	const count = 30_000
	run, _ := newStoreHarness(t).createTrace(t, makeNumberedLines(count))
	var all sync.WaitGroup
	for reader := range 8 {
		lines := openCreatedTrace(t, run)
		all.Go(func() {
			for i := range 10 {
				n := int64((reader*7919 + i*3571) % count)
				for line, err := range lines.LinesFrom(t.Context(), n) {
					if err != nil || strings.TrimSpace(string(line.Text)) != fmt.Sprint(n) {
						t.Errorf("line %d: %q, %v", n, line.Text, err)
					}
					break
				}
			}
		})
	}
	all.Wait()
}

// After a file was replaced or truncated, a LineFile reads the new file from its beginning.
func TestLineFileReplacedByRename(t *testing.T) {
	t.Parallel()
	run, path := newStoreHarness(t).createTrace(t, makeNumberedLines(20_000))
	require.Len(t, readLines(t, openCreatedTrace(t, run), 15_000, 1), 1)
	require.NoError(t, os.WriteFile(path+".new", []byte(strings.Repeat("short\n", 500_000)), 0o600))
	require.NoError(t, os.Rename(path+".new", path))
	require.Equal(t, []string{"15000:short"}, readLines(t, openCreatedTrace(t, run), 15_000, 1))
	require.NoError(t, os.WriteFile(path, []byte("a\nb\n"), 0o600)) // truncated in place
	require.Equal(t, []string{"0:a", "1:b"}, readLines(t, openCreatedTrace(t, run), 0, 9))
}

// However many marks are added, a line index has at most maxIndexMarks and finds a mark close
// to every line.
func TestLineIndexIsBounded(t *testing.T) {
	t.Parallel()
	marks := runs.NewLineIndexForTest(10)
	const count = 100_000 // lines of 7 bytes, each a mark at first
	for n := int64(1); n <= count; n++ {
		marks.AddMark(n, 7*n)
	}
	require.LessOrEqual(t, marks.Len(), runs.MaxIndexMarks)
	require.Greater(t, marks.Len(), runs.MaxIndexMarks/4)
	for n := int64(0); n <= count; n += 13 {
		line, offset := marks.MarkBefore(n)
		require.LessOrEqual(t, line, n)
		require.Less(t, n-line, int64(4*count/runs.MaxIndexMarks+2))
		require.Equal(t, 7*line, offset)
	}
}
