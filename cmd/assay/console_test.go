package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The console of docs/consoles.md holds the notebook of a case that assay serve
// has, does what an agent asks for, and ends with the verdict.
func TestConsoleOfTheDocs(t *testing.T) {
	t.Parallel()
	python := pythonWithWebsockets(t)
	for name, tc := range map[string]struct {
		agent   string
		token   []string // flags of both; none is EVAL_SANDBOX=1
		verdict string
		status  int
	}{
		"passed":       {"oracle", nil, "verdict: completed passed 1", 0},
		"not passed":   {"noop", nil, "verdict: stopped_without_answer not passed 0", 1},
		"with a token": {"oracle", []string{"--token", "secret"}, "verdict: completed passed 1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, filepath.Join(t.TempDir(), "case.json"), `{
				"id": "sum", "task": "How much is 6 times 7?", "grader": {"type": "exact", "config": {"ground_truth": 42}},
				"oracle": {"cells": ["x = 6 * 7\nprint(x)"], "answer": 42}}`)
			args := []string{"-u", filepath.Join("..", "..", "docs", "examples", "console.py")}
			args = append(args, serve(t, tc.token, "--agent", tc.agent, "--case", file))
			console := exec.CommandContext(t.Context(), python, append(args, tc.token...)...)
			printed, _ := console.CombinedOutput() // its status says the same as its error
			require.Contains(t, string(printed), tc.verdict)
			require.Equal(t, tc.status, console.ProcessState.ExitCode(), "%s", printed)
			if tc.agent == "oracle" {
				require.Contains(t, string(printed), "agent: create_cell")
				require.Contains(t, string(printed), "42\n", "what the cell printed")
			}
		})
	}
}

// pythonWithWebsockets is a Python that has the library of the example.
func pythonWithWebsockets(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import websockets").Run() == nil {
			return python
		}
	}
	t.Skip("neither python3 nor /usr/bin/python3 has websockets: install Debian's python3-websockets")
	return ""
}

// serve starts assay serve on a free port, without a token as on one's own
// machine, and returns its address. At the end of the test it is told to end, and
// must end well.
func serve(t *testing.T, token []string, args ...string) string {
	t.Helper()
	args = append(append([]string{"serve", "--addr", "localhost:0", "--runs", t.TempDir()}, token...), args...)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "assay", args...)
	if token == nil {
		cmd.Env = append(os.Environ(), "EVAL_SANDBOX=1")
	}
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	told, drained := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(drained)
		defer close(told)
		for in := bufio.NewReader(stderr); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if _, address, ok := strings.Cut(line, "serving at "); ok {
				told <- strings.TrimSpace(address)
			}
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		<-drained
		require.NoError(t, cmd.Wait())
	})
	address, ok := <-told
	require.True(t, ok, "it does not serve")
	return address
}
