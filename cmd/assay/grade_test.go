package main

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever writes a line and waits gets its answer, and SIGINT ends the wait for
// the next, or for a grader that takes its time.
func TestGradeIsInterrupted(t *testing.T) {
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
