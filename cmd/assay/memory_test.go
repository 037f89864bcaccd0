package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"assay/internal/sandbox"
)

// A kernel that takes all memory, as memory that belongs to no process, is killed before the server has too
// little, and that is its agent's failure. What happens to the kernel beside it depends on which of both asks for
// memory at that time.
func TestSandboxesTogetherLeaveMemoryForTheServer(t *testing.T) {
	t.Parallel()
	limit, err := sandbox.NewMemoryLimit(2<<30, "") // as in a container that has 2 GiB
	if err != nil {
		t.Skip("no memory cgroup can be written here")
	}
	t.Cleanup(func() { require.NoError(t, limit.Remove()) })
	cases := writeFile(t, filepath.Join(t.TempDir(), "cases.json"), `[
{"id": "taker", "task": "t", "graders": [{"type": "notebook_check", "config": {"min_cells": 1, "no_errors": true}}], "oracle": {"cells": ["import os\ntaken = os.memfd_create('taken')\nwhile True: os.write(taken, bytes(1 << 20))"]}},
{"id": "other", "task": "t", "graders": [{"type": "notebook_check", "config": {"min_cells": 1, "no_errors": true}}], "oracle": {"cells": ["import time\nfor _ in range(30):\n    data = bytes(1 << 20)\n    time.sleep(0.1)"]}}
]`)
	out := filepath.Join(t.TempDir(), "run")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `read go && exec assay run "$0" --agent oracle -j 2 --quiet --out "$1"`, cases, out)
	cmd.Stderr = t.Output()
	begin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, limit.AddProcess(cmd.Process.Pid))
	_, err = begin.Write([]byte("go\n"))
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "an attempt has failed")

	for _, a := range readAttempts(t, out) {
		t.Log(a.CaseID, a.Outcome, a.Detail)
		if a.CaseID == "other" {
			continue
		}
		require.NotNil(t, a.Passed, a.Detail)
		require.False(t, *a.Passed)
		require.Contains(t, a.Detail, "because all kernels and agents together used more memory than there is for them; it used more than its share")
	}
}
