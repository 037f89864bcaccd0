package trace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/internal/trace"
)

// newFileJournal returns a journal, the writer that writes it to a file until the test ends,
// and the file's path.
func newFileJournal(t *testing.T) (*trace.Journal, *trace.Writer, string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "trace.jsonl"))
	require.NoError(t, err)
	journal := trace.NewJournal("s")
	writer := trace.NewWriter(journal, file, nil)
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := errors.Join(writer.Run(context.Background()), file.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(writing.Wait)
	t.Cleanup(journal.Close)
	return journal, writer, file.Name()
}

// Tails from the start, and from later entries, read every whole line of a file that is being
// written, and then its end.
func TestTailFollowsWriter(t *testing.T) {
	t.Parallel()
	const entries = 3000
	journal, writer, path := newFileJournal(t)
	var reading sync.WaitGroup
	follow := func(from int64) {
		src, err := trace.OpenTail(path, writer.AwaitSize)
		if err != nil {
			t.Error(err)
			return
		}
		reading.Go(func() {
			defer src.Close()
			if err := readTailFrom(t.Context(), src, from, entries); err != nil {
				t.Error(err)
			}
		})
	}
	follow(1)
	large := strings.Repeat("x", 200<<10) // longer than any buffer
	for i := range entries {
		body := fmt.Sprintf(`{"type":"x","n":%d}`, i+1)
		if i%500 == 499 {
			body = fmt.Sprintf(`{"type":"x","n":%d,"text":%q}`, i+1, large)
		}
		journal.Append(newTestEntry(trace.HopSession, body))
		if i == entries/2 {
			follow(entries / 3)
			follow(entries)
		}
	}
	journal.Close()
	reading.Wait()
}

// readTailFrom reads the header with a Tail, skips to entry number from, and reads the entries
// up to number last and the end of the file. It fails if something else comes.
func readTailFrom(ctx context.Context, src *trace.Tail, from, last int64) error {
	line, err := src.Next(ctx)
	if err != nil {
		return err
	}
	if header, err := trace.ParseHeader(line); err != nil || header.Session != "s" {
		return fmt.Errorf("header %q: %w", line, err)
	}
	if err := src.SkipTo(ctx, from); err != nil {
		return err
	}
	for seq := from; seq <= last; seq++ {
		line, err := src.Next(ctx)
		if err != nil {
			return err
		}
		if record, err := trace.ParseRecord(line); err != nil || record.Seq != seq {
			return fmt.Errorf("want entry %d: %q: %w", seq, line[:min(len(line), 80)], err)
		}
	}
	if _, err := src.Next(ctx); !errors.Is(err, io.EOF) {
		return fmt.Errorf("want the end: %w", err)
	}
	return nil
}

// A Tail whose wait has failed in the middle of a line continues in that line at the next call.
func TestTailResumesAfterFailedWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(headerLine+`{"seq":1,`), 0o600))
	gaveUp := errors.New("gave up")
	atEnd := false
	src, err := trace.OpenTail(path, func(_ context.Context, beyond int64) (int64, error) {
		require.EqualValues(t, len(headerLine)+len(`{"seq":1,`), beyond)
		if atEnd {
			return 0, io.EOF
		}
		return 0, gaveUp
	})
	require.NoError(t, err)
	defer src.Close()
	line, err := src.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(headerLine), string(line))
	_, err = src.Next(t.Context())
	require.ErrorIs(t, err, gaveUp)
	atEnd = true
	_, err = src.Next(t.Context())
	require.ErrorIs(t, err, io.EOF, "an incomplete last line is left out")

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString("\"t_ns\":5}\n")
	require.NoError(t, errors.Join(err, file.Close()))
	line, err = src.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, `{"seq":1,"t_ns":5}`, string(line))
}

func TestTailSkipTo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	lines := headerLine + `{"seq":1}` + "\n" + `{"seq":3,"t_ns":1}` + "\n" + `{"t_ns":1,"seq":9}` + "\n" + `{"seq":99999999999999999999,"t_ns":1}` + "\n" + `{"seq":4}` + "\n"
	require.NoError(t, os.WriteFile(path, []byte(lines), 0o600))
	for seq, want := range map[int64]string{0: strings.TrimSpace(headerLine), 1: `{"seq":1}`, 2: `{"seq":3,"t_ns":1}`, 4: `{"seq":4}`} {
		src := openTail(t, path)
		require.NoError(t, src.SkipTo(t.Context(), seq))
		line, err := src.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, string(line))
	}
	require.ErrorIs(t, openTail(t, path).SkipTo(t.Context(), 5), io.EOF)
}

func TestPollFileSize(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		awaitGrowth := trace.PollFileSize(path)
		size, err := awaitGrowth(t.Context(), 4)
		require.NoError(t, err)
		require.EqualValues(t, 5, size)

		begin := time.Now()
		var writing sync.WaitGroup
		defer writing.Wait()
		time.AfterFunc(time.Minute, func() {
			writing.Go(func() {
				file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0) // rewriting would be shorter for a moment
				if err == nil {
					_, err = file.WriteString("6")
					err = errors.Join(err, file.Close())
				}
				if err != nil {
					t.Error(err)
				}
			})
		})
		size, err = awaitGrowth(t.Context(), 5)
		require.NoError(t, err)
		require.EqualValues(t, 6, size)
		require.LessOrEqual(t, time.Since(begin), time.Minute+2*trace.PollInterval)

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errors.New("enough"))
		defer cancel()
		_, err = awaitGrowth(ctx, 6)
		require.EqualError(t, err, "enough")
		_, err = awaitGrowth(t.Context(), 7)
		require.ErrorContains(t, err, "has become shorter")
		require.NoError(t, os.Remove(path))
		_, err = awaitGrowth(t.Context(), 7)
		require.ErrorIs(t, err, os.ErrNotExist)
	})
}

// Every goroutine that waits for a size of the trace file is woken by a write, and by the end
// of the writer.
func TestWriterAwaitSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		journal := trace.NewJournal("s")
		writer := trace.NewWriter(journal, io.Discard, nil)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("gave up"))
		defer cancel()
		_, err := writer.AwaitSize(ctx, 0)
		require.EqualError(t, err, "gave up", "before Run nothing is written")

		written := make(chan error)
		go func() { written <- writer.Run(context.Background()) }()
		size, err := writer.AwaitSize(t.Context(), 0)
		require.NoError(t, err, "the header is written")
		sizes, ends := make(chan int64), make(chan error)
		for range 3 {
			go func() {
				more, err := writer.AwaitSize(context.Background(), size)
				if err != nil {
					more = -1
				}
				sizes <- more
				_, err = writer.AwaitSize(context.Background(), more)
				ends <- err
			}()
		}
		synctest.Wait()
		journal.Append(trace.Entry{Hop: trace.HopSession})
		more := <-sizes
		require.Greater(t, more, size)
		require.Equal(t, more, <-sizes)
		require.Equal(t, more, <-sizes)
		synctest.Wait()
		journal.Close()
		require.NoError(t, <-written)
		for range 3 {
			require.ErrorIs(t, <-ends, io.EOF)
		}
		size, err = writer.AwaitSize(t.Context(), more-1)
		require.NoError(t, err, "what was written can be asked for after the end")
		require.Equal(t, more, size)
	})
}

func TestWriterAwaitSizeEndsWhenWritingFailed(t *testing.T) {
	t.Parallel()
	journal := trace.NewJournal("s")
	writer := trace.NewWriter(journal, fullDisk{}, nil)
	journal.Close()
	require.Error(t, writer.Run(t.Context()))
	_, err := writer.AwaitSize(t.Context(), 0)
	require.ErrorIs(t, err, io.EOF)
}

// openTail opens a Tail of a file that does not grow, and closes it when the test ends.
func openTail(t *testing.T, path string) *trace.Tail {
	t.Helper()
	opened, err := trace.OpenTail(path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened
}
