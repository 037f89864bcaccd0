package session_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/agent"
	"assay/eval/session"
	"assay/internal/protocol"
	"assay/internal/trace"
)

// In an evaluation the kernel survives the first excess over the disk quota; if the folder goes
// on growing, the kernel is killed.
func TestEvaluationOverDiskQuotaThatGrowsOnLosesItsKernel(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{
		Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}, MaxDiskBytes: 1 << 20, IsEvaluation: true,
	})
	require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: "import time\nfor n in range(600):\n    with open(str(n), 'wb') as f: f.write(bytes(1 << 20))\n    time.sleep(0.2)"}))
	s.awaitEntry(t, "the limit", entryMatcher(trace.HopSession, session.TypeLimitExceeded))
	require.True(t, s.IsKernelAlive())
	s.awaitEntry(t, "the limit once more", entryMatcher(trace.HopSession, session.TypeLimitExceeded))
	s.awaitEntry(t, "the end of the kernel", entryMatcher(trace.HopSession, protocol.TypeManagedProcessExit))
}

// Only what is added to the working folder after the start counts against the disk quota.
// Without an evaluation the first excess kills the kernel.
func TestSessionOverDiskQuotaLosesItsKernel(t *testing.T) {
	t.Parallel()
	sup := newSupervisor(t)
	s := startSession(t, sup, session.Config{
		Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}, MaxDiskBytes: 4 << 20,
		PrepareWorkdir: func(workdir string) error { return writeZeros(workdir, "data", 8<<20) },
	})
	query := func(source string) { require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source})) }
	query("with open('more', 'wb') as f: f.write(bytes(6 << 20))\nwhile True: pass")
	passed := s.awaitEntry(t, "the limit", entryMatcher(trace.HopSession, session.TypeLimitExceeded))
	var limit session.LimitExceeded
	require.NoError(t, json.Unmarshal(passed.Body, &limit))
	require.Equal(t, "disk", limit.LimitName)
	require.EqualValues(t, 4<<20, limit.ConfiguredBytes)
	require.InDelta(t, 6<<20, limit.MeasuredBytes, 1<<20)
	s.awaitEntry(t, "the end of the kernel", entryMatcher(trace.HopSession, protocol.TypeManagedProcessExit))
	require.False(t, s.IsKernelAlive())

	// The next kernel finds the files of the last one, and lives long enough to remove them.
	require.NoError(t, s.RestartChild(t.Context(), "kernel"))
	query("import os, time\ntime.sleep(1.5)\nos.remove('more')\nprint('removed')")
	result := s.awaitEntry(t, "the cell", entryMatcher(trace.KernelToServer, protocol.TypeCellResult))
	require.Equal(t, protocol.StatusOK, result.Status)
}
