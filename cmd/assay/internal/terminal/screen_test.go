package terminal

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"assay/cmd/assay/internal/terminal/terminaltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Written text stays above the lines at the bottom, complete and in order, whether it
// comes as whole lines or as empty writes. The bottom is drawn at most five times a second.
// After Clear only the written text is left.
func TestScreenKeepsLinesAtTheBottom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shown := terminaltest.NewEmulator(40, 10)
		screen := &Screen{out: shown, size: shown.Size}
		writer := NewAsyncWriter(screen)
		_, _ = fmt.Fprintln(writer, "before")
		synctest.Wait()
		require.Equal(t, "before\n", shown.Text())

		drawings := 0
		screen.ShowBottomLines(func(int, int) []string {
			drawings++
			return []string{"first", strings.Repeat("long ", 20), fmt.Sprintf("drawing %d", drawings)}
		})
		writesBefore := shown.WriteCount()
		var want strings.Builder
		for i := range 100 { // for one second
			line := fmt.Sprintf("%s line i=%d\n", time.Now().Format("15:04:05.000"), i)
			_, _ = io.WriteString(writer, line)
			want.WriteString(line)
			_, _ = writer.Write(nil)
			<-time.After(10 * time.Millisecond)
		}
		require.LessOrEqual(t, shown.WriteCount()-writesBefore, 5)
		require.Contains(t, shown.Text(), "\nfirst\n"+strings.Repeat("long ", 7)+"lon…\ndrawing 5\n")

		screen.ClearBottomLines(writer)
		require.Equal(t, "before\n"+want.String(), shown.Text())
		_, _ = fmt.Fprint(writer, "after")
		writer.Close()
		require.True(t, strings.HasSuffix(shown.Text(), "i=99\nafter\n"), shown.Text())
	})
}

// A terminal that has become narrower has broken the lines at the bottom into more rows.
func TestScreenErasesBrokenLinesOfANarrowerTerminal(t *testing.T) {
	t.Parallel()
	shown := terminaltest.NewEmulator(40, 10)
	screen := &Screen{out: shown, size: shown.Size}
	_, _ = fmt.Fprintln(screen, "before")
	screen.ShowBottomLines(func(int, int) []string { return []string{"short", strings.Repeat("x", 35)} })
	_, _ = fmt.Fprintln(screen, "meanwhile")
	shown.Narrow(10)
	require.Equal(t, "before\nmeanwhile\nshort\n"+strings.Repeat(strings.Repeat("x", 10)+"\n", 3)+"xxxxx\n", shown.Text())
	screen.ClearBottomLines(screen)
	require.Equal(t, "before\nmeanwhile\n", shown.Text())
}

// Clear before the first drawing loses no text and returns at once.
func TestScreenClearedBeforeTheFirstDrawing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shown := terminaltest.NewEmulator(40, 10)
		screen := &Screen{out: shown, size: shown.Size, drawnAt: time.Now()}
		writer := NewAsyncWriter(screen)
		screen.ShowBottomLines(func(int, int) []string { return []string{"never"} })
		_, _ = fmt.Fprint(writer, "held back")
		synctest.Wait()
		require.Empty(t, strings.TrimSpace(shown.Text()))
		start := time.Now()
		screen.ClearBottomLines(writer)
		require.Zero(t, time.Since(start))
		require.Equal(t, "held back\n", shown.Text())
		writer.Close()
	})
}

// A terminal that takes no text delays writes not at all, and Close by no more than its
// timeout.
func TestAsyncWriterDoesNotWaitForAStoppedTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		screen := &Screen{out: out, size: func() (int, int) { return 40, 10 }}
		writer := NewAsyncWriter(screen)
		screen.ShowBottomLines(func(int, int) []string { return []string{"stuck"} })
		for range 2 * maxQueuedWrites {
			_, _ = fmt.Fprintln(writer, "line")
		}
		start := time.Now()
		go func() { // ends the stuck write, as the end of the process would
			<-time.After(10 * time.Second)
			_ = in.Close()
		}()
		writer.Close()
		require.Equal(t, flushTimeout, time.Since(start))
		<-writer.drained
	})
}

// The lines of dropped writes are counted in front of the next write that is queued.
func TestAsyncWriterCountsDroppedLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		writer := NewAsyncWriter(out)
		for i := range maxQueuedWrites + 4 { // one of them is being written
			_, _ = fmt.Fprintln(writer, i)
			if i == 0 {
				synctest.Wait()
			}
		}
		_, _ = fmt.Fprint(writer, "two\nlines\n")
		text := make(chan string)
		go func() {
			all, _ := io.ReadAll(in)
			text <- string(all)
		}()
		synctest.Wait()
		_, _ = fmt.Fprintln(writer, "last")
		writer.Close()
		require.NoError(t, out.Close())
		require.Contains(t, <-text, "\n1024\n[5 lines were left out here]\nlast\n")
	})
}

func FuzzFit(f *testing.F) {
	f.Add("細胞", 3)
	f.Add("e\u0301\u0301", 1)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		if columns < 1 {
			return
		}
		cut := Fit(text, columns)
		require.LessOrEqual(t, Width(cut), columns)
		if Width(text) <= columns {
			require.Equal(t, text, cut)
		}
	})
}

func TestPrintableReplacesControlCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\uFFFD[2J\uFFFDé→\uFFFD", Printable("a\x1b[2J\né→\u202e"))
}

func TestOneLineKeepsBothEnds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c", OneLine(" a\n\tb  c\n"))
	long := OneLine(strings.Repeat("x", 400) + strings.Repeat("é", 200))
	require.Equal(t, strings.Repeat("x", 100)+" … "+strings.Repeat("é", 200), long)
}
