package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/eval/attempt"
	"assay/eval/batch"
	"assay/eval/runs"
)

// What is written stands above what is shown, whole and in its order, however it
// comes; what is shown is drawn five times a second and no more; at the end only
// what was written is left.
func TestScreen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := newTerminal(40, 10)
		below := &screen{out: seen, size: seen.size}
		through := newPatient(below)
		log := slog.New(&textHandler{out: through, level: slog.LevelInfo})
		_, _ = fmt.Fprintln(through, "before")
		synctest.Wait()
		require.Equal(t, "before\n", seen.text())

		n := 0
		below.show(func(int, int) []string {
			n++
			return []string{"first", strings.Repeat("long ", 20), fmt.Sprintf("drawing %d", n)}
		})
		before := seen.drawings()
		var want strings.Builder
		for i := range 100 { // a second
			log.Info("line", "i", i)
			fmt.Fprintf(&want, "%s INFO line i=%d\n", time.Now().Format("15:04:05.000"), i)
			_, _ = through.Write(nil)
			<-time.After(10 * time.Millisecond)
		}
		require.LessOrEqual(t, seen.drawings()-before, 5)
		require.Contains(t, seen.text(), "\nfirst\n"+strings.Repeat("long ", 7)+"lon…\ndrawing 5\n")

		below.clear(through)
		require.Equal(t, "before\n"+want.String(), seen.text())
		_, _ = fmt.Fprint(through, "after")
		through.close()
		require.True(t, strings.HasSuffix(seen.text(), "i=99\nafter\n"), seen.text())
	})
}

// A terminal that has become narrower has broken what is shown into more rows.
func TestScreenOfANarrowerTerminal(t *testing.T) {
	t.Parallel()
	seen := newTerminal(40, 10)
	below := &screen{out: seen, size: seen.size}
	_, _ = fmt.Fprintln(below, "before")
	below.show(func(int, int) []string { return []string{"short", strings.Repeat("x", 35)} })
	_, _ = fmt.Fprintln(below, "meanwhile")
	seen.resize(10)
	require.Equal(t, "before\nmeanwhile\nshort\n"+strings.Repeat(strings.Repeat("x", 10)+"\n", 3)+"xxxxx\n", seen.text())
	below.clear(below)
	require.Equal(t, "before\nmeanwhile\n", seen.text())
}

// A screen that was never drawn loses nothing, and nobody waits for it.
func TestScreenClearedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := newTerminal(40, 10)
		below := &screen{out: seen, size: seen.size, drawn: time.Now()}
		through := newPatient(below)
		below.show(func(int, int) []string { return []string{"never"} })
		_, _ = fmt.Fprint(through, "held back")
		synctest.Wait()
		require.Empty(t, strings.TrimSpace(seen.text()))
		began := time.Now()
		below.clear(through)
		require.Zero(t, time.Since(began))
		require.Equal(t, "held back\n", seen.text())
		through.close()
	})
}

// A terminal that takes nothing holds up neither results nor the end for long.
func TestScreenOfAStoppedTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		below := &screen{out: out, size: func() (int, int) { return 40, 10 }}
		through := newPatient(below)
		below.show(func(int, int) []string { return []string{"stuck"} })
		for range 2 * stderrQueue {
			_, _ = fmt.Fprintln(through, "line")
		}
		began := time.Now()
		go func() { // it is the program that ends, not the write
			<-time.After(10 * time.Second)
			_ = in.Close()
		}()
		through.close()
		require.Equal(t, stderrFlush, time.Since(began))
		<-through.done
	})
}

// running is a report of that many attempts that run, begun a second apart.
func running(names ...string) *report {
	r := &report{all: 40, began: time.Now(), running: map[string]batch.RunningAttempt{}}
	for i, name := range names {
		r.AttemptStarted(batch.RunningAttempt{Progress: &attempt.Progress{}, CaseID: name, Epoch: 1, StartedAt: time.Now().Add(time.Duration(i) * time.Second)})
	}
	return r
}

func TestBottom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := running("sum", "細胞の数を数える", "a\x1b[2J")
		r.AttemptStarted(batch.RunningAttempt{Progress: &attempt.Progress{}, CaseID: "sum", Epoch: 2, StartedAt: time.Now().Add(30 * time.Second)})
		r.err = io.Discard
		yes, no := true, false
		for _, a := range []runs.Attempt{
			{CaseID: "b", Outcome: runs.OutcomeCompleted, Passed: &yes},
			{CaseID: "c", Outcome: runs.OutcomeCompleted, Passed: &no},
			{CaseID: "d", Outcome: runs.OutcomeAgentExit},
		} {
			r.LineWritten(a)
		}
		<-time.After(90 * time.Second)
		require.Equal(t, []string{
			"  sum                1m30s  beginning (0s)",
			"  細胞の数を数える   1m29s  beginning (0s)",
			"  a\uFFFD[2J              1m28s  beginning (0s)",
			"  sum (epoch 2)       1m0s  beginning (0s)",
			"3/40 done  1 passed  1 failed  1 errors  1m30s  2.0/min",
		}, r.bottom(80, 24))
	})
}

func TestBottomIsShort(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 14 {
		names = append(names, fmt.Sprintf("case-%02d", i))
	}
	for rows, shown := range map[int]int{24: 10, 9: 5, 3: 0} {
		lines := running(names...).bottom(80, rows)
		require.Len(t, lines, shown+2, "of %d rows", rows)
		require.Equal(t, fmt.Sprintf("  and %d more", len(names)-shown), lines[shown])
	}
}

func FuzzFit(f *testing.F) {
	f.Add("細胞", 3)
	f.Add("e\u0301\u0301", 1)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		if columns < 1 {
			return
		}
		cut := fit(text, columns)
		require.LessOrEqual(t, columnsOf(cut), columns)
		if columnsOf(text) <= columns {
			require.Equal(t, text, cut)
		}
	})
}

const twoCases = `[
 {"id": "good", "task": "t", "grader": {"type": "exact", "config": {"ground_truth": {"x": 1}}}, "oracle": ["print('{\"x\": 1}')"]},
 {"id": "bad", "task": "t", "grader": {"type": "exact", "config": {"ground_truth": {"x": 1}}}, "oracle": ["print('{\"x\": 2}')"]}]`

// On a terminal results scroll and nothing else is left; colours are for who
// wants them; what is plain has no control sequences.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env, args        []string
		colours, escapes bool
	}{
		"live":             {[]string{"TERM=xterm", "NO_COLOR="}, nil, true, true},
		"without colours":  {[]string{"TERM=xterm", "NO_COLOR=1"}, nil, false, true},
		"asked for lines":  {[]string{"TERM=xterm", "NO_COLOR="}, []string{"--progress", "plain"}, false, false},
		"a dumb one":       {[]string{"TERM=dumb", "NO_COLOR="}, nil, false, false},
		"objects on it":    {[]string{"TERM=xterm", "NO_COLOR="}, []string{"--json"}, false, false},
		"from environment": {[]string{"TERM=xterm", "ASSAY_PROGRESS=plain"}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, filepath.Join(dir, "cases.json"), twoCases)
			args := append([]string{"run", file, "--agent", "oracle", "-j", "2", "--out", filepath.Join(dir, "run")}, tc.args...)
			shown, _, end := onTerminal(t, tc.env, args...)
			require.Error(t, end(), "one case fails")
			text := shown.text()
			require.Regexp(t, `(?m)^\[./2\] PASS  good  `, text)
			require.Regexp(t, `(?m)^\[./2\] FAIL  bad  `, text)
			require.NotContains(t, text, "/2 done")
			require.Equal(t, tc.escapes, strings.Contains(shown.printed(), "\x1b["), shown.printed())
			require.Equal(t, tc.colours, strings.Contains(shown.printed(), "\x1b[32mPASS \x1b[m"))
			if len(tc.args) == 0 {
				require.Regexp(t, `\nFAIL 1/2  [^\n]*\n`, text)
			}
		})
	}
}

func TestProgressInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, filepath.Join(dir, "case.json"), `{"id": "idle", "task": "t"}`)
	shown, cmd, end := onTerminal(t, []string{"TERM=xterm"}, "run", file, "--agent", "badagent idle", "--out", filepath.Join(dir, "run"))
	await(t, shown, `(?m)^  idle +\d+s  waiting for the agent \(\d+s\)\n0/1 done  0 passed`)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, end())
	require.Equal(t, 128+int(syscall.SIGINT), cmd.ProcessState.ExitCode())
	require.Regexp(t, `(?s)^(?:not enforced .*\n)?1 attempts, .*\nassay: SIGINT: ending what runs .*\n\[1/1\] ERROR idle .*\nFAIL 0/1  .*\n$`, shown.text())
	require.NotContains(t, shown.text(), "/1 done")
}
