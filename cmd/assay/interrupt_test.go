package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// assay grade answers each line before it reads the next. SIGINT ends it with status 130 while it
// waits for a line and while a grader runs.
func TestGrade_Interrupted(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"waiting for a line": "",
		"grading one":        `{"grader":{"type":"command","config":{"argv":["sh","-c","exec sleep 300"]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "assay", "grade")
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.WriteString(in, `{"id":7,"extract":"summary","answer":"<EVAL_ANSWER>1</EVAL_ANSWER>"}`+"\n"+line+"\n")
			require.NoError(t, err)
			answer, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, `{"id":7,"found":true,"extracted":1,"error":null}`+"\n", answer)

			require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
			_, err = io.Copy(io.Discard, out)
			require.NoError(t, err)
			ended, ok := errors.AsType[*exec.ExitError](cmd.Wait())
			require.True(t, ok)
			require.Equal(t, 130, ended.ExitCode())
		})
	}
}

// SIGINT ends assay agent ask with status 130 and without an error message.
func TestCO13_AskInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"soul", "user", "telos", "context", "harness"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".md"), []byte("text"), 0o600))
	}
	script, calls := filepath.Join(dir, "script.jsonl"), filepath.Join(dir, "calls")
	require.NoError(t, os.WriteFile(script, []byte(`{"content":"late","delay_ms":600000}`), 0o600))
	stderr := newOutputBuffer()
	cmd := exec.CommandContext(t.Context(), "assay", "agent", "ask", "When?", "--memory-dir", dir, "--model", "script:"+script, "--record", calls)
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	isAsking := func() bool { // the recording is created after the signal handler is set up
		_, err := os.Stat(calls)
		return err == nil
	}
	require.Eventually(t, isAsking, waitTimeout, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	text, _ := stderr.read()
	require.NotContains(t, text, "Error: ")
}
