package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// uninterruptibleCell is Python for a cell that holds the interpreter's lock in C code and blocks
// all signals.
const uninterruptibleCell = "import ctypes, signal\nprint('in C', flush=True)\n" +
	"signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nctypes.PyDLL(None).sleep(600)"

// The server exits within its time limits after SIGTERM, although kernel and agent of a case ignore
// signals and cells run in other sessions. Consoles receive a close frame with the reason, and the
// attempt is cancelled.
func TestServe_ShutdownStopsBusySessions(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "uninterruptible", `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
start_cell(`+"'''"+uninterruptibleCell+"'''"+`)
time.sleep(600)
`)}})
	consoles := []*console{s.connectView(t, "default"), s.connectView(t, "default"), s.connectView(t, "runs"), s.connectView(t, "runs-in-c"), s.connectView(t, "asks"), s.connectView(t, "idle")}
	watch := s.dial(t, "/watch?session=runs", nil)
	consoles[0].agent.awaitItem(t, "the run", hasType("start_cell"))
	consoles[2].runNewCell(t, 0, "import subprocess, time\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('on my way', flush=True)\ntime.sleep(600)")
	consoles[2].agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "on my way"))
	consoles[3].runNewCell(t, 0, uninterruptibleCell)
	consoles[3].agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "in C"))
	consoles[4].queryAgent("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsend(type='agent_status', status='executing')\ndo_action('execute_code', code='import time; time.sleep(600)')")
	consoles[4].agent.awaitItem(t, "the agent at work", hasTypeAndText("agent_status", "executing"))

	// 2 s to stop the cell, 5 s to collect the attempt, 2 s each to end agent and kernel, and
	// some seconds for a slow machine.
	const slack = 4 * time.Second
	require.Less(t, s.stop(t), 2*time.Second+5*time.Second+2*2*time.Second+slack)
	for _, c := range consoles {
		for _, w := range []*wsConn{c.run, c.agent} {
			closed := w.awaitClose(t)
			require.Equal(t, websocket.StatusGoingAway, closed.Code)
			require.Contains(t, closed.Reason, "interrupted by SIGTERM")
		}
	}
	require.Equal(t, websocket.StatusNormalClosure, watch.awaitClose(t).Code, "a watcher receives the end of the trace")
	for _, session := range []string{"runs", "runs-in-c", "asks", "idle"} {
		require.Equal(t, "interrupted by SIGTERM", s.endCause(t, session))
	}
	require.Equal(t, "cancelled: interrupted by SIGTERM", s.endCause(t, "default"))
	attempt := s.awaitAttempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCancelled, attempt.Outcome)
	require.Nil(t, attempt.Passed)
}

// After a second SIGTERM the server exits at once, and its helper process ends kernels and agents.
func TestServe_SecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	c := s.connectView(t, "default")
	c.runNewCell(t, 0, uninterruptibleCell)
	c.agent.awaitItem(t, "the run", hasTypeAndText("kernel_stdio", "in C"))
	c.queryAgent("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsend(type='agent_status', status='executing')\ntime.sleep(600)")
	c.agent.awaitItem(t, "the agent at work", hasTypeAndText("agent_status", "executing"))
	for n := range 2 {
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		if n == 0 {
			s.stderr.awaitItem(t, "the answer to the first signal", func(line string) bool {
				return line == "assay: SIGTERM: ending what runs (once more to end at once)\n"
			})
		}
	}
	require.Error(t, s.awaitExit(t))
	require.Equal(t, 128+15, s.cmd.ProcessState.ExitCode())
	s.requireCleanedUp(t)
}
