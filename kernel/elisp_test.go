package kernel_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"assay/kernel"
)

// resolveElisp finds Emacs. Without one the test is skipped, but in CI.
func resolveElisp(t *testing.T) *kernel.Emacs {
	t.Helper()
	if _, err := exec.LookPath("emacs"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("emacs is not installed: nothing of the Emacs Lisp kernel is tested here (package emacs-nox)")
	}
	e, err := kernel.ResolveEmacs(t.Context(), "", t.TempDir())
	require.NoError(t, err)
	return e
}

func TestResolveElisp(t *testing.T) {
	t.Parallel()
	e := resolveElisp(t)
	require.Regexp(t, `^\d+\.\d+`, e.Version)
	require.True(t, filepath.IsAbs(e.Executable))
	folder := e.Argv()[slices.Index(e.Argv(), "--directory")+1]
	sources, err := filepath.Glob(filepath.Join(folder, "*.el"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	for _, source := range sources {
		require.FileExists(t, source+"c", "it is compiled")
	}
	require.Contains(t, e.Paths(), folder)
	for _, path := range e.Paths() {
		require.True(t, filepath.IsAbs(path), path)
	}
}

func TestResolveElispSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"missing":        {"", "the Emacs Lisp kernel needs Emacs 28 or newer (package emacs-nox): "},
		"old":            {"echo emacs 27.2 json", "is Emacs 27.2: the Emacs Lisp kernel needs 28 or newer with native JSON (package emacs-nox)"},
		"without JSON":   {"echo emacs 29.1 bare", "is Emacs 29.1: the Emacs Lisp kernel needs 28 or newer with native JSON (package emacs-nox)"},
		"no Emacs":       {"echo hello; echo trouble >&2; exit 3", "is no Emacs that runs: it printed \"hello\\n\" \"trouble\\n\"\nexit status 3"},
		"cannot compile": {"echo emacs 30.1 json; echo disk full >&2; exit 1", "compile the Emacs Lisp kernel with "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			emacs := filepath.Join(dir, "emacs")
			if c.script != "" {
				require.NoError(t, os.WriteFile(emacs, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700))
			}
			_, err := kernel.ResolveEmacs(t.Context(), emacs, dir)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// struck runs an interrupter and keeps the times of its signals.
type struck struct {
	*kernel.Interrupter
	began time.Time
	at    []time.Duration
}

func strike() *struck {
	s := &struck{began: time.Now()}
	s.Interrupter = kernel.NewInterrupter(-1, func(sig syscall.Signal) error {
		if sig == syscall.SIGUSR2 {
			s.at = append(s.at, time.Since(s.began))
		}
		return nil
	})
	return s
}

func (s *struck) sent(kind, field, id string) {
	s.Sent(fmt.Appendf(nil, `{"type":%q,%q:%q}`, kind, field, id))
}

func (s *struck) received(kind, field, id string) {
	s.Received(fmt.Appendf(nil, `{"type":%q,%q:%q}`, kind, field, id))
}

func TestInterrupterStrikesUntilTheRunEnds(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]struct{ begin, stop, end func(*struck) }{
		"cell": {
			func(s *struck) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *struck) { s.sent("stop_cell", "cell_id", "a") },
			func(s *struck) { s.received("cell_result", "cell_id", "a") },
		},
		"disposed": {
			func(s *struck) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *struck) { s.sent("dispose_cell", "cell_id", "a") },
			func(s *struck) { s.received("cell_result", "cell_id", "a") },
		},
		"code": {
			func(s *struck) { s.sent("execute_code", "agent_tx_id", "e") },
			func(s *struck) { s.sent("stop_cell", "agent_tx_id", "e") },
			func(s *struck) { s.received("execute_code_response", "agent_tx_id", "e") },
		},
		"stopped before its start was heard of": {
			func(s *struck) { s.sent("run_cell", "cell_id", "a"); s.sent("stop_cell", "cell_id", "a") },
			func(s *struck) { s.received("start_cell", "cell_id", "a") },
			func(s *struck) { s.received("cell_result", "cell_id", "a") },
		},
		"stopped twice": {
			func(s *struck) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *struck) { s.sent("stop_cell", "cell_id", "a"); s.sent("stop_cell", "cell_id", "a") },
			func(s *struck) { s.received("cell_result", "cell_id", "a") },
		},
		"closed": {
			func(s *struck) { s.sent("run_cell", "cell_id", "a"); s.received("start_cell", "cell_id", "a") },
			func(s *struck) { s.sent("stop_cell", "cell_id", "a") },
			func(s *struck) { s.Close() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := strike()
				defer s.Close()
				run.begin(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
				require.Empty(t, s.at)
				run.stop(s)
				time.Sleep(3500 * time.Millisecond) //nolint:forbidigo // in a bubble
				run.end(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
				m := time.Minute
				require.Equal(t, []time.Duration{m, m + time.Second, m + 2*time.Second, m + 3*time.Second}, s.at)
			})
		})
	}
}

func TestInterrupterLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*struck){
		"what waits":            func(s *struck) { s.sent("run_cell", "cell_id", "b"); s.sent("stop_cell", "cell_id", "b") },
		"code that waits":       func(s *struck) { s.sent("execute_code", "agent_tx_id", "e"); s.sent("stop_cell", "agent_tx_id", "e") },
		"what was never sent":   func(s *struck) { s.sent("stop_cell", "cell_id", "x"); s.sent("stop_cell", "agent_tx_id", "x") },
		"a request of the name": func(s *struck) { s.sent("stop_cell", "agent_tx_id", "a") },
		"no message":            func(s *struck) { s.Sent([]byte(`{"type":"stop_cell","cell_id":"a"`)) },
		"a question":            func(s *struck) { s.sent("ping", "cell_id", "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := strike()
				defer s.Close()
				s.sent("run_cell", "cell_id", "a")
				s.received("start_cell", "cell_id", "a")
				run(s)
				time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
				require.Empty(t, s.at)
			})
		})
	}
}

// What ran to its end is not stopped when it comes again.
func TestInterrupterForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := strike()
		defer s.Close()
		for range 2 {
			s.sent("run_cell", "cell_id", "a")
		}
		s.received("start_cell", "cell_id", "a")
		s.sent("stop_cell", "cell_id", "a")
		s.received("cell_result", "cell_id", "a")
		s.received("start_cell", "cell_id", "a")
		time.Sleep(time.Minute) //nolint:forbidigo // in a bubble
		require.Len(t, s.at, 1)
	})
}

func TestDescendants(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'sleep 600 & echo $!; wait' & echo $!; wait")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
		require.Error(t, cmd.Wait())
	})
	var want []int
	for len(want) < 2 {
		var pid int
		_, err := fmt.Fscan(out, &pid)
		require.NoError(t, err)
		want = append(want, pid)
	}
	got := kernel.Descendants(cmd.Process.Pid)
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
	require.Empty(t, kernel.Descendants(want[len(want)-1]))
	require.Empty(t, kernel.Descendants(1<<30))
}
