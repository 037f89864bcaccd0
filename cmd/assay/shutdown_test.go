package main

import (
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"assay/eval/runs"
)

// uninterruptibleCell is a cell that holds the interpreter's lock in C code, deaf to signals.
const uninterruptibleCell = "import ctypes, signal\nprint('in C', flush=True)\n" +
	"signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\nctypes.PyDLL(None).sleep(600)"

// SIGTERM comes while a case goes on whose kernel and agent listen to nobody,
// cells run in other sessions, and consoles look on.
func TestServe_ShutdownStopsBusySessions(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{args: []string{"--case", writeAgentCase(t, t.TempDir(), "deaf", `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
start_cell(`+"'''"+uninterruptibleCell+"'''"+`)
time.sleep(600)
`)}})
	consoles := []*console{s.connectView(t, "default"), s.connectView(t, "default"), s.connectView(t, "runs"), s.connectView(t, "runs-in-c"), s.connectView(t, "asks"), s.connectView(t, "idle")}
	watch := s.dial(t, "/watch?session=runs", nil)
	consoles[0].agent.await(t, "the run", hasType("start_cell"))
	consoles[2].runNewCell(t, 0, "import subprocess, time\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('on my way', flush=True)\ntime.sleep(600)")
	consoles[2].agent.await(t, "the run", contains("kernel_stdio", "on my way"))
	consoles[3].runNewCell(t, 0, uninterruptibleCell)
	consoles[3].agent.await(t, "the run", contains("kernel_stdio", "in C"))
	consoles[4].queryAgent("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsend(type='agent_status', status='executing')\ndo_action('execute_code', code='import time; time.sleep(600)')")
	consoles[4].agent.await(t, "the agent at work", contains("agent_status", "executing"))

	// Of the attempt: 2 s for the run to stop, 5 s to collect, 2 s for agent and
	// kernel each.
	require.Less(t, s.stop(t), 2*time.Second+5*time.Second+2*2*time.Second+time.Second)
	for _, c := range consoles {
		for _, w := range []*wsConn{c.run, c.agent} {
			how := w.awaitClose(t)
			require.Equal(t, websocket.StatusGoingAway, how.Code)
			require.Contains(t, how.Reason, "interrupted by SIGTERM")
		}
	}
	require.Equal(t, websocket.StatusNormalClosure, watch.awaitClose(t).Code, "it has seen the end")
	for _, session := range []string{"runs", "runs-in-c", "asks", "idle"} {
		require.Equal(t, "interrupted by SIGTERM", s.endCause(t, session))
	}
	require.Equal(t, "cancelled: interrupted by SIGTERM", s.endCause(t, "default"))
	attempt := s.awaitAttempts(t, 1)[0]
	require.Equal(t, runs.OutcomeCancelled, attempt.Outcome)
	require.Nil(t, attempt.Passed)
}

// Told twice, it ends at once, and its helper sees to what is left.
func TestServe_SecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	s := startServe(t, serveConfig{})
	c := s.connectView(t, "default")
	c.runNewCell(t, 0, uninterruptibleCell)
	c.agent.await(t, "the run", contains("kernel_stdio", "in C"))
	c.queryAgent("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsend(type='agent_status', status='executing')\ntime.sleep(600)")
	c.agent.await(t, "the agent at work", contains("agent_status", "executing"))
	for n := range 2 {
		require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		if n == 0 {
			s.stderr.await(t, "its word", func(line string) bool {
				return line == "assay: SIGTERM: ending what runs (once more to end at once)\n"
			})
		}
	}
	require.Error(t, s.awaitExit(t))
	require.Equal(t, 128+15, s.cmd.ProcessState.ExitCode())
	s.requireCleanedUp(t)
}
