package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ctrl-C ends the wait for an answer, and that is no error to tell of.
func TestCO13_CtrlC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"soul", "user", "telos", "context", "harness"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".md"), []byte("text"), 0o600))
	}
	script, calls := filepath.Join(dir, "script.jsonl"), filepath.Join(dir, "calls")
	require.NoError(t, os.WriteFile(script, []byte(`{"content":"late","delay_ms":600000}`), 0o600))
	stderr := &heard{changed: make(chan struct{})}
	cmd := exec.CommandContext(t.Context(), "assay", "agent", "ask", "When?", "--memory-dir", dir, "--model", "script:"+script, "--record", calls)
	cmd.Stderr = stderr
	require.NoError(t, cmd.Start())
	asks := func() bool { // the file is made when signals are heeded
		_, err := os.Stat(calls)
		return err == nil
	}
	require.Eventually(t, asks, patience, 5*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	text, _ := stderr.read()
	require.NotContains(t, text, "Error: ")
}
