package session_test

import (
	"encoding/json"
	"os"
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

// Files that have been deleted count as long as the kernel, or what it has started, holds them open.
func TestDeletedFilesCountAgainstDiskQuota(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"open":            "file = open('held', 'wb')\nimport os\nos.remove('held')\nfile.write(bytes(8 << 20))\nfile.flush()\nwhile True: pass",
		"open in a child": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os\\nfile = open(\"held\", \"wb\")\\nos.remove(\"held\")\\nfile.write(bytes(8 << 20))\\nfile.flush()\\nwhile True: pass'], start_new_session=True)",
		"mapped":          "import mmap, os\nwith open('held', 'w+b') as file:\n    file.write(bytes(8 << 20))\n    file.flush()\n    os.remove('held')\n    view = mmap.mmap(file.fileno(), 0)\nwhile True: pass",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "mapped" && os.Geteuid() != 0 {
				t.Skip("only root can look at the files that a process has mapped")
			}
			sup := newSupervisor(t)
			s := startSession(t, sup, session.Config{Kernel: pythonKernelConfig(t, sup), Agent: agent.Config{Command: childCommand("runs queries")}, MaxDiskBytes: 4 << 20})
			if name == "open in a child" && !s.EnforcedRules()["cgroup_kill"] {
				t.Skip("without cgroups and without a sandbox the child is not found")
			}
			require.NoError(t, s.SendQuery(protocol.AgentQuery{Query: source}))
			exceeded := s.awaitEntry(t, "the limit", entryMatcher(trace.HopSession, session.TypeLimitExceeded))
			var limit session.LimitExceeded
			require.NoError(t, json.Unmarshal(exceeded.Body, &limit))
			require.InDelta(t, 8<<20, limit.MeasuredBytes, 1<<20)
			s.awaitEntry(t, "the end of the kernel", entryMatcher(trace.HopSession, protocol.TypeManagedProcessExit))
		})
	}
}
